// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// groups requests security groups of the VIP, as package desired does: without source ranges.
func groups(ids ...string) edit {
	return func(w *lb.Wanted) {
		w.LoadBalancer.VIPSecurityGroups = ids
		each(func(l *lb.Listener) { l.AllowedCIDRs = nil })(w)
	}
}

func TestSecurityGroupsOfTheVIP(t *testing.T) {
	openToAll := sourceRanges("0.0.0.0/0")
	byHand := func(c *cloud) {
		c.balancer.VIPSecurityGroups = []string{"by-hand"}
		for _, number := range []int{80, 443} {
			c.changeListener(number, func(l *listenerRow) { l.AllowedCIDRs = nil })
		}
	}
	for name, c := range map[string]live{
		"groups_come_with_a_first_create":                                          {before: []edit{nothing}, after: []edit{groups("g2", "g1")}},
		"groups_come_beside_ranges_of_all_addresses_and_before_new_ports":          {before: []edit{openToAll}, after: []edit{ports(port(lb.TCP, 80, 30080), port(lb.TCP, 443, 30443), port(lb.UDP, 53, 30053)), groups("g1")}},
		"groups_come_before_ranges_go":                                             {before: []edit{sourceRanges("10.0.0.0/8")}, after: []edit{groups("g1")}},
		"groups_that_would_open_the_port_of_another_client_are_not_set":            {before: []edit{openToAll}, after: []edit{groups("g1")}, drift: addPortFor("10.0.0.0/8")},
		"ranges_that_were_left_beside_groups_go_before_the_groups":                 {before: []edit{groups("g1")}, after: []edit{openToAll}, drift: leaveRanges},
		"other_groups_are_one_call":                                                {before: []edit{groups("g1", "g2")}, after: []edit{groups("g3", "g1")}},
		"groups_in_another_order_are_nothing_to_do":                                {before: []edit{groups("g1", "g2")}, after: []edit{groups("g2", "g1")}},
		"groups_go_after_ports_that_go":                                            {before: []edit{groups("g1")}, after: []edit{ports(port(lb.TCP, 80, 30080)), openToAll}},
		"groups_of_another_client_stay":                                            {before: []edit{openToAll}, after: []edit{openToAll, ports(port(lb.TCP, 80, 30080), port(lb.UDP, 53, 30053))}, drift: byHand},
		"groups_of_another_client_that_are_requested_are_not_ours":                 {before: []edit{openToAll}, after: []edit{groups("by-hand")}, drift: byHand},
		"groups_of_another_client_are_replaced_by_requested_ones":                  {before: []edit{openToAll}, after: []edit{groups("g1")}, drift: byHand},
		"groups_that_another_client_changed_are_put_right":                         {before: []edit{groups("g1")}, after: []edit{groups("g1")}, drift: byHand},
		"groups_that_another_client_changed_stay_when_none_are_requested":          {before: []edit{groups("g1")}, after: []edit{openToAll}, drift: byHand},
		"groups_come_beside_ranges_of_all_addresses_on_the_port_of_another_client": {before: []edit{openToAll}, after: []edit{groups("g1")}, drift: addPortFor("0.0.0.0/0")},
	} {
		t.Run(name, func(t *testing.T) { c.converge(t, name) })
	}
}

// addPortFor adds the port of another client, with these source ranges.
func addPortFor(sources ...string) func(*cloud) {
	return func(c *cloud) {
		l := port(lb.TCP, 8080, 31000)
		l.Tags, l.Name, l.Pool.Tags, l.Pool.Name, l.AllowedCIDRs = []string{"by-hand"}, "canary", []string{"by-hand"}, "canary", sources
		c.addListener(l, c.addPool(*l.Pool))
	}
}

// leaveRanges gives port 80 source ranges beside security groups, as a controller leaves it that stops between two calls.
func leaveRanges(c *cloud) {
	c.changeListener(80, func(l *listenerRow) { l.AllowedCIDRs = []string{"10.0.0.0/8"} })
}

// admits says who may connect to the port.
func admits(l *lb.LoadBalancer, key lb.ListenerKey) string {
	listener := find(l.Listeners, key)
	switch {
	case listener == nil:
		return "no client"
	case len(l.VIPSecurityGroups) > 0:
		return grouped(*l)
	case !lb.AdmitsEveryClient(listener.AllowedCIDRs, l.DualStack()):
		return "ranges " + strings.Join(slices.Sorted(slices.Values(listener.AllowedCIDRs)), ",")
	}
	return "every client"
}

func grouped(l lb.LoadBalancer) string {
	return "groups " + strings.Join(slices.Sorted(slices.Values(l.VIPSecurityGroups)), ",")
}

