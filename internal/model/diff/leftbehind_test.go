// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func serial(w *lb.Wanted) { w.Serial = true }

func withAddress(w *lb.Wanted) { w.LoadBalancer.VIP.Address = "10.0.0.9" }

// Golden files show the plans and the passes.
func TestPartsThatOctaviaLeftBehindAreReplaced(t *testing.T) {
	pending := func(s *lb.ProvisioningStatus) { *s = lb.PendingCreate }
	two := []lb.Listener{port(lb.TCP, 80, 30080), port(lb.TCP, 443, 30443)}
	all := []edit{monitored(lb.MonitorTCP)}
	for name, c := range map[string]live{
		"all_ports_left_behind_get_other_pools": {before: all, after: all, drift: (*cloud).leaveBehind},
		"a_listener_left_behind_is_written_once_more": {before: all, after: all, drift: func(c *cloud) {
			c.changeListener(80, func(l *listenerRow) { pending(&l.ProvisioningStatus) })
		}},
		"a_monitor_left_behind_is_not_touched_but_its_pool_replaced": {before: all, after: all, drift: func(c *cloud) {
			c.changePool(443, func(p *lb.Pool) { pending(&p.Monitor.ProvisioningStatus) })
		}},
		"a_port_left_behind_waits_for_the_nodes_of_one_that_works": {after: []edit{nodes("11", "13")}, drift: func(c *cloud) {
			c.changePool(443, func(p *lb.Pool) { pending(&p.ProvisioningStatus) })
		}},
		"a_port_left_behind_and_not_wanted_is_closed": {after: []edit{ports(two[1])}, drift: func(c *cloud) {
			c.changePool(80, func(p *lb.Pool) { pending(&p.ProvisioningStatus) })
		}},
		"a_replacement_cut_short_is_completed": {before: all, after: all, drift: func(c *cloud) {
			replacement := c.pools[c.poolID(80)].Pool
			replacement.Members, replacement.Monitor = nil, nil
			c.leaveBehind()
			c.addPool(replacement)
		}},
		"a_replaced_pool_that_is_left_goes_first": {before: all, after: all, drift: func(c *cloud) {
			replacement := c.pools[c.poolID(80)].Pool
			c.leaveBehind()
			id := c.addPool(replacement)
			c.changeListener(80, func(l *listenerRow) { l.pool, l.ProvisioningStatus = id, lb.Active })
		}},
		"created_alone_it_gets_its_ports_one_by_one": {before: []edit{nothing}, after: []edit{serial, monitored(lb.MonitorTCP)}},
		"with_an_address_and_a_certificate_it_is_created_alone": {before: []edit{nothing},
			after: []edit{withAddress, speak(443, terminated("cert-a"))}},
		"with_an_address_and_no_certificate_it_is_created_with_its_ports": {before: []edit{nothing}, after: []edit{withAddress}},
		"on_a_given_port_it_is_created_with_its_certificates": {before: []edit{nothing},
			after: []edit{withAddress, func(w *lb.Wanted) { w.LoadBalancer.VIP.PortID = "port-1" }, speak(443, terminated("cert-a"))}},
		"how_it_would_be_created_does_not_matter_to_one_there": {after: []edit{serial}},
	} {
		t.Run(name, func(t *testing.T) { c.converge(t, name) })
	}
}

