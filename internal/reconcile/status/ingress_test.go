// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestAnAddressIsPublishedOnceTheLoadBalancerServes(t *testing.T) {
	published := []string{"198.51.100.1"}
	elsewhere := observed(lb.Active, 1)
	elsewhere.FloatingIPs[0].PortID = "another port"
	for name, test := range map[string]struct {
		pass      Pass
		old, want []string
	}{
		"while Octavia builds":                                  {Pass{Observed: observed(lb.PendingCreate, 1), Publication: Publication{External: true}}, nil, nil},
		"while Octavia builds a successor":                      {Pass{Observed: observed(lb.PendingCreate, 1), Publication: Publication{External: true}}, published, nil},
		"while a successor is built beside one that failed":     {Pass{Observed: observed(lb.PendingCreate, 1), Publication: Publication{External: true}, Health: Health{Replacing: true}}, []string{floating}, []string{floating}},
		"before the floating IP has moved":                      {Pass{Observed: internalOnly(observed(lb.Active, 1)), Publication: Publication{External: true}, Health: Health{Replacing: true}}, []string{floating}, []string{floating}},
		"internal, while a successor is built beside another":   {Pass{Observed: internalOnly(observed(lb.Active, 1)), Health: Health{Replacing: true, Beside: true}}, []string{"10.0.0.200"}, []string{"10.0.0.200"}},
		"internal, when the successor is complete":              {Pass{Observed: internalOnly(observed(lb.Active, 1)), Health: Health{Replacing: true}}, []string{"10.0.0.200"}, []string{vip}},
		"while one that failed makes room for its successor":    {Pass{Observed: internalOnly(observed(lb.PendingDelete, 1)), Health: Health{Replacing: true}}, []string{vip}, []string{vip}},
		"when another port took the address of one that failed": {Pass{Health: Health{Replacing: true, Failed: "taken", FailedReason: ReasonAddressInUse}, Err: silence}, []string{vip}, nil},
		"before any of its ports is open":                       {Pass{Observed: observed(lb.Active, 0), Publication: Publication{External: true}}, nil, nil},
		"when another client took its ports away":               {Pass{Observed: observed(lb.Active, 0), Publication: Publication{External: true}}, []string{floating}, []string{floating}},
		"once it is ACTIVE":                                     {done(), nil, []string{floating}},
		"while Octavia changes it":                              {Pass{Observed: observed(lb.PendingUpdate, 1), Publication: Publication{External: true}}, published, []string{floating}},
		"while Octavia opens its first port":                    {Pass{Observed: observed(lb.PendingUpdate, 1), Publication: Publication{External: true}}, nil, nil},
		"when the floating IP is another":                       {done(), published, []string{floating}},
		"internal":                                              {Pass{Observed: internalOnly(observed(lb.Active, 1)), Done: true}, nil, []string{vip}},
		"dual-stack":                                            {dual(corev1.IPv4Protocol, corev1.IPv6Protocol), nil, []string{floating, vip6}},
		"dual-stack with IPv6 first":                            {dual(corev1.IPv6Protocol, corev1.IPv4Protocol), nil, []string{vip6, floating}},
		"internal and dual-stack":                               {Pass{Observed: internalOnly(dual().Observed), Publication: Publication{Families: dual(corev1.IPv6Protocol, corev1.IPv4Protocol).Families}, Done: true}, nil, []string{vip6, vip}},
		"dual-stack, of a Service that asks for one family now": {dual(), nil, []string{floating}},
		"dual-stack, with all addresses asked for": {func() Pass {
			p := dual(corev1.IPv4Protocol, corev1.IPv6Protocol)
			p.Addresses = annotation.StatusBoth
			return p
		}(), nil, []string{floating, vip, vip6}},
		"dual-stack, with VIPs asked for": {func() Pass {
			p := dual(corev1.IPv6Protocol, corev1.IPv4Protocol)
			p.Addresses = annotation.StatusVIP
			return p
		}(), nil, []string{vip6, vip}},
		"dual-stack without a floating IP": {func() Pass {
			p := dual(corev1.IPv6Protocol, corev1.IPv4Protocol)
			p.Observed = internalOnly(p.Observed)
			return p
		}(), nil, nil},
		"dual-stack and not accepted": {func() Pass {
			p := dual(corev1.IPv4Protocol, corev1.IPv6Protocol)
			p.Invalid = &desired.Invalid{Reason: desired.ReasonUnsupported}
			return p
		}(), []string{floating, vip6}, []string{floating, vip6}},
		"external without a floating IP":            {Pass{Observed: internalOnly(observed(lb.Active, 1)), Publication: Publication{External: true}}, nil, nil},
		"external whose floating IP was taken away": {Pass{Observed: internalOnly(observed(lb.Active, 1)), Publication: Publication{External: true}}, []string{floating}, nil},
		"dual-stack, when the floating IP was taken away": {func() Pass {
			p := dual(corev1.IPv4Protocol, corev1.IPv6Protocol)
			p.Observed = internalOnly(p.Observed)
			return p
		}(), []string{floating, vip6}, []string{vip6}},
		"external whose floating IP was taken away, with all addresses asked for": {Pass{Observed: internalOnly(observed(lb.Active, 1)),
			Publication: Publication{External: true, Addresses: annotation.StatusBoth}}, []string{floating, vip}, []string{vip}},
		"before a load balancer that vanished with its floating IP is made": {Pass{Publication: Publication{External: true}, Left: []diff.Op{diff.CreateLoadBalancer{}}}, published, nil},
		"before a load balancer that vanished is made behind its floating IP": {Pass{Publication: Publication{External: true, Own: published},
			Left: []diff.Op{diff.CreateLoadBalancer{}}, Err: silence}, published, published},
		"external whose floating IP leads elsewhere":        {Pass{Observed: elsewhere, Publication: Publication{External: true}}, nil, nil},
		"without any address":                               {Pass{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ProvisioningStatus: lb.Active}}}, nil, nil},
		"while Octavia deletes it":                          {Pass{Observed: observed(lb.PendingDelete, 1), Publication: Publication{External: true}}, published, nil},
		"while a pass fails":                                {Pass{Observed: observed(lb.Active, 1), Publication: Publication{External: true, Own: published}, Err: silence}, published, published},
		"while a pass fails, of a floating IP that is gone": {Pass{Observed: observed(lb.Active, 1), Publication: Publication{External: true}, Err: silence}, published, nil},
		"while it is created again behind its floating IP": {Pass{Observed: observed(lb.PendingCreate, 1), Publication: Publication{External: true, Own: []string{floating}}},
			[]string{floating}, []string{floating}},
		"while it is deleted and the floating IP stays": {Pass{Observed: internalOnly(observed(lb.PendingDelete, 1)), Publication: Publication{External: true, Own: []string{floating}}},
			[]string{floating, vip}, []string{floating}},
		"before its floating IP is attached again": {Pass{Observed: internalOnly(observed(lb.Active, 1)), Publication: Publication{External: true, Own: []string{floating}}},
			[]string{floating}, []string{floating}},
		"when it becomes internal, before the floating IP is released": {Pass{Observed: observed(lb.Active, 1), Publication: Publication{Internal: true}, Done: true}, []string{floating}, []string{vip}},
		"when it was deleted and stays so":                             {Pass{Done: true}, []string{vip}, nil},
		"while nothing can be read":                                    {Pass{Err: silence, Acceptance: Acceptance{Undecided: true}}, published, published},
		"while nothing can be read, with none before":                  {Pass{Err: silence, Acceptance: Acceptance{Undecided: true}}, nil, nil},
		"while it is in ERROR":                                         {Pass{Observed: observed(lb.Error, 1), Publication: Publication{External: true}}, published, published},
		"before a load balancer that vanished is made":                 {Pass{Publication: Publication{External: true}}, published, published},
		"while the Service is not accepted": {Pass{Observed: observed(lb.Active, 1), Publication: Publication{External: true},
			Acceptance: Acceptance{Invalid: &desired.Invalid{Reason: desired.ReasonUnsupported}}}, []string{floating}, []string{floating}},
		"while the Service is not accepted, and its floating IP is gone": {Pass{Observed: internalOnly(observed(lb.Active, 1)),
			Acceptance: Acceptance{Invalid: &desired.Invalid{Reason: desired.ReasonUnsupported}}}, []string{floating}, nil},
		"while the Service is not accepted, and Octavia changes it": {Pass{Observed: internalOnly(observed(lb.PendingUpdate, 1)),
			Acceptance: Acceptance{Invalid: &desired.Invalid{Reason: desired.ReasonUnsupported}}}, []string{floating}, []string{floating}},
		"when the Service is not accepted and never was": {Pass{Observed: internalOnly(observed(lb.Active, 1)),
			Acceptance: Acceptance{Invalid: &desired.Invalid{Reason: desired.ReasonUnsupported}}}, nil, nil},
		"while the Service goes, and its floating IP has gone": {Pass{Observed: internalOnly(observed(lb.PendingUpdate, 1)), Leaving: true}, []string{floating}, []string{floating}},
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