// anyAccess draws ports with groups or source ranges.
func anyAccess(t *rapid.T) lb.Wanted {
	w := usual()
	internal(&w)
	numbers := rapid.SliceOfNDistinct(rapid.IntRange(1, 4), 1, 4, rapid.ID).Draw(t, "ports")
	var all []lb.Listener
	for _, n := range numbers {
		l := port(lb.TCP, n, 30000+n)
		l.AllowedCIDRs = rapid.SampledFrom([][]string{nil, {"0.0.0.0/0"}, {"0.0.0.0/0"}, {"10.0.0.0/8"}}).Draw(t, "sources")
		all = append(all, l)
	}
	ports(all...)(&w)
	if rapid.Bool().Draw(t, "by groups") {
		groups(rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"g1", "g2", "g3"}), 1, 3, rapid.ID).Draw(t, "groups")...)(&w)
	}
	return w
}

// Octavia replaces source ranges with groups in one step, but groups with ranges only by way of neither, which opens a port
// to every client. At each moment, each client that may connect to a port could before, or may at the end. Where that is not
// possible, nothing changes.
func TestNoPortIsEverOpenToMoreThanBeforeOrRequested(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, wanted := anyAccess(t), anyAccess(t)
		c := newCloud(web)
		made := create(before).LoadBalancer
		c.create(copied(&made), lb.Active)
		if !c.observe().LoadBalancer.RestrictsSources() && rapid.IntRange(0, 3).Draw(t, "by hand") == 0 {
			for id, row := range c.listeners {
				row.AllowedCIDRs = nil
				c.listeners[id] = row
			}
			c.balancer.VIPSecurityGroups = []string{"by-hand"}
		}
		if len(c.balancer.VIPSecurityGroups) == 0 && rapid.IntRange(0, 3).Draw(t, "another's") == 0 {
			addPortFor(rapid.SampledFrom([]string{"0.0.0.0/0", "192.0.2.0/24"}).Draw(t, "its sources"))(c)
		}
		start := *c.observe().LoadBalancer
		end := copied(wanted.LoadBalancer)
		if len(end.VIPSecurityGroups) == 0 && start.VIPGroupsAreOthers() {
			end.VIPSecurityGroups = start.VIPSecurityGroups
		}
		known := c.observe()
		for i := 0; ; i++ {
			ops := slices.DeleteFunc(New(wanted, c.observe(), web).Ops, func(op Op) bool { return !op.Octavia() })
			if len(ops) == 0 {
				break
			}
			made, err := c.apply(ops[0])
			if err != nil || i > 60 {
				t.Fatalf("%d: %s: %v", i, ops[0], err)
			}
			known = After(known, ops[0], made)
			c.settle()
			now := c.observe().LoadBalancer
			if !lb.SameVIPGroups(known.LoadBalancer.VIPSecurityGroups, now.VIPSecurityGroups) {
				t.Fatalf("after %s the groups are %v, expected %v", ops[0], now.VIPSecurityGroups, known.LoadBalancer.VIPSecurityGroups)
			}
			for _, l := range now.Listeners {
				was, is, will := admits(&start, l.Key()), admits(now, l.Key()), admits(&end, l.Key())
				// Groups are for all ports, also for those that open before they go. Ports that close after they came had no ranges.
				early := is == grouped(start) && will == "every client" || is == grouped(end) && !strings.HasPrefix(was, "ranges")
				if is != was && is != will && !early {
					t.Fatalf("after %s, %v is open to %s; before to %s, requested is %s", ops[0], l.Key(), is, was, will)
				}
			}
		}
		requireAccess(t, &start, &end, c.observe().LoadBalancer)
	})
}

// requireAccess fails the test unless who may connect is as requested, or what it was where it cannot be exchanged.
func requireAccess(t *rapid.T, start, end, now *lb.LoadBalancer) {
	mayStay := len(start.VIPSecurityGroups) > 0 && end.RestrictsSources() ||
		len(start.VIPSecurityGroups) == 0 && len(end.VIPSecurityGroups) > 0 && start.RestrictsSourcesOfOthers(web)
	if g := now.VIPSecurityGroups; !lb.SameVIPGroups(g, end.VIPSecurityGroups) && !(mayStay && lb.SameVIPGroups(g, start.VIPSecurityGroups)) {
		t.Fatalf("the groups are %v, before %v, requested %v", g, start.VIPSecurityGroups, end.VIPSecurityGroups)
	}
	for _, l := range end.Listeners {
		was, is, will := admits(start, l.Key()), admits(now, l.Key()), admits(end, l.Key())
		if is != will && !(mayStay && is == was) {
			t.Fatalf("%v is open to %s, before to %s, requested is %s", l.Key(), is, was, will)
		}
	}
}
