// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

func TestWhatIsInTheWayOfAReplacementIsNamed(t *testing.T) {
	owner := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "web", ServiceUID: "uid-1"}
	guest := lb.Owner{ClusterName: "kubernetes", ClusterUID: "c-1", Namespace: "default", Name: "api", ServiceUID: "uid-2"}
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
		"nothing":          {old(), []lb.VIP{{SubnetID: "s"}}, tagged, ""},
		"another port":     {old(), []lb.VIP{{PortID: "port-new"}}, tagged, ""},
		"the same port":    {old(), []lb.VIP{{PortID: "port-old"}}, tagged, "port-old"},
		"the same address": {old(), []lb.VIP{{Address: "10.0.0.9"}}, tagged, "10.0.0.9"},
		"the additional one's": {old(func(l *lb.LoadBalancer) { l.AdditionalVIPs = []lb.VIP{{Address: "fd00::9"}} }),
			[]lb.VIP{{Address: "10.0.0.8"}, {Address: "fd00::9"}}, tagged, "fd00::9"},
		"a guest":              {old(func(l *lb.LoadBalancer) { l.Tags = append(l.Tags, guest.SharerTags()...) }), nil, tagged, guest.LoadBalancerName()},
		"a person's listener":  {old(func(l *lb.LoadBalancer) { l.Listeners[0].Tags = []string{"mine"} }), nil, tagged, "listener l-1"},
		"a cloud without tags": {old(), nil, lb.Capabilities{APIVersion: lb.Version{Major: 2, Minor: 4}}, "2.5"},
	} {
		got := obstacle(c.old, c.vips, owner, c.can)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// replacing is a Service that is to have another flavor than its load balancer has, with
// these nodes.
type replacing struct {
	f Facts
	d Decision
}

func replacement(action Action, nodes ...string) replacing {
	f := facts(web(), nodes...)
	wanted := f.Desired.Wanted
	wanted.LoadBalancer.FlavorID = "gold"
	return replacing{f, Decision{Action: action, Wish: Wish{Wanted: wanted, Input: f.Desired.Input, old: &f.Desired.Input, replaces: action == Replace}}}
}

func (r replacing) plans(o lb.Observed) (diff.Plan, bool) {
	r.f.Record.Cloud.Observed = o
	return plans(r.f, r.d)
}

func TestAReplacementGoesStepByStepAndTheOldOneFollowsTheNodesAllTheWhile(t *testing.T) {
	now := replacement(Replace, "10.0.0.11", "10.0.0.12")
	old := facts(web(), "10.0.0.11").built("old")
	o := lb.Observed{LoadBalancer: &old, FloatingIPs: []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "port-old"}}}

	// The old one comes first, then the other one is made and says what it is for.
	plan, _ := now.plans(o)
	if d := cmp.Diff([]string{"SetMembers", "CreateLoadBalancer"}, kinds(plan.Ops)); d != "" {
		t.Fatalf("(-want +have): %s", d)
	}
	create := plan.Ops[1].(diff.CreateLoadBalancer)
	if lb.Replaces(create.LoadBalancer.Tags) != "old" || create.LoadBalancer.FlavorID != "gold" {
		t.Errorf("made: %+v", create.LoadBalancer)
	}
	o = diff.After(o, plan.Ops[1], diff.Created{ID: "new", VIP: lb.VIP{PortID: "port-new"}})
	if o.LoadBalancer.ID != "new" || o.Predecessor == nil || o.Predecessor.ID != "old" {
		t.Fatalf("%+v takes the place of %+v", o.LoadBalancer, o.Predecessor)
	}

	// While Octavia builds it the old one goes on following.
	now.d.Action, now.d.Wish.replaces = TakeOver, false
	now.d.Wish.Wanted.FloatingIP = &lb.FloatingIP{}
	plan, complete := now.plans(o)
	if d := cmp.Diff([]string{"SetMembers"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +have): %s", complete, d)
	}
	if op := plan.Ops[0]; !diff.Within(op, *o.Predecessor) || LockedBy(op, o) != o.Predecessor {
		t.Errorf("%v is not about the old one", op)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if n := len(o.Predecessor.Listeners[0].Pool.Members); n != 2 {
		t.Errorf("the old one has %d members", n)
	}

	// When it is complete the address moves, and the old one stays until it is drained.
	next := now.f.built("new", lb.ReplacesTag("old"))
	o.LoadBalancer = &next
	plan, complete = now.plans(o)
	if d := cmp.Diff([]string{"AssociateFloatingIP"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +have): %s", complete, d)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if plan, complete = now.plans(o); len(plan.Ops) > 0 || !complete {
		t.Fatalf("complete %t, planned: %v", complete, plan.Ops)
	}
	if !HandedOver(now.f.Service, o) {
		t.Error("the address is not seen to have moved")
	}
	plan, _ = now.plans(discard(o, *o.Predecessor))
	if d := cmp.Diff([]string{"delete load balancer old and its children"}, said(plan.Ops)); d != "" {
		t.Errorf("(-want +have): %s", d)
	}
}

