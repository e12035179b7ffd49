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

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestCreateOfAKilledControllerMayBePending(t *testing.T) {
	one := &lb.LoadBalancer{ID: "lb-1"}
	other := &lb.LoadBalancer{ID: "lb-2"}
	fresh := func(s *corev1.Service) { s.Finalizers, s.Annotations = nil, nil }
	tests := map[string]struct {
		service *corev1.Service
		found   *lb.LoadBalancer
		want    bool
	}{
		"new Service":                           {served(fresh), nil, false},
		"claimed, no id, nothing found":         {served(without(annotation.LoadBalancerID)), nil, true},
		"claimed, no id, load balancer found":   {served(without(annotation.LoadBalancerID)), one, true},
		"id found":                              {served(), one, false},
		"another one found":                     {served(), other, true},
		"id not found":                          {served(), nil, false},
		"of openstack-cloud-controller-manager": {served(unclaimed, without(annotation.LoadBalancerID)), one, false},
		"claimed, no id, deleted":               {served(deleted, without(annotation.LoadBalancerID)), nil, true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass}}
			if got := p.createMayBePending(decide.Facts{Owner: p.of(test.service)}, lb.Observed{LoadBalancer: test.found}); got != test.want {
				t.Errorf("%t, want %t", got, test.want)
			}
		})
	}
}

// emptyCluster is a Kubernetes API without objects.
type emptyCluster struct{ client.Reader }

func (emptyCluster) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestLoadBalancerThatDisappearedIsCreatedAgainSerially(t *testing.T) {
	p := calling(t, func(w http.ResponseWriter, request *http.Request) {
		answer := `{"loadbalancers": []}`
		if strings.HasSuffix(request.URL.Path, "/status") {
			answer = `{"statuses": {"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE"}}}`
		}
		fmt.Fprint(w, answer)
	})
	p.Policy, p.Reader, p.Capabilities.APIVersion = claim.Policy{DefaultClass: true}, emptyCluster{}, lb.Version{Major: 2, Minor: 26}
	p.Config = config.LoadBalancer{Provider: "amphora", Method: "ROUND_ROBIN", SubnetID: "configured", FloatingNetworkID: "public"}
	p.CreateSerially()
	service := served(without(annotation.LoadBalancerID), func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	})
	gone := &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{ID: "l-1", Protocol: lb.ListenerTCP, Port: 80}}}
	record := memory.Record{Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: gone}}}
	f := p.BuildDesired(t.Context(), p.Facts(p.of(service), record, time.Unix(0, 0), timing.Default()))
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

func TestLoadBalancerWithoutUIDIsOwnedOnlyIfTheServicePublishesIt(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	untagged := lb.LoadBalancer{ID: "lb-1", Name: owner.LoadBalancerName(), Description: owner.Description(), Tags: []string{owner.LoadBalancerName()},
		VIP: lb.VIP{Address: "10.0.0.9", PortID: "port-1"}}
	floating := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.1", PortID: "port-1"}, {ID: "f-2", Address: "203.0.113.2", PortID: "port-2"}}
	ours := untagged
	ours.Tags = owner.Tags()
	publishes := func(i corev1.LoadBalancerIngress) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{i} }
	}
	external, internal := publishes(corev1.LoadBalancerIngress{IP: "203.0.113.1"}), publishes(corev1.LoadBalancerIngress{IP: "10.0.0.9"})
	fresh := func(s *corev1.Service) { s.Annotations = nil }
	current := lb.Version{Major: 2, Minor: 26}
	tests := map[string]struct {
		service *corev1.Service
		l       lb.LoadBalancer
		version lb.Version
		want    bool
	}{
		"uid":                           {served(fresh), ours, current, true},
		"id, and floating IP published": {served(external), untagged, current, true},
		"id, and VIP published":         {served(internal), untagged, current, true},
		"id, and host name published":   {served(publishes(corev1.LoadBalancerIngress{Hostname: "203.0.113.1.nip.io"})), untagged, current, true},
		"id on a copy of the Service, which has no status": {served(), untagged, current, false},
		"id, and another address published":                {served(publishes(corev1.LoadBalancerIngress{IP: "203.0.113.2"})), untagged, current, false},
		"floating IP published":                            {served(fresh, external), untagged, current, true},
		"another address published":                        {served(fresh, publishes(corev1.LoadBalancerIngress{IP: "192.0.2.9"})), untagged, current, false},
		"host name published":                              {served(fresh, publishes(corev1.LoadBalancerIngress{Hostname: "web.example.com"})), untagged, current, false},
		"nothing published":                                {served(fresh), untagged, current, false},
		"nothing published, Octavia without tags":          {served(fresh), untagged, lb.Version{Major: 2, Minor: 4}, true},
		"another name, without tags":                       {served(external), lb.LoadBalancer{ID: "lb-1", Name: "x"}, current, false},
		"uid of another cluster":                           {served(external), func() lb.LoadBalancer { l := untagged; l.Tags = []string{lb.ClusterTag("c-2")}; return l }(), current, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := &Planner{Capabilities: lb.Capabilities{APIVersion: test.version}, Policy: claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-1"}}
			if got := p.Owns(p.of(test.service), test.l, floating); got != test.want {
				t.Errorf("owns: %t", got)
			}
		})
	}
}

