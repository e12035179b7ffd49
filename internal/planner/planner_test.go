// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

func TestCreateOfAKilledControllerIsLookedForOnceMore(t *testing.T) {
	one := &lb.LoadBalancer{ID: "lb-1"}
	other := &lb.LoadBalancer{ID: "lb-2"}
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	tests := map[string]struct {
		service *corev1.Service
		found   *lb.LoadBalancer
		want    bool
	}{
		"a new Service":                           {served(fresh), nil, false},
		"claimed, and nothing noted or found":     {served(without(annotation.LoadBalancerID)), nil, true},
		"claimed, and found what was never noted": {served(without(annotation.LoadBalancerID)), one, true},
		"noted and found":                         {served(), one, false},
		"noted, and another one found":            {served(), other, true},
		"noted and gone":                          {served(), nil, false},
		"of openstack-cloud-controller-manager":   {served(unmarked, without(annotation.LoadBalancerID)), one, false},
		"claimed and deleted before it was noted": {served(deleted, without(annotation.LoadBalancerID)), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass}}
			if got := p.mayStillAppear(decide.Facts{Service: test.service}, lb.Observed{LoadBalancer: test.found}); got != test.want {
				t.Errorf("may still appear: %t", got)
			}
		})
	}
}

// nothing is a Kubernetes API without objects.
type nothing struct{ client.Reader }

func (nothing) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestALoadBalancerInThePlaceOfOneThatHasGoneIsMadeAsTheCloudNeedsIt(t *testing.T) {
	p := calling(t, func(w http.ResponseWriter, request *http.Request) {
		answer := `{"loadbalancers": []}`
		if strings.HasSuffix(request.URL.Path, "/status") {
			answer = `{"statuses": {"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE"}}}`
		}
		fmt.Fprint(w, answer)
	})
	p.Policy, p.Reader, p.Capabilities.APIVersion = claim.Policy{DefaultClass: true}, nothing{}, lb.Version{Major: 2, Minor: 26}
	p.Config = config.LoadBalancer{Provider: "amphora", Method: "ROUND_ROBIN", SubnetID: "configured", FloatingNetworkID: "public"}
	p.leavesParts.Store(true)
	service := served(without(annotation.LoadBalancerID), func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	})
	gone := &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{ID: "l-1", Protocol: lb.ListenerTCP, Port: 80}}}
	record := memory.Record{Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: gone}}}
	f := p.Desire(t.Context(), p.Facts(service, record, time.Unix(0, 0), timing.Default()))
	f, err := p.Provide(t.Context(), f, decide.Decision{Need: decide.NeedStatusTree})
	if err != nil {
		t.Fatal(err)
	}
	plan := decide.Decide(f).Plan
	create, ok := plan.Ops[0].(diff.CreateLoadBalancer)
	if !ok || len(create.LoadBalancer.Listeners) > 0 || create.LoadBalancer.VIP.SubnetID != "configured" {
		t.Errorf("planned: %v", plan.Ops)
	}
}

func TestAnAdoptedLoadBalancerIsOneThatTheServiceKnows(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	unmarkedOne := lb.LoadBalancer{ID: "lb-1", Name: owner.LoadBalancerName(), Description: owner.Description(), Tags: []string{owner.LoadBalancerName()},
		VIP: lb.VIP{Address: "10.0.0.9", PortID: "port-1"}}
	leadsThere := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1", PortID: "port-1"}, {ID: "f-2", Address: "203.0.113.2", PortID: "port-2"}}
	ours := unmarkedOne
	ours.Tags = owner.Tags()
	publishes := func(i corev1.LoadBalancerIngress) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{i} }
	}
	external, internal := publishes(corev1.LoadBalancerIngress{IP: "203.0.113.1"}), publishes(corev1.LoadBalancerIngress{IP: "10.0.0.9"})
	fresh := func(s *corev1.Service) { s.Annotations = nil }
	new := lb.Version{Major: 2, Minor: 26}
	tests := map[string]struct {
		service *corev1.Service
		l       lb.LoadBalancer
		version lb.Version
		want    bool
	}{
		"ours by uid": {served(fresh), ours, new, true},
		"noted on the Service, at its floating IP":  {served(external), unmarkedOne, new, true},
		"noted on the Service, at its VIP":          {served(internal), unmarkedOne, new, true},
		"noted on the Service, under a host name":   {served(publishes(corev1.LoadBalancerIngress{Hostname: "203.0.113.1.nip.io"})), unmarkedOne, new, true},
		"noted on a copy, which has no status":      {served(), unmarkedOne, new, false},
		"noted on a Service that is elsewhere":      {served(publishes(corev1.LoadBalancerIngress{IP: "203.0.113.2"})), unmarkedOne, new, false},
		"of a Service with its address":             {served(fresh, external), unmarkedOne, new, true},
		"of a Service with another's address":       {served(fresh, publishes(corev1.LoadBalancerIngress{IP: "192.0.2.9"})), unmarkedOne, new, false},
		"of a Service with a host name and no note": {served(fresh, publishes(corev1.LoadBalancerIngress{Hostname: "web.example.com"})), unmarkedOne, new, false},
		"of a new Service":                          {served(fresh), unmarkedOne, new, false},
		"of a new Service, without tags":            {served(fresh), unmarkedOne, lb.Version{Major: 2, Minor: 4}, true},
		"of another name, without a mark":           {served(external), lb.LoadBalancer{ID: "lb-1", Name: "x"}, new, false},
		"of another cluster, by its uid":            {served(external), func() lb.LoadBalancer { l := unmarkedOne; l.Tags = []string{lb.ClusterTag("c-2")}; return l }(), new, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Capabilities: lb.Capabilities{APIVersion: test.version}}
			if got := p.claims(test.service, owner, test.l, leadsThere); got != test.want {
				t.Errorf("claims: %t", got)
			}
		})
	}
}

