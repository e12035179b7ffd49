// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

func asFound(w *lb.Wanted) { w.MonitorsAsFound = true }

func TestMonitorsThatAreToBeLeftAloneAre(t *testing.T) {
	there := func(changes ...edit) lb.Observed {
		l := usual(append(changes, ports(port(lb.TCP, 80, 30080)), monitored(lb.MonitorTCP))...).LoadBalancer
		l.ID, l.ProvisioningStatus, l.Listeners[0].ID, l.Listeners[0].Pool.ID, l.Listeners[0].Pool.Monitor.ID = "lb", lb.Active, "l", "p", "m"
		return lb.Observed{LoadBalancer: l}
	}
	left := there()
	left.LoadBalancer.Listeners[0].Pool.Monitor.ProvisioningStatus = lb.PendingCreate
	for name, c := range map[string]struct {
		wanted   lb.Wanted
		observed lb.Observed
		some     bool
	}{
		"one that is there":                      {wanted: usual(ports(port(lb.TCP, 80, 30080)), asFound), observed: there()},
		"beside a port that opens":               {wanted: usual(asFound), observed: there(), some: true},
		"one that was left unfinished, replaced": {wanted: usual(ports(port(lb.TCP, 80, 30080)), asFound), observed: left, some: true},
		"none yet":                               {wanted: usual(asFound), some: true},
	} {
		t.Run(name, func(t *testing.T) {
			c.wanted.FloatingIP = nil
			ops := New(c.wanted, c.observed, web).Ops
			for _, op := range ops {
				switch op := op.(type) {
				case CreateMonitor, UpdateMonitor, DeleteMonitor:
					t.Errorf("a monitor is touched: %s", op)
				case CreateLoadBalancer:
					for _, l := range op.LoadBalancer.Listeners {
						if l.Pool.Monitor != nil {
							t.Errorf("a monitor is made with the load balancer: %+v", l.Pool.Monitor)
						}
					}
				}
			}
			if got := len(ops) > 0; got != c.some {
				t.Errorf("plan: %v", ops)
			}
		})
	}
}

func TestWhatIsWithheldIsRefusedInWords(t *testing.T) {
	w := usual(func(w *lb.Wanted) { w.Withheld = []lb.Withheld{{Reason: "Because", Message: "in words"}} })
	plan := New(w, lb.Observed{}, web)
	if d := cmp.Diff([]Refusal{{Reason: "Because", Message: "in words"}}, plan.Refused); d != "" {
		t.Error(d)
	}
	if len(plan.Ops) == 0 {
		t.Error("the rest is not planned")
	}
}