func TestOnlyAdoptedServicesAreWrittenWithAdoptObserve(t *testing.T) {
	tagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-1"}}
	byHand := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.service=uid-1"}}
	untagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube_service_kubernetes_default_web"}}
	for name, c := range map[string]struct {
		service  *corev1.Service
		balancer *lb.LoadBalancer
		shared   bool
		version  lb.Version
		observes bool
	}{
		"new":                                   {service: served(unclaimed, without(annotation.LoadBalancerID)), observes: true},
		"of openstack-cloud-controller-manager": {service: served(unclaimed), balancer: untagged, observes: true},
		"of openstack-cloud-controller-manager, deleted": {service: served(unclaimed, deleted), balancer: untagged, observes: true},
		"with an annotation copied from another Service": {service: served(func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }), balancer: untagged, observes: true},
		"adopted, finalizer removed":                     {service: served(func(s *corev1.Service) { s.Finalizers = nil }), balancer: tagged},
		"adopted":                                        {service: served(), balancer: tagged},
		"shares a load balancer, not claimed":            {service: served(unclaimed), balancer: untagged, shared: true, observes: true},
		"shares a load balancer, claimed":                {service: served(), balancer: untagged, shared: true},
		"no load balancer, claimed":                      {service: served()},
		"claimed, load balancer without tags":            {service: served(), balancer: untagged, observes: true},
		"claimed, Octavia without tags":                  {service: served(), balancer: untagged, version: lb.Version{Major: 2}},
		"not claimed, Octavia without tags":              {service: served(unclaimed), balancer: untagged, version: lb.Version{Major: 2}, observes: true},
		"tagged by a person, not claimed":                {service: served(unclaimed), balancer: byHand, observes: true},
		"tagged by a person, claimed":                    {service: served(), balancer: byHand, observes: true},
	} {
		if c.version == (lb.Version{}) {
			c.version = lb.Version{Major: 2, Minor: 26}
		}
		p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterUID: "uid-c"}, Capabilities: lb.Capabilities{APIVersion: c.version}}
		for _, adopt := range []claim.Adoption{"", claim.AdoptTag} {
			if p.Adopt = adopt; p.OnlyObserves(p.of(c.service), lb.Observed{LoadBalancer: c.balancer, Sharer: c.shared}) {
				t.Errorf("%s is only observed with %q", name, adopt)
			}
		}
		if p.Adopt = claim.AdoptObserve; p.OnlyObserves(p.of(c.service), lb.Observed{LoadBalancer: c.balancer, Sharer: c.shared}) != c.observes {
			t.Errorf("%s: only observed: %v", name, !c.observes)
		}
	}
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// converged is a state of the cloud that needs no operation.
func converged() lb.Observed {
	return lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, UpdatedAt: "11:59", VIP: lb.VIP{PortID: "port-1"}}}
}

func TestOnlyChangesThatOctaviaCannotMakeAreForeign(t *testing.T) {
	failed := diff.Clone(converged())
	failed.LoadBalancer.ProvisioningStatus = lb.Error
	pending := diff.Clone(converged())
	pending.LoadBalancer.ProvisioningStatus = lb.PendingUpdate
	for name, test := range map[string]struct {
		before, found lb.Observed
		believed      bool
	}{
		"changed":            {converged(), pending, true},
		"deleted":            {converged(), lb.Observed{}, true},
		"failed":             {converged(), failed, false},
		"had failed before":  {failed, converged(), false},
		"did not exist":      {lb.Observed{}, converged(), false},
		"was PENDING before": {pending, converged(), true},
	} {
		t.Run(name, func(t *testing.T) {
			c := memory.Cloud{Observed: test.before, Written: noon}
			if got := expected(c, test.found) != nil; got != test.believed {
				t.Errorf("believed: %v, want %v", got, test.believed)
			}
		})
	}
	c := memory.Cloud{Observed: converged(), Written: noon}
	c.Expected = expected(c, pending)
	c.Observed = pending
	if b := expected(c, lb.Observed{}); b == nil || b.LoadBalancer.ProvisioningStatus != lb.Active {
		t.Errorf("the state before the change is forgotten: %+v", b)
	}
}
