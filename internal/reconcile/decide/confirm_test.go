// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

func TestSettledWithExactlyOneCompleteLoadBalancer(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Decision)
		want   bool
	}{
		"one load balancer":                            {func(*Decision) {}, true},
		"one that a sweep has found by its tags":       {func(d *Decision) { d.Record.Cloud.Others = []string{"lb-1"} }, true},
		"another one with the Service's tags":          {func(d *Decision) { d.Record.Cloud.Others = []string{"lb-1", "lb-2"} }, false},
		"something left to do":                         {func(d *Decision) { d.Done = false }, false},
		"a refused Service":                            {func(d *Decision) { d.Goal.MembersOnly = true }, false},
		"a failed write, after which nothing is known": {func(d *Decision) { d.Record.Cloud.Known = false }, false},
		"no load balancer":                             {func(d *Decision) { d.Record.Cloud.Observed.LoadBalancer = nil }, false},
		"Octavia is working":                           {func(d *Decision) { d.Record.Cloud.Observed.LoadBalancer.ProvisioningStatus = lb.PendingUpdate }, false},
		"a predecessor":                                {func(d *Decision) { d.Record.Cloud.Observed.Predecessor = &lb.LoadBalancer{ID: "lb-0"} }, false},
		"a duplicate":                                  {func(d *Decision) { d.Record.Cloud.Observed.Duplicates = []string{"lb-2"} }, false},
	} {
		d := Decision{Done: true, Record: memory.Record{Cloud: memory.Cloud{Known: true,
			Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active}}}}}
		if c.change(&d); d.Settled() != c.want {
			t.Errorf("%s: settled %t", name, d.Settled())
		}
	}
}

// A Service that is served by one IP family only, or whose drift is only reported, never settles.
func TestRestsWithOneLoadBalancerOnWhichNothingIsLeftToDo(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Decision)
		want   bool
	}{
		"a part is refused":              {func(*Decision) {}, true},
		"it is settled":                  {func(d *Decision) { d.Done, d.Plan.Refused = true, nil }, true},
		"an operation is left":           {func(d *Decision) { d.Plan.Ops = []diff.Op{diff.DeleteListener{ID: "l-1"}} }, false},
		"it is not confirmed":            {func(d *Decision) { d.Record.Cloud.Confirmed = false }, false},
		"the whole Service is refused":   {func(d *Decision) { d.Goal.MembersOnly = true }, false},
		"it is being replaced":           {func(d *Decision) { d.Action = Replace }, false},
		"a predecessor":                  {func(d *Decision) { d.Record.Cloud.Observed.Predecessor = &lb.LoadBalancer{ID: "lb-0"} }, false},
		"another one with the same tags": {func(d *Decision) { d.Record.Cloud.Others = []string{"lb-2"} }, false},
	} {
		d := Decision{Action: Converge, Plan: diff.Plan{Refused: []diff.Refusal{{Reason: "SingleStackLoadBalancer"}}}, Record: memory.Record{Cloud: memory.Cloud{
			Known: true, Confirmed: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", ProvisioningStatus: lb.Active}}}}}
		c.change(&d)
		if d.Rests() != c.want {
			t.Errorf("%s: rests %t", name, d.Rests())
		}
	}
}