func TestPartsAreLeftBehindOnlyWhenTheLoadBalancerIsActive(t *testing.T) {
	tests := map[string]struct {
		change      func(*lb.LoadBalancer)
		left, birth bool
	}{
		"all is ACTIVE": {change: func(*lb.LoadBalancer) {}},
		"a listener":    {change: func(l *lb.LoadBalancer) { l.Listeners[0].ProvisioningStatus = lb.PendingCreate }, left: true, birth: true},
		"a pool":        {change: func(l *lb.LoadBalancer) { l.Listeners[1].Pool.ProvisioningStatus = lb.PendingUpdate }, left: true},
		"a member":      {change: func(l *lb.LoadBalancer) { l.Listeners[1].Pool.Members[1].ProvisioningStatus = lb.PendingCreate }, left: true, birth: true},
		"a monitor":     {change: func(l *lb.LoadBalancer) { l.Listeners[0].Pool.Monitor.ProvisioningStatus = lb.PendingCreate }, left: true, birth: true},
		"an unused pool": {left: true, birth: true, change: func(l *lb.LoadBalancer) {
			l.DetachedPools = []lb.Pool{{Name: web.PoolName(0), Tags: web.Tags(), ProvisioningStatus: lb.PendingCreate}}
		}},
		"another Service's": {change: func(l *lb.LoadBalancer) {
			l.Listeners[0].Tags, l.Listeners[0].Name = []string{"kube-octavia.service=other"}, "canary"
			l.Listeners[0].ProvisioningStatus = lb.PendingCreate
		}},
		"one in ERROR": {change: func(l *lb.LoadBalancer) { l.Listeners[0].ProvisioningStatus = lb.Error }},
		"one of a load balancer that is being built": {change: func(l *lb.LoadBalancer) {
			l.ProvisioningStatus, l.Listeners[0].ProvisioningStatus = lb.PendingCreate, lb.PendingCreate
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			l := cloudWith(usual(monitored(lb.MonitorTCP))).observe().LoadBalancer
			test.change(l)
			if got := LeftBehind(l, web); got != test.left {
				t.Errorf("left behind: %t", got)
			}
			if got := LeftBehindAtCreation(*l, web); test.left && got != test.birth {
				t.Errorf("left at birth: %t", got)
			}
		})
	}
	if LeftBehind(nil, web) {
		t.Error("nothing is left behind")
	}
}

func TestMembersOfFinishedPoolsAreUpdatedFirst(t *testing.T) {
	c := cloudWith(usual(monitored(lb.MonitorTCP)))
	c.changePool(443, func(p *lb.Pool) { p.ProvisioningStatus = lb.PendingCreate })
	observed := c.observe()
	plan := New(usual(nodes("11", "13"), sourceRanges("10.0.0.0/8")), observed, web)
	if len(plan.Ops) < 6 {
		t.Fatalf("the plan is %v", texts(plan.Ops))
	}
	want := []string{"set the 2 members of pool pool_0_kube_service_kubernetes_shop_web: 1 added, 1 removed, 0 changed"}
	if d := cmp.Diff(want, texts(OnlyMembers(plan.Ops, observed.LoadBalancer))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestSourcesOfFinishedListenersAreUpdatedFirst(t *testing.T) {
	c := cloudWith(usual(monitored(lb.MonitorTCP)))
	c.changePool(80, func(p *lb.Pool) { p.ProvisioningStatus = lb.PendingCreate })
	c.changeListener(80, func(l *listenerRow) { l.ConnectionLimit = 5 })
	c.changeListener(443, func(l *listenerRow) { l.ProvisioningStatus = lb.PendingUpdate })
	observed := c.observe()
	plan := New(usual(sourceRanges("10.0.0.0/8"), nodes("11", "13")), observed, web)
	want := []string{`update port TCP/80: allowed sources ["10.0.0.0/8"]`}
	if d := cmp.Diff(want, texts(OnlySources(plan.Ops, observed.LoadBalancer))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := OnlySources(New(usual(nodes("11", "13")), observed, web).Ops, observed.LoadBalancer); len(got) > 0 {
		t.Errorf("not requested: %v", texts(got))
	}
}

func TestAReplacementPoolHasNoStatusesOfTheOldOne(t *testing.T) {
	c := cloudWith(usual(monitored(lb.MonitorTCP)))
	c.leaveBehind()
	observed := c.observe()
	wanted := usual()
	wanted.LoadBalancer = observed.LoadBalancer // as for a Service that is refused
	for range 3 {
		op := New(wanted, observed, web).Ops[0]
		made, err := c.apply(op)
		if err != nil {
			t.Fatal(err)
		}
		c.settle()
		observed = After(observed, op, made)
		observed.LoadBalancer.ProvisioningStatus = lb.Active
	}
	made := observed.LoadBalancer.DetachedPools
	if len(made) != 1 || made[0].Unfinished() || len(made[0].Members) != 2 || made[0].Monitor == nil {
		t.Errorf("the pool that was just made is taken for left behind: %+v", made)
	}
}
