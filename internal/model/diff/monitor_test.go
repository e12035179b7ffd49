// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func asFound(w *lb.Wanted) { w.KeepMonitors = true }

// passesWithMonitors carries out plans until nothing is left to do, and returns the ops by pass and the reasons of
// refusals at the start and at the end. It checks that monitors are not touched and no port is opened while one
// exists.
func passesWithMonitors(t reporter, c *cloud, wanted lb.Wanted) (passes [][]string, first, last []string) {
	t.Helper()
	for len(passes) < 100 {
		c.settle()
		observed := c.observe()
		plan := New(wanted, observed, web)
		last = nil
		for _, r := range plan.Refused {
			last = append(last, r.Reason)
		}
		if len(passes) == 0 {
			first = last
		}
		passes = append(passes, texts(plan.Ops))
		for _, op := range plan.Ops {
			leavesMonitorsAlone(t, op, observed.LoadBalancer)
		}
		i := slices.IndexFunc(plan.Ops, func(op Op) bool { return op.Octavia() })
		if i < 0 {
			return passes, first, last
		}
		if _, err := c.apply(plan.Ops[i]); err != nil {
			t.Fatalf("the cloud refuses %v: %v", plan.Ops[i], err)
		}
	}
	t.Fatalf("there is no end: %v", passes[90:])
	return nil, nil, nil
}

func leavesMonitorsAlone(t reporter, op Op, there *lb.LoadBalancer) {
	t.Helper()
	switch op := op.(type) {
	case CreateMonitor, UpdateMonitor, DeleteMonitor:
		t.Errorf("a monitor is touched: %s", op)
	case CreateListener:
		if hasMonitor(*there) {
			t.Errorf("beside a monitor: %s", op)
		}
	case CreateLoadBalancer:
		if hasMonitor(op.LoadBalancer) {
			t.Errorf("with monitors: %s", op)
		}
	}
}

func TestMonitorsThatMustNotBeTouchedAreNot(t *testing.T) {
	eighty := func(change ...edit) []edit {
		return append([]edit{internal, ports(port(lb.TCP, 80, 30080))}, change...)
	}
	both := func(change ...edit) []edit { return append([]edit{internal}, change...) }
	p0, refused := web.PoolName(0), []string{ReasonBlockedByHealthMonitor}
	for name, c := range map[string]struct {
		before, after []edit
		drift         func(*cloud)
		passes        []string // the first op of each
		first, last   []string
	}{
		"one that is there": {before: both(monitored(lb.MonitorTCP)), after: both()},
		"none yet":          {before: []edit{nothing}, after: both(monitored(lb.MonitorTCP)), passes: []string{"create load balancer " + web.LoadBalancerName() + " with ports TCP/80, TCP/443"}},
		"a port that would open beside one": {before: eighty(monitored(lb.MonitorTCP)), after: both(nodes("11")), first: refused, last: refused,
			passes: []string{"set the 1 members of pool " + p0 + ": 0 added, 1 removed, 0 changed"}},
		"a port of another protocol beside one stays": {before: both(monitored(lb.MonitorTCP)), after: both(), first: refused, last: refused,
			drift: func(c *cloud) {
				c.changeListener(80, func(l *listenerRow) { l.Protocol = lb.ListenerHTTP })
			}},
		"a port that takes the place of the last monitored one": {before: eighty(monitored(lb.MonitorTCP)), first: refused,
			after:  []edit{internal, ports(port(lb.TCP, 443, 30443))},
			passes: []string{"close", "delete pool", "create pool", "set the 2 members", "open port TCP/443"}},
		"a port that was lost and left its monitored pool": {before: eighty(monitored(lb.MonitorTCP)), after: eighty(), first: refused,
			drift:  func(c *cloud) { delete(c.listeners, c.listenerID(80)) },
			passes: []string{"delete pool", "create pool", "set the 2 members", "open port TCP/80"}},
		"one of a pool that no port uses and that is ours, beside one that works": {before: both(monitored(lb.MonitorTCP)), after: both(),
			drift: func(c *cloud) {
				c.changePool(80, func(p *lb.Pool) { p.ProvisioningStatus = lb.PendingUpdate })
				spare := c.pools[c.poolID(80)].Pool
				spare.ProvisioningStatus = lb.Active
				c.addPool(spare)
			},
			passes: []string{"update port TCP/80: pool", "delete pool"}},
		"one that was left unfinished goes with its pool": {before: eighty(monitored(lb.MonitorTCP)), after: eighty(),
			drift: func(c *cloud) {
				c.changePool(80, func(p *lb.Pool) { p.Monitor.ProvisioningStatus = lb.PendingCreate })
			},
			passes: []string{"create pool", "set the 2 members", "update port TCP/80: pool", "delete pool"}},
		"one of a pool that two ports share": {before: both(monitored(lb.MonitorTCP)), after: both(monitored(lb.MonitorTCP)),
			drift: func(c *cloud) {
				pool := c.poolID(80)
				delete(c.pools, c.poolID(443))
				c.changeListener(443, func(l *listenerRow) { l.pool = pool })
			},
			passes: []string{"create pool " + p0, "set the 2 members", "update port TCP/80: pool", "set the 2 members"}},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := cloudWith(usual(c.before...))
			if c.drift != nil {
				c.drift(cloud)
			}
			passes, first, last := passesWithMonitors(t, cloud, usual(append(c.after, asFound)...))
			if len(passes) != len(c.passes)+1 {
				t.Fatalf("passes: %q", passes)
			}
			for i, start := range c.passes {
				if !strings.HasPrefix(passes[i][0], start) {
					t.Errorf("pass %d begins with %q, want %q", i+1, passes[i][0], start)
				}
			}
			if d := cmp.Diff([][]string{c.first, c.last}, [][]string{first, last}); d != "" {
				t.Errorf("refused at first and in the end (-want +got):\n%s", d)
			}
		})
	}
}

func TestMonitorsAreNotTouchedWhateverIsObservedAndWanted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted := anyWanted(t, true)
		wanted.FloatingIP, wanted.KeepMonitors = nil, true
		passesWithMonitors(t, anyCloud(t, wanted, true), wanted)
	})
}

func TestWithheldPartsAreReportedAsRefused(t *testing.T) {
	w := usual(func(w *lb.Wanted) { w.Withheld = []lb.Withheld{{Reason: "Because", Message: "in words"}} })
	plan := New(w, lb.Observed{}, web)
	if d := cmp.Diff([]Refusal{{Reason: "Because", Message: "in words"}}, plan.Refused); d != "" {
		t.Error(d)
	}
	if len(plan.Ops) == 0 {
		t.Error("the rest is not planned")
	}
}
