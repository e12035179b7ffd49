// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/planner"
)

// asked is a queue that notes what is added.
type asked struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	names []string
}

func (q *asked) Add(request reconcile.Request) { q.names = append(q.names, request.Name) }

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
		"a heartbeat":                  {node(), node(ready), none},
		"a node that joins":            {nil, node(), both},
		"a node that is not selected":  {nil, node(hdd), all},
		"a node that leaves":           {node(), nil, both},
		"a node without an address":    {nil, node(homeless), none},
		"such a node gets one":         {node(homeless), node(), both},
		"it leaves without":            {node(homeless), nil, none},
		"another address":              {node(), node(func(n *corev1.Node) { n.Status.Addresses[0].Address = "10.0.0.2" }), both},
		"a label that nobody selects":  {node(), node(labelled("a", "b")), none},
		"a label that one selects":     {node(), node(hdd), selects},
		"another zone":                 {node(), node(labelled(corev1.LabelTopologyZone, "a")), both},
		"a node that was excluded":     {node(), node(labelled(corev1.LabelNodeExcludeBalancers, "")), both},
		"another label of such a node": {node(labelled(corev1.LabelNodeExcludeBalancers, "")), node(labelled(corev1.LabelNodeExcludeBalancers, "x")), none},
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

func withServices(services ...*corev1.Service) (*Reconciler, *cached) {
	policy := &planner.Planner{Policy: claim.Policy{DefaultClass: true}}
	cache := &cached{services: services, group: policy.GroupOf}
	policy.Reader = cache
	return &Reconciler{Options: Options{Planner: policy, Memory: memory.NewStore(), Now: func() time.Time { return noon }}}, cache
}

func BenchmarkNodeEventOfAThousandServices(b *testing.B) {
	var services []*corev1.Service
	for i := range 1000 {
		services = append(services, served(func(s *corev1.Service) {
			s.Name, s.UID = fmt.Sprint("web-", i), types.UID(fmt.Sprint(i))
			s.Annotations[annotation.LoadBalancerID] = ""
		}))
	}
	r, _ := withServices(services...)
	joins := &corev1.Node{Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "10.0.0.1"}}}}
	b.ReportAllocs()
	for b.Loop() {
		r.enqueueMembers(b.Context(), &asked{}, nil, joins)
	}
}
