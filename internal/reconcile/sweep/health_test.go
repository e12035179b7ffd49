// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

func TestHealthOfMembersIsReadWithOneListAndRequestsPassesForChangesOnly(t *testing.T) {
	listener := func(name, pool string, tags ...string) lb.Listener {
		return lb.Listener{Name: name, Port: 80, Tags: tags, Pool: &lb.Pool{ID: pool, Monitor: &lb.HealthMonitor{}}}
	}
	plain := lb.Listener{Port: 80, Pool: &lb.Pool{ID: "pool"}}
	for name, c := range map[string]struct {
		listeners []lb.Listener
		sharer    bool
		reason    string
		health    map[string]string
		failure   error
		lists     int
		passes    []owner.Key
	}{
		"the members fail":                            {listeners: []lb.Listener{listener("a", "pool")}, reason: status.ReasonServing, health: map[string]string{"pool": "ERROR"}, lists: 1, passes: []owner.Key{web}},
		"they are as they were":                       {listeners: []lb.Listener{listener("a", "pool")}, reason: status.ReasonServing, health: map[string]string{"pool": "ONLINE"}, lists: 1},
		"the pool is not in the list":                 {listeners: []lb.Listener{listener("a", "pool")}, reason: status.ReasonServing, health: map[string]string{}, lists: 1},
		"no pool has a monitor":                       {listeners: []lb.Listener{plain}, reason: status.ReasonNotMonitored},
		"there is no load balancer":                   {reason: status.ReasonNotProgrammed},
		"the list fails":                              {listeners: []lb.Listener{listener("a", "pool")}, reason: status.ReasonServing, failure: errors.New("no answer"), lists: 1},
		"the port of another Service on a shared one": {listeners: []lb.Listener{listener("a", "pool", "kube_service_other_default_web")}, sharer: true, reason: status.ReasonServing, health: map[string]string{"pool": "ERROR"}},
	} {
		t.Run(name, func(t *testing.T) {
			n, cache, _ := newNodes(t)
			cache.services[0].Status.Conditions = []metav1.Condition{{Type: status.Serving, Reason: c.reason}}
			if c.listeners != nil {
				n.Memory.Put(web, memory.Record{Cloud: memory.Cloud{Observed: lb.Observed{Sharer: c.sharer, LoadBalancer: &lb.LoadBalancer{Listeners: c.listeners}}}})
			}
			var passes []owner.Key
			n.Enqueue = func(key owner.Key) { passes = append(passes, key) }
			lists := 0
			h := &Health{Options: n.Options, list: func(context.Context) (map[string]string, error) {
				lists++
				return c.health, c.failure
			}}
			err := h.check(t.Context())
			if (err != nil) != (c.failure != nil) || lists != c.lists {
				t.Errorf("%d lists and error %v, want %d and %v", lists, err, c.lists, c.failure)
			}
			if diff := cmp.Diff(c.passes, passes); diff != "" {
				t.Errorf("passes (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.health, n.Memory.PoolHealth()); c.lists > 0 && diff != "" {
				t.Errorf("remembered (-want +got):\n%s", diff)
			}
			if read := testutil.ToFloat64(n.Metrics.Health) > 0; read == (c.failure != nil) {
				t.Errorf("the metric says that the health was read: %v", read)
			}
		})
	}
}

func TestFailedListOfHealthKeepsTheFormerHealth(t *testing.T) {
	n, _, _ := newNodes(t)
	n.Memory.SetPoolHealth(map[string]string{"pool": "ERROR"})
	n.Memory.Put(web, memory.Record{Cloud: memory.Cloud{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{Listeners: []lb.Listener{
		{Protocol: lb.ListenerTCP, Port: 80, Pool: &lb.Pool{ID: "pool", Monitor: &lb.HealthMonitor{}}},
	}}}}})
	h := &Health{Options: n.Options, list: func(context.Context) (map[string]string, error) { return nil, errors.New("no answer") }}
	if err := h.check(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := n.Memory.PoolHealth()["pool"]; got != "ERROR" {
		t.Errorf("it remembers %q", got)
	}
}