func TestALoadBalancerThatWasReplacedIsRetiredWhenItHasDrained(t *testing.T) {
	f := facts(web(), "10.0.0.11")
	next, old := f.built("new", lb.ReplacesTag("old")), f.built("old")
	f.Record.Cloud.Observed = lb.Observed{LoadBalancer: &next, Predecessor: &old, FloatingIPs: []lb.FloatingIP{{PortID: "port-new"}}}
	for name, test := range map[string]struct {
		since   time.Time
		retired bool
	}{
		"just handed over": {time.Time{}, false},
		"draining":         {noon.Add(-time.Second), false},
		"drained":          {noon.Add(-f.Timing.Drain), true},
	} {
		f.Record.Recovery.HandedOver = test.since
		r, retired := Retire(f)
		if retired != test.retired || (r.Cloud.Observed.Predecessor == nil) != test.retired || len(r.Cloud.Observed.Duplicates) == 1 != test.retired {
			t.Errorf("%s: retired %t, observed %+v", name, retired, r.Cloud.Observed)
		}
	}
	f.Record.Cloud.Observed.FloatingIPs = []lb.FloatingIP{{PortID: "port-old"}}
	if r, retired := Retire(f); retired || !r.Recovery.HandedOver.IsZero() {
		t.Error("one whose address was moved back is retired, or its time goes on")
	}
}

func TestNoOtherOneIsBuiltBeforeWhatFailedIsGone(t *testing.T) {
	r := replacement(Replace, "10.0.0.11")
	old := facts(web(), "10.0.0.11").built("old")
	plan, _ := r.plans(lb.Observed{LoadBalancer: &old, Duplicates: []string{"failed"}})
	if got := cmp.Diff([]string{"delete load balancer failed and its children"}, said(plan.Ops)); got != "" {
		t.Errorf("(-want +have): %s", got)
	}
	if plan, _ = r.plans(lb.Observed{LoadBalancer: &old, Unsettled: []string{"failed"}}); len(plan.Ops) > 0 {
		t.Errorf("planned: %v", plan.Ops)
	}
}

func TestOneThatWasAdoptedIsMarkedBeforeItIsReplaced(t *testing.T) {
	old := facts(web(), "10.0.0.11").built("old")
	old.Tags = nil
	plan, _ := replacement(Replace, "10.0.0.11").plans(lb.Observed{LoadBalancer: &old})
	if got := cmp.Diff([]string{"UpdateLoadBalancer", "CreateLoadBalancer"}, kinds(plan.Ops)); got != "" {
		t.Errorf("(-want +have): %s", got)
	}
}

func TestAnInternalServiceNamesTheOneThatHasItsAddress(t *testing.T) {
	f := facts(web(), "10.0.0.11")
	next, old := f.built("new", lb.ReplacesTag("old")), f.built("old")
	o := lb.Observed{LoadBalancer: &next, Predecessor: &old}
	named := func(id string) *corev1.Service { return web(annotated(annotation.LoadBalancerID, id)) }
	if HandedOver(named("old"), o) || !HandedOver(named("new"), o) {
		t.Error("the name does not tell which one has the address")
	}
	o.FloatingIPs = []lb.FloatingIP{{PortID: "port-old"}}
	if HandedOver(named("new"), o) {
		t.Error("a floating IP leads to the old one")
	}
}

func TestAttemptsToBuildBesideAreCountedUntilSomethingElseIsWanted(t *testing.T) {
	r := replacement(Replace, "10.0.0.11")
	old := facts(web(), "10.0.0.11").built("old")
	r.d.Record.Cloud.Observed = lb.Observed{LoadBalancer: &old}
	op := diff.CreateLoadBalancer{LoadBalancer: *r.d.Wish.Wanted.LoadBalancer}
	for i := range 3 {
		after := Applied(r.f, r.d, op, diff.Created{ID: "new"}, nil)
		if c := after.Recovery.Changes; c.Count != i+1 || c.Wait(noon) < r.f.Timing.Replacement.After(i+1) {
			t.Errorf("attempt %d: %+v", i+1, c)
		}
		r.d.Record.Recovery = after.Recovery
	}
	silver := *r.d.Wish.Wanted.LoadBalancer
	silver.FlavorID = "silver"
	r.d.Wish.Wanted.LoadBalancer = &silver
	if c := Applied(r.f, r.d, op, diff.Created{ID: "new"}, nil).Recovery.Changes; c.Count != 1 {
		t.Errorf("counted %d", c.Count)
	}
}

func said(ops []diff.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}
