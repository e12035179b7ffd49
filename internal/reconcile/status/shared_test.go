// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Services web and api share a load balancer, which was created for api.
var (
	webOwner = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "shop", Name: "web", ServiceUID: "uid-web"}
	apiOwner = lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "shop", Name: "api", ServiceUID: "uid-api"}
)

// listenerFor is a listener of one Service with a pool of one.
func listenerFor(listener, pool lb.Owner, port int) lb.Listener {
	return lb.Listener{Protocol: lb.ListenerTCP, Port: port, Tags: listener.Tags(), Pool: &lb.Pool{Tags: pool.Tags()}}
}

// sharing is a pass over web.
func sharing(listeners ...lb.Listener) Pass {
	p := Pass{Owner: webOwner, Observed: observed(lb.Active, 0), Publication: Publication{External: true}}
	p.Observed.Sharer = true
	p.Observed.LoadBalancer.Tags = append(apiOwner.Tags(), webOwner.SharerTags()...)
	p.Observed.LoadBalancer.Listeners = listeners
	return p
}

func TestTheAddressOfASharedLoadBalancerIsPublishedForServedPortsOnly(t *testing.T) {
	own, theirs := listenerFor(webOwner, webOwner, 8080), listenerFor(apiOwner, apiOwner, 8081)
	publishing := func(addresses annotation.StatusAddresses) Pass {
		// A sharer does not request a floating IP: it has that of the load balancer.
		return with(sharing(own, theirs), func(p *Pass) { p.External, p.Addresses, p.Done = false, addresses, true })
	}
	inUse := []diff.Refusal{{Reason: diff.ReasonPortInUse}}
	for name, test := range map[string]struct {
		pass      Pass
		old, want []string
	}{
		"it wants the floating IP":                  {publishing(annotation.StatusFloating), nil, []string{floating}},
		"it wants the VIP":                          {publishing(annotation.StatusVIP), nil, []string{vip}},
		"it wants both addresses":                   {publishing(annotation.StatusBoth), []string{floating}, []string{floating, vip}},
		"all ports refused":                         {with(sharing(theirs), func(p *Pass) { p.Refused = inUse }), nil, nil},
		"all ports refused now":                     {with(sharing(theirs), func(p *Pass) { p.Refused = inUse }), []string{floating}, nil},
		"one of two ports refused":                  {with(sharing(own, theirs), func(p *Pass) { p.Refused = inUse }), nil, []string{floating}},
		"one refused, and the other is created":     {with(sharing(theirs), func(p *Pass) { p.Refused, p.Left = inUse, []diff.Op{diff.CreateListener{}} }), []string{floating}, []string{floating}},
		"before its first listener":                 {with(sharing(theirs), func(p *Pass) { p.Left = []diff.Op{diff.CreatePool{}, diff.CreateListener{}} }), nil, nil},
		"its pool is full":                          {with(sharing(theirs), func(p *Pass) { p.Err = silence }), nil, nil},
		"not accepted, and never served":            {with(sharing(theirs), refused), nil, nil},
		"not accepted, and its ports are closed":    {with(sharing(theirs), refused), []string{floating}, nil},
		"not accepted, and its last ports serve":    {with(sharing(own, theirs), refused), []string{floating}, []string{floating}},
		"its listener leads to another's pool":      {with(sharing(listenerFor(webOwner, apiOwner, 8080)), refused), []string{floating}, nil},
		"its listener is gone, and drift is kept":   {with(sharing(theirs), func(p *Pass) { p.Done = true }), []string{floating}, nil},
		"a listener without tags is not a sharer's": {with(sharing(lb.Listener{Protocol: lb.ListenerTCP}), refused), []string{floating}, nil},
		"while Octavia changes it, unread":          {with(sharing(), func(p *Pass) { p.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate }), []string{floating}, []string{floating}},
	} {
		t.Run(name, func(t *testing.T) {
			var old []corev1.LoadBalancerIngress
			for _, ip := range test.old {
				old = append(old, corev1.LoadBalancerIngress{IP: ip})
			}
			if diff := cmp.Diff(test.want, addresses(Ingress(old, test.pass))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func with(p Pass, edit func(*Pass)) Pass {
	edit(&p)
	return p
}

func refused(p *Pass) { p.Invalid = &desired.Invalid{Reason: desired.ReasonSharingRefused} }

func TestNothingIsPublishedWithoutAListenerOfTheService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		owners := []lb.Owner{webOwner, apiOwner}
		which := rapid.IntRange(0, 1)
		var listeners []lb.Listener
		serves := false
		for i := range rapid.IntRange(0, 3).Draw(t, "listeners") {
			of, to := which.Draw(t, "of"), which.Draw(t, "to")
			listeners = append(listeners, listenerFor(owners[of], owners[to], 8080+i))
			serves = serves || of == 0 && to == 0
		}
		p := sharing(listeners...)
		p.Observed.LoadBalancer.ProvisioningStatus = rapid.SampledFrom([]lb.ProvisioningStatus{lb.Active, lb.PendingUpdate, lb.PendingCreate, lb.Error}).Draw(t, "status")
		p.External, p.Done = rapid.Bool().Draw(t, "external"), rapid.Bool().Draw(t, "done")
		if rapid.Bool().Draw(t, "floating IP") {
			p.Observed.FloatingIPs = nil
		}
		settled := p.Done
		if rapid.Bool().Draw(t, "refused port") {
			p.Refused, settled = []diff.Refusal{{Reason: diff.ReasonPortInUse}}, true
		}
		if rapid.Bool().Draw(t, "not accepted") {
			refused(&p)
			settled = true
		}
		if rapid.Bool().Draw(t, "hostname") {
			p.Hostname = "shop.example.com"
		}
		old := []corev1.LoadBalancerIngress{{IP: floating}, {Hostname: "shop.example.com"}, {IP: "198.51.100.1"}}
		old = old[:rapid.IntRange(0, len(old)).Draw(t, "published before")]
		got := Ingress(old, p)
		for _, entry := range got {
			kept := slices.ContainsFunc(old, func(o corev1.LoadBalancerIngress) bool { return cmp.Equal(o, entry) })
			if !serves && !kept {
				t.Fatalf("%+v is published, and no listener is the Service's", entry)
			}
		}
		if settled && p.Observed.LoadBalancer.ProvisioningStatus == lb.Active && !serves && len(got) > 0 {
			t.Fatalf("%+v stays published, and no listener is the Service's or will be", got)
		}
	})
}

func TestTheMessageCountsThePortsOfTheServiceOnly(t *testing.T) {
	p := sharing(listenerFor(webOwner, webOwner, 8080), listenerFor(apiOwner, apiOwner, 8081), listenerFor(apiOwner, apiOwner, 8082))
	p.Done = true
	if got := find(t, after(p), Programmed); !strings.Contains(got.Message, "serves 1 port ") {
		t.Errorf("%+v", got)
	}
}