func TestAHostNameMadeOfAnAddressIsWithdrawnWithIt(t *testing.T) {
	host := func(names ...string) (all []corev1.LoadBalancerIngress) {
		for _, name := range names {
			all = append(all, corev1.LoadBalancerIngress{Hostname: name})
		}
		return all
	}
	made := floating + ".nip.io"
	for name, c := range map[string]struct {
		own       []string
		old, want []corev1.LoadBalancerIngress
	}{
		"the name of the address":             {old: host(made)},
		"the name of another address":         {old: host("198.51.100.1.nip.io"), own: []string{"198.51.100.1"}, want: host("198.51.100.1.nip.io")},
		"the name of an address that is gone": {old: host(made, "198.51.100.1.nip.io"), own: []string{floating}},
	} {
		t.Run(name, func(t *testing.T) {
			p := Pass{Observed: internalOnly(observed(lb.Active, 1)), Publication: Publication{External: true, Own: c.own, ThroughLoadBalancer: true, HostnameSuffix: "nip.io"}}
			if d := cmp.Diff(c.want, Withdraw(c.old, p, floating), cmpopts.EquateEmpty()); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTrafficToAPublishedAddressGoesThroughTheLoadBalancer(t *testing.T) {
	got := Ingress(nil, done())
	if len(got) != 1 || got[0].IPMode == nil || *got[0].IPMode != corev1.LoadBalancerIPModeVIP || got[0].Hostname != "" {
		t.Errorf("got %+v, want one address with ipMode VIP", got)
	}
}

// moded returns addresses with the mode; "" for none.
func moded(mode corev1.LoadBalancerIPMode, ips ...string) (all []corev1.LoadBalancerIngress) {
	for _, ip := range ips {
		i := corev1.LoadBalancerIngress{IP: ip}
		if mode != "" {
			i.IPMode = &mode
		}
		all = append(all, i)
	}
	return all
}

func TestAFieldThatTheAPIServerDoesNotKeepIsNotWrittenAgain(t *testing.T) {
	const asVIP, asProxy = corev1.LoadBalancerIPModeVIP, corev1.LoadBalancerIPModeProxy
	through := done()
	through.ThroughLoadBalancer = true
	both := dual(corev1.IPv4Protocol, corev1.IPv6Protocol)
	failed := done()
	failed.Err, failed.Own = silence, []string{floating}
	for name, test := range map[string]struct {
		pass      Pass
		old, want []corev1.LoadBalancerIngress
	}{
		"nothing was published: the server may keep the mode":     {done(), nil, moded(asVIP, floating)},
		"a host name was published: the server may keep the mode": {done(), []corev1.LoadBalancerIngress{{Hostname: "shop.example.com"}}, moded(asVIP, floating)},
		"the mode was kept":                                   {done(), moded(asVIP, floating), moded(asVIP, floating)},
		"the mode was not kept":                               {done(), moded("", floating), moded("", floating)},
		"mode Proxy was not kept":                             {through, moded("", floating), moded("", floating)},
		"mode Proxy was not kept before Kubernetes was newer": {through, moded(asVIP, floating), moded(asProxy, floating)},
		"the mode of another address was not kept":            {done(), moded("", "198.51.100.1"), moded("", floating)},
		"the mode was not kept, and an address comes":         {both, moded("", floating), moded("", floating, vip6)},
		"one of two modes was kept: another client wrote one": {both, append(moded("", floating), moded(asVIP, vip6)...), moded(asVIP, floating, vip6)},
		"the mode was not kept, and a pass fails":             {failed, moded("", floating, "198.51.100.1"), moded("", floating)},
	} {
		t.Run(name, func(t *testing.T) {
			before := slices.Clone(test.old)
			if diff := cmp.Diff(test.want, Ingress(test.old, test.pass)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, test.old); diff != "" {
				t.Errorf("the old addresses were changed (-before +after):\n%s", diff)
			}
		})
	}
}

func TestWhatHasToPassTheLoadBalancerIsSaidOfTheAddressOrByAName(t *testing.T) {
	pass := done()
	pass.ThroughLoadBalancer = true
	got := Ingress(nil, pass)
	if len(got) != 1 || got[0].IP != floating || got[0].IPMode == nil || *got[0].IPMode != corev1.LoadBalancerIPModeProxy {
		t.Errorf("got %+v, want one address with ipMode Proxy", got)
	}
	pass.HostnameSuffix = "nip.io"
	if diff := cmp.Diff([]corev1.LoadBalancerIngress{{Hostname: floating + ".nip.io"}}, Ingress(nil, pass)); diff != "" {
		t.Errorf("with a suffix (-want +got):\n%s", diff)
	}
	pass.Observed.FloatingIPs[0].Address = "2001:db8::7"
	if diff := cmp.Diff([]corev1.LoadBalancerIngress{{Hostname: "2001-db8--7.nip.io"}}, Ingress(nil, pass)); diff != "" {
		t.Errorf("of IPv6 (-want +got):\n%s", diff)
	}
	pass.Hostname = "web.example.com"
	if diff := cmp.Diff([]corev1.LoadBalancerIngress{{Hostname: "web.example.com"}}, Ingress(nil, pass)); diff != "" {
		t.Errorf("with a name that was asked for (-want +got):\n%s", diff)
	}
	pass = done()
	pass.HostnameSuffix = "nip.io"
	if got := Ingress(nil, pass); len(got) != 1 || got[0].IP != floating || got[0].Hostname != "" {
		t.Errorf("a name is published of an address that needs none: %+v", got)
	}
}
