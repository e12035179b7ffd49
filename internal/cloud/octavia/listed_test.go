// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// lists are lists with the load balancers "one" and "two" and their children.
type lists struct {
	balancers []listedDocument
	listeners []listenerDocument
	pools     []poolDocument
	monitors  []monitorDocument
}

func refs(ids ...string) (all []reference) {
	for _, id := range ids {
		all = append(all, reference{id})
	}
	return all
}

func named(id string) document {
	return document{ID: id, AdminStateUp: true, ProvisioningStatus: lb.Active}
}

func twoBalancers() lists {
	balancer := func(id string, listeners, pools []reference) listedDocument {
		return listedDocument{loadBalancerDocument: loadBalancerDocument{document: named(id)}, Listeners: listeners, Pools: pools}
	}
	pool, monitor := "pool-1", "monitor-1"
	return lists{
		balancers: []listedDocument{balancer("one", refs("listener-2", "listener-1"), refs("pool-1", "pool-2")), balancer("two", nil, nil)},
		listeners: []listenerDocument{{document: named("listener-1"), DefaultPoolID: &pool}, {document: named("listener-2")}, {document: named("another's")}},
		pools:     []poolDocument{{document: named("pool-1"), MonitorID: &monitor, Members: refs("a", "b")}, {document: named("pool-2")}},
		monitors:  []monitorDocument{{document: named("monitor-1")}},
	}
}

func TestListsAreJoinedToLoadBalancers(t *testing.T) {
	l := twoBalancers()
	active := func(id string) lb.LoadBalancer { return lb.LoadBalancer{ID: id, ProvisioningStatus: lb.Active} }
	one := active("one")
	one.Listeners = []lb.Listener{
		{ID: "listener-1", ProvisioningStatus: lb.Active, Pool: &lb.Pool{
			ID: "pool-1", ProvisioningStatus: lb.Active, Monitor: &lb.HealthMonitor{ID: "monitor-1", ProvisioningStatus: lb.Active},
		}},
		{ID: "listener-2", ProvisioningStatus: lb.Active},
	}
	one.DetachedPools = []lb.Pool{{ID: "pool-2", ProvisioningStatus: lb.Active}}
	want := []Listed{
		{Bare: one, Complete: true, Members: map[string]int{"pool-1": 2, "pool-2": 0}},
		{Bare: active("two"), Complete: true},
	}
	if d := cmp.Diff(want, join(l.balancers, l.listeners, l.pools, l.monitors), cmpopts.EquateEmpty()); d != "" {
		t.Errorf("(-want +got): %s", d)
	}
}

func TestALoadBalancerWhoseChildrenAreNotAllListedIsIncomplete(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*lists)
		want map[string]bool
	}{
		"all are listed":                   {func(*lists) {}, map[string]bool{"one": true, "two": true}},
		"a listener is missing":            {func(l *lists) { l.listeners = l.listeners[1:] }, map[string]bool{"one": false, "two": true}},
		"a pool is missing":                {func(l *lists) { l.pools = l.pools[1:] }, map[string]bool{"one": false, "two": true}},
		"a health monitor is missing":      {func(l *lists) { l.monitors = nil }, map[string]bool{"one": false, "two": true}},
		"a listener has a pool of another": {func(l *lists) { id := "pool-9"; l.listeners[1].DefaultPoolID = &id }, map[string]bool{"one": false, "two": true}},
		"no children are listed":           {func(l *lists) { l.listeners, l.pools, l.monitors = nil, nil, nil }, map[string]bool{"one": false, "two": true}},
		"a load balancer is deleted":       {func(l *lists) { l.balancers[1].ProvisioningStatus = lb.Deleted }, map[string]bool{"one": true}},
		"children without a load balancer": {func(l *lists) { l.balancers = l.balancers[1:] }, map[string]bool{"two": true}},
		"no load balancer is listed":       {func(l *lists) { l.balancers = nil }, map[string]bool{}},
		"a monitor of another":             {func(l *lists) { l.monitors = append(l.monitors, monitorDocument{document: named("monitor-9")}) }, map[string]bool{"one": true, "two": true}},
	} {
		t.Run(name, func(t *testing.T) {
			l := twoBalancers()
			c.edit(&l)
			got := map[string]bool{}
			for _, one := range join(l.balancers, l.listeners, l.pools, l.monitors) {
				got[one.Bare.ID] = one.Complete
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("(-want +got): %s", d)
			}
		})
	}
}
