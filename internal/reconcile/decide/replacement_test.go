// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestObstacleToAReplacementIsNamed(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	other := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "api", ServiceUID: "uid-2"}
	old := func(edits ...func(*lb.LoadBalancer)) lb.LoadBalancer {
		l := lb.LoadBalancer{ID: "old", Name: owner.LoadBalancerName(), Tags: owner.Tags(), VIP: lb.VIP{PortID: "port-old", Address: "10.0.0.9"},
			Listeners: []lb.Listener{{ID: "l-1", Tags: owner.Tags()}}}
		for _, edit := range edits {
			edit(&l)
		}
		return l
	}
	tagged := lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 26}}
	for name, c := range map[string]struct {
		old  lb.LoadBalancer
		vips []lb.VIP
		can  lb.Capabilities
		want string
	}{
		"none":             {old(), []lb.VIP{{SubnetID: "s"}}, tagged, ""},
		"another port":     {old(), []lb.VIP{{PortID: "port-new"}}, tagged, ""},
		"the same port":    {old(), []lb.VIP{{PortID: "port-old"}}, tagged, "port-old"},
		"the same address": {old(), []lb.VIP{{Address: "10.0.0.9"}}, tagged, "10.0.0.9"},
		"the same additional address": {old(func(l *lb.LoadBalancer) { l.AdditionalVIPs = []lb.VIP{{Address: "fd00::9"}} }),
			[]lb.VIP{{Address: "10.0.0.8"}, {Address: "fd00::9"}}, tagged, "fd00::9"},
		"shared":               {old(func(l *lb.LoadBalancer) { l.Tags = append(l.Tags, other.SharerTags()...) }), nil, tagged, other.LoadBalancerName()},
		"a person's listener":  {old(func(l *lb.LoadBalancer) { l.Listeners[0].Tags = []string{"mine"} }), nil, tagged, "listener l-1"},
		"a cloud without tags": {old(), nil, lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 4}}, "2.5"},
	} {
		got := obstacle(c.old, c.vips, owner, c.can)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// replacing is a Service that requests another flavor than its load balancer has.
type replacing struct {
	f Facts
	d Decision
}

func replacement(action Action, nodes ...string) replacing {
	f := factsOf(web(), nodes...)
	wanted := f.Desired.Wanted
	wanted.LoadBalancer.FlavorID = "gold"
	return replacing{f, Decision{Action: action, Goal: Goal{Wanted: wanted, Input: f.Desired.Input, predecessor: &f.Desired.Input, replaces: action == Replace}}}
}

func (r replacing) plan(o lb.Observed) (diff.Plan, bool) {
	r.f.Record.Cloud.Observed = o
	return planFor(r.f, r.d)
}

func TestReplacementInStepsWhileThePredecessorFollowsTheNodes(t *testing.T) {
	now := replacement(Replace, "10.0.0.11", "10.0.0.12")
	old := factsOf(web(), "10.0.0.11").built("old")
	o := lb.Observed{LoadBalancer: &old, FloatingIPs: []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "port-old"}}}

	// First the members of the old one, then the create, with the tag of a replacement.
	plan, _ := now.plan(o)
	if d := cmp.Diff([]string{"SetMembers", "CreateLoadBalancer"}, kinds(plan.Ops)); d != "" {
		t.Fatalf("(-want +got):\n%s", d)
	}
	create := plan.Ops[1].(diff.CreateLoadBalancer)
	if lb.Replaces(create.LoadBalancer.Tags) != "old" || create.LoadBalancer.FlavorID != "gold" {
		t.Errorf("created: %+v", create.LoadBalancer)
	}
	o = diff.After(o, plan.Ops[1], diff.Created{ID: "new", VIP: lb.VIP{PortID: "port-new"}})
	if o.LoadBalancer.ID != "new" || o.Predecessor == nil || o.Predecessor.ID != "old" {
		t.Fatalf("%+v replaces %+v", o.LoadBalancer, o.Predecessor)
	}

	// While Octavia creates it, the members of the old one are updated.
	now.d.Action, now.d.Goal.replaces = CompleteReplacement, false
	now.d.Goal.Wanted.FloatingIP = &lb.FloatingIP{}
	plan, complete := now.plan(o)
	if d := cmp.Diff([]string{"SetMembers"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +got):\n%s", complete, d)
	}
	if op := plan.Ops[0]; !diff.Within(op, *o.Predecessor) || LockedBy(op, o) != o.Predecessor {
		t.Errorf("%v does not change the old one", op)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if n := len(o.Predecessor.Listeners[0].Pool.Members); n != 2 {
		t.Errorf("the old one has %d members", n)
	}

	// When it is complete, the address moves, and the old one stays for its drain time.
	next := now.f.built("new", lb.ReplacesTag("old"))
	o.LoadBalancer = &next
	plan, complete = now.plan(o)
	if d := cmp.Diff([]string{"AssociateFloatingIP"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +got):\n%s", complete, d)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if plan, complete = now.plan(o); len(plan.Ops) > 0 || !complete {
		t.Fatalf("complete %t, planned: %v", complete, plan.Ops)
	}
	if !HandedOver(now.f.Owner, o) {
		t.Error("the address has not moved")
	}
	plan, _ = now.plan(discard(o, *o.Predecessor))
	if d := cmp.Diff([]string{"delete load balancer old and its children"}, texts(plan.Ops)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFailedReplacementIsDeletedBeforeTheNext(t *testing.T) {
	r := replacement(Replace, "10.0.0.11")
	old := factsOf(web(), "10.0.0.11").built("old")
	plan, _ := r.plan(lb.Observed{LoadBalancer: &old, Duplicates: []string{"failed"}})
	if got := cmp.Diff([]string{"delete load balancer failed and its children"}, texts(plan.Ops)); got != "" {
		t.Errorf("(-want +got):\n%s", got)
	}
	if plan, _ = r.plan(lb.Observed{LoadBalancer: &old, Unsettled: []string{"failed"}}); len(plan.Ops) > 0 {
		t.Errorf("planned: %v", plan.Ops)
	}
}

func TestAdoptedLoadBalancerIsTaggedBeforeItIsReplaced(t *testing.T) {
	old := factsOf(web(), "10.0.0.11").built("old")
	old.Tags = nil
	plan, _ := replacement(Replace, "10.0.0.11").plan(lb.Observed{LoadBalancer: &old})
	if got := cmp.Diff([]string{"UpdateLoadBalancer", "CreateLoadBalancer"}, kinds(plan.Ops)); got != "" {
		t.Errorf("(-want +got):\n%s", got)
	}
}

func TestReplacementsAreCountedUntilTheDesiredStateChanges(t *testing.T) {
	r := replacement(Replace, "10.0.0.11")
	old := factsOf(web(), "10.0.0.11").built("old")
	r.d.Record.Cloud.Observed = lb.Observed{LoadBalancer: &old}
	op := diff.CreateLoadBalancer{LoadBalancer: *r.d.Goal.Wanted.LoadBalancer}
	for i := range 3 {
		after := Applied(r.f, r.d, op, diff.Created{ID: "new"}, nil)
		if c := after.Recovery.Changes; c.Count != i+1 || c.Wait(noon) < r.f.Timing.Replacement.After(i+1) {
			t.Errorf("attempt %d: %+v", i+1, c)
		}
		r.d.Record.Recovery = after.Recovery
	}
	silver := *r.d.Goal.Wanted.LoadBalancer
	silver.FlavorID = "silver"
	r.d.Goal.Wanted.LoadBalancer = &silver
	if c := Applied(r.f, r.d, op, diff.Created{ID: "new"}, nil).Recovery.Changes; c.Count != 1 {
		t.Errorf("counted %d", c.Count)
	}
}

// texts returns the descriptions of the operations.
func texts(ops []diff.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}
