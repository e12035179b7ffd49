// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// emptyCluster is a Kubernetes API without objects.
type emptyCluster struct{ client.Reader }

func (emptyCluster) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func TestLoadBalancerThatDisappearedIsCreatedAgainSerially(t *testing.T) {
	handle := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		answer := `{"loadbalancers": []}`
		if strings.HasSuffix(request.URL.Path, "/status") {
			answer = `{"statuses": {"loadbalancer": {"id": "lb-1", "provisioning_status": "ACTIVE"}}}`
		}
		fmt.Fprint(w, answer)
	})
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	octaviaAPI := &gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "load-balancer"}
	p := New(Options{
		Policy: claim.Policy{DefaultClass: true}, Reader: emptyCluster{}, Capabilities: lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 26}},
		Config:  config.LoadBalancer{Provider: "amphora", Method: "ROUND_ROBIN", SubnetID: "configured", FloatingNetworkID: "public"},
		Octavia: octavia.New(octaviaAPI, "", lb.Capabilities{}),
	})
	p.Builder.CreateSerially()
	web := served(without(annotation.LoadBalancerID), func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	})
	gone := &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active, Listeners: []lb.Listener{{ID: "l-1", Protocol: lb.ListenerTCP, Port: 80}}}
	record := memory.Record{Cloud: memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: gone}}}
	f := p.BuildDesired(t.Context(), p.Facts(p.of(web), record, time.Unix(0, 0), timing.Default()))
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
		options := Options{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterUID: "uid-c"}, Capabilities: lb.Capabilities{APIVersion: c.version}}
		for _, adopt := range []claim.Adoption{"", claim.AdoptTag} {
			options.Adopt = adopt
			p := New(options)
			if p.OnlyObserves(p.of(c.service), lb.Observed{LoadBalancer: c.balancer, Sharer: c.shared}) {
				t.Errorf("%s is only observed with %q", name, adopt)
			}
		}
		options.Adopt = claim.AdoptObserve
		p := New(options)
		if p.OnlyObserves(p.of(c.service), lb.Observed{LoadBalancer: c.balancer, Sharer: c.shared}) != c.observes {
			t.Errorf("%s: only observed: %v", name, !c.observes)
		}
	}
}

// nodesOnly is a Kubernetes API whose Nodes can be listed and whose Services cannot.
type nodesOnly struct {
	client.Reader
	failure error
}

func (c nodesOnly) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch list := list.(type) {
	case *corev1.NodeList:
		list.Items = []corev1.Node{{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}}}
	case *corev1.ServiceList:
		return c.failure
	}
	return nil
}

func TestMembersOfAGroupFollowNodesAlthoughTheOtherOwnersCannotBeListed(t *testing.T) {
	broken := errors.New("the cache is broken")
	policy := claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true}
	p := New(Options{Policy: policy, Reader: nodesOnly{failure: broken}, Kinds: []claim.Kind{service.Kind{Policy: policy}}})
	web := served(func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerGroup] = "g" })
	f := p.BuildDesired(t.Context(), p.Facts(p.of(web), memory.Record{}, time.Unix(0, 0), timing.Default()))
	if !errors.Is(f.Desired.Err, broken) {
		t.Errorf("it was built although %v: %v", broken, f.Desired.Err)
	}
	if len(f.Desired.Input.Nodes) != 1 {
		t.Error("the members depend on no nodes")
	}
}