func TestOnlyWhatWasTakenOverIsWrittenToWhereOthersAreObserved(t *testing.T) {
	tagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-1"}}
	byHand := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.service=uid-1"}}
	untagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube_service_kubernetes_default_web"}}
	for name, c := range map[string]struct {
		service  *corev1.Service
		balancer *lb.LoadBalancer
		guest    bool
		version  lb.Version
		observes bool
	}{
		"one that is new": {service: served(unmarked, without(annotation.LoadBalancerID)), observes: true},
		"one of openstack-cloud-controller-manager":       {service: served(unmarked), balancer: untagged, observes: true},
		"one that is to go":                               {service: served(unmarked, deleted), balancer: untagged, observes: true},
		"one with a mark copied from another Service":     {service: served(func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }), balancer: untagged, observes: true},
		"one that has lost its finalizer":                 {service: served(func(s *corev1.Service) { s.Finalizers = nil }), balancer: tagged},
		"one that was taken over":                         {service: served(), balancer: tagged},
		"one that uses somebody else's":                   {service: served(unmarked), balancer: untagged, guest: true, observes: true},
		"one that is claimed and does":                    {service: served(), balancer: untagged, guest: true},
		"one that is claimed and has none yet":            {service: served()},
		"one that is claimed, whose balancer has no tags": {service: served(), balancer: untagged, observes: true},
		"the same where Octavia has none":                 {service: served(), balancer: untagged, version: lb.Version{Major: 2}},
		"one that is not claimed, where Octavia has none": {service: served(unmarked), balancer: untagged, version: lb.Version{Major: 2}, observes: true},
		"one that a person has tagged":                    {service: served(unmarked), balancer: byHand, observes: true},
		"the same, claimed":                               {service: served(), balancer: byHand, observes: true},
	} {
		if c.version == (lb.Version{}) {
			c.version = lb.Version{Major: 2, Minor: 26}
		}
		p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterUID: "uid-c"}, Capabilities: lb.Capabilities{APIVersion: c.version}}
		for _, adopt := range []claim.Adoption{"", claim.AdoptTag} {
			if p.Adopt = adopt; p.OnlyObserves(c.service, lb.Observed{LoadBalancer: c.balancer, Sharer: c.guest}) {
				t.Errorf("%s is only observed with %q", name, adopt)
			}
		}
		if p.Adopt = claim.AdoptObserve; p.OnlyObserves(c.service, lb.Observed{LoadBalancer: c.balancer, Sharer: c.guest}) != c.observes {
			t.Errorf("%s: only observed: %v", name, !c.observes)
		}
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// converged is what the cloud has of a Service that has all it wants.
func converged() lb.Observed {
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "11:59", VIP: lb.VIP{PortID: "port-1"}}}
}

func TestWhatOctaviaDidIsNobodysChange(t *testing.T) {
	failed := diff.Clone(converged())
	failed.LoadBalancer.ProvisioningStatus = lb.Error
	pending := diff.Clone(converged())
	pending.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	for name, test := range map[string]struct {
		before, found lb.Observed
		believed      bool
	}{
		"it was changed":            {converged(), pending, true},
		"it is gone":                {converged(), lb.Observed{}, true},
		"it failed":                 {converged(), failed, false},
		"it had failed before":      {failed, converged(), false},
		"there was none":            {lb.Observed{}, converged(), false},
		"Octavia was at work on it": {pending, converged(), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.Cloud{Observed: test.before, Written: noon}
			if got := believed(c, test.found) != nil; got != test.believed {
				t.Errorf("believed: %v, want %v", got, test.believed)
			}
		})
	}
	c := memory.Cloud{Observed: converged(), Written: noon}
	c.Believed = believed(c, pending)
	c.Observed = pending
	if b := believed(c, lb.Observed{}); b == nil || b.LoadBalancer.ProvisioningStatus != lb.Active {
		t.Errorf("what was believed before its change began is forgotten: %+v", b)
	}
}
