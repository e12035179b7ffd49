// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// asked is a queue that notes what is added.
type asked struct {
	workqueue.TypedRateLimitingInterface[owner.Key]
	names []string
}

func (q *asked) Add(key owner.Key) { q.names = append(q.names, key.Name) }

func TestAnEventOfANodeRequestsOnePassOfEachServiceWhoseMembersChange(t *testing.T) {
	node := func(edits ...func(*corev1.Node)) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"disk": "ssd"}},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}}
		for _, edit := range edits {
			edit(n)
		}
		return n
	}
	labelled := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Labels = map[string]string{"disk": "ssd", key: value} }
	}
	homeless := func(n *corev1.Node) { n.Status.Addresses = nil }
	ready := func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.NewTime(noon)}}
		n.ResourceVersion = "2"
	}
	hdd := func(n *corev1.Node) { n.Labels["disk"] = "hdd" }
	both, all, selects, none := []string{"all", "selects"}, []string{"all"}, []string{"selects"}, []string(nil)
	for name, c := range map[string]struct {
		before, after *corev1.Node
		want          []string
	}{
		"a heartbeat":                     {node(), node(ready), none},
		"a node that joins":               {nil, node(), both},
		"a node that is not selected":     {nil, node(hdd), all},
		"a node that leaves":              {node(), nil, both},
		"a node without an address":       {nil, node(homeless), none},
		"such a node gets one":            {node(homeless), node(), both},
		"it leaves without":               {node(homeless), nil, none},
		"another address":                 {node(), node(func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.2" }), both},
		"a label that no Service selects": {node(), node(labelled("a", "b")), none},
		"a label that one selects":        {node(), node(hdd), selects},
		"another zone":                    {node(), node(labelled(corev1.LabelTopologyZone, "a")), both},
		"a node that was excluded":        {node(), node(labelled(corev1.LabelNodeExcludeBalancers, "")), both},
		"another label of such a node":    {node(labelled(corev1.LabelNodeExcludeBalancers, "")), node(labelled(corev1.LabelNodeExcludeBalancers, "x")), none},
	} {
		t.Run(name, func(t *testing.T) {
			r, cache := withServices(
				served(func(s *corev1.Service) { s.Name, s.UID = "all", "1"; s.Annotations[annotation.LoadBalancerID] = "lb-1" }),
				served(func(s *corev1.Service) {
					s.Name, s.UID = "selects", "2"
					s.Annotations[annotation.NodeSelector], s.Annotations[annotation.LoadBalancerID] = "disk=ssd", "lb-2"
				}),
				served(func(s *corev1.Service) { s.Name, s.Spec.Type = "inside", corev1.ServiceTypeClusterIP }),
			)
			q := &asked{}
			switch events := r.nodeEvents(); {
			case c.before == nil:
				events.Create(t.Context(), event.CreateEvent{Object: c.after}, q)
			case c.after == nil:
				events.Delete(t.Context(), event.DeleteEvent{Object: c.before}, q)
			default:
				events.Update(t.Context(), event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}, q)
			}
			slices.Sort(q.names)
			if diff := cmp.Diff(c.want, q.names); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
			if name == "a heartbeat" && cache.lists > 0 {
				t.Errorf("a heartbeat took %d lists of Services", cache.lists)
			}
		})
	}
}

func TestAnEventOfASliceRequestsAPassIfMembersOrConditionServingDependOnIt(t *testing.T) {
	slice := func(edits ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		ready := discoveryv1.Endpoint{Addresses: []string{"10.244.0.7"}}
		s := &discoveryv1.EndpointSlice{
			AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
			Endpoints: []discoveryv1.Endpoint{ready},
		}
		for _, edit := range edits {
			edit(s)
		}
		return s
	}
	unready := func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false)}
	}
	another := func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.244.0.8"}})
	}
	renumbered := func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = ptr.To[int32](8081) }
	both, follower := []string{"cluster", "local"}, []string{"local"}
	for name, c := range map[string]struct {
		before, after *discoveryv1.EndpointSlice
		want          []string
	}{
		"the first endpoint":                 {nil, slice(), both},
		"the last endpoint leaves":           {slice(), nil, both},
		"the last one is not ready any more": {slice(), slice(unready), both},
		"it is ready again":                  {slice(unready), slice(), both},
		"another endpoint":                   {slice(), slice(another), follower},
		"one of two leaves":                  {slice(another), slice(), follower},
		"one that was never ready leaves":    {slice(unready), nil, follower},
		"another port":                       {slice(), slice(renumbered), both},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for i, policy := range []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster, corev1.ServiceExternalTrafficPolicyLocal} {
				r, _ := withServices(served(func(s *corev1.Service) {
					s.Name, s.Spec.ExternalTrafficPolicy = both[i], policy
				}))
				q := &asked{}
				for _, s := range []*discoveryv1.EndpointSlice{c.before, c.after} {
					if s != nil {
						s.Namespace, s.Labels = "default", map[string]string{discoveryv1.LabelServiceName: both[i]}
					}
				}
				switch events := r.sliceEvents(); {
				case c.before == nil:
					events.Create(t.Context(), event.CreateEvent{Object: c.after}, q)
				case c.after == nil:
					events.Delete(t.Context(), event.DeleteEvent{Object: c.before}, q)
				default:
					events.Update(t.Context(), event.UpdateEvent{ObjectOld: c.before, ObjectNew: c.after}, q)
				}
				got = append(got, q.names...)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEndpointThatBecomesReadyDoesNotRepeatARejectedCreateBeforeItsTime(t *testing.T) {
	web := served(func(s *corev1.Service) { s.Name = "web" })
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: web.Namespace, Labels: map[string]string{discoveryv1.LabelServiceName: web.Name}},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.244.0.7"}}},
	}
	rejected := timing.Tries{}.Again(noon, timing.Backoff{First: time.Minute, Last: time.Minute})
	for name, c := range map[string]struct {
		record memory.Record
		want   []string
	}{
		"the next attempt is not due": {memory.Record{Recovery: memory.Recovery{RejectedCreates: rejected}}, nil},
		"no create was rejected":      {memory.Record{}, []string{web.Name}},
		"it joined a load balancer since": {memory.Record{
			Cloud:    memory.Cloud{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}}},
			Recovery: memory.Recovery{RejectedCreates: rejected},
		}, []string{web.Name}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := withServices(web)
			c.record.ServiceUID = web.UID
			r.Memory.Put(services.Of(web).Key, c.record)
			q := &asked{}
			r.sliceEvents().Create(t.Context(), event.CreateEvent{Object: slice}, q)
			if diff := cmp.Diff(c.want, q.names); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
		})
	}
}

// services adapts the Services of the tests.
var services = service.Kind{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterName: "kubernetes"}}

func withServices(all ...*corev1.Service) (*Reconciler, *cached) {
	cache := &cached{services: all}
	p := planner.New(planner.Options{Reader: cache, Kinds: []claim.Kind{services}, Policy: services.Policy})
	return &Reconciler{Options: Options{Planner: p, Memory: memory.NewStore(), Now: func() time.Time { return noon }}}, cache
}

func BenchmarkNodeEventOfAThousandServices(b *testing.B) {
	var all []*corev1.Service
	for i := range 1000 {
		all = append(all, served(func(s *corev1.Service) {
			s.Name, s.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint(i))
			s.Annotations[annotation.LoadBalancerID] = ""
		}))
	}
	r, _ := withServices(all...)
	joins := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}}
	b.ReportAllocs()
	for b.Loop() {
		r.enqueueMembers(b.Context(), &asked{}, nil, joins)
	}
}
