// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// replaced is a desire for a load balancer of another flavor than "old", which has the
// address, with nodes at these addresses.
func replaced(course course, nodes ...string) desire {
	service := served(func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Protocol: corev1.ProtocolTCP, Port: 80, NodePort: 30080}}
	})
	owner := (&Planner{Policy: claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-1"}}).Owner(service)
	in := build.Input{Service: service, Owner: owner, Capabilities: lb.Capabilities{Provider: "amphora", APIVersion: lb.Version{Major: 2, Minor: 26}}}
	in.Config.Method, in.Networks.VIPSubnetID, in.Networks.MemberSubnetID = "ROUND_ROBIN", "subnet", "subnet"
	for _, address := range nodes {
		in.Nodes = append(in.Nodes, corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: address},
			Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}}})
	}
	wanted, err := build.Wanted(in)
	if err != nil {
		panic(err)
	}
	wanted.LoadBalancer.FlavorID = "gold"
	return desire{input: in, old: in, wanted: wanted, course: course, gathered: true}
}

// built is the wanted load balancer as it is when Octavia has made it.
func (d desire) built(id string, tags ...string) lb.LoadBalancer {
	l := *diff.Clone(lb.Observed{LoadBalancer: d.wanted.LoadBalancer}).LoadBalancer
	l.ID, l.ProvisioningStatus, l.VIP, l.Tags = id, lb.Active, lb.VIP{PortID: "port-" + id}, append(d.input.Owner.Tags(), tags...)
	for i := range l.Listeners {
		l.Listeners[i].ID, l.Listeners[i].Pool.ID = "listener-"+id, "pool-"+id
	}
	return l
}

func kinds(ops []diff.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, diff.Kind(op))
	}
	return all
}

func said(ops []diff.Op) []string {
	var all []string
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}

func TestAReplacementGoesStepByStepAndTheOldOneFollowsTheNodesAllTheWhile(t *testing.T) {
	before, now := replaced(buildBeside, "10.0.0.11"), replaced(buildBeside, "10.0.0.11", "10.0.0.12")
	owner := now.input.Owner
	old := before.built("old")
	floating := []lb.FloatingIP{{ID: "f", Address: "203.0.113.7", PortID: "port-old"}}
	o := lb.Observed{LoadBalancer: &old, FloatingIPs: floating}

	// The old one comes first, then the other one is made and says what it is for.
	plan, _ := now.plans(o, owner)
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
	now.course = takeOver
	now.wanted.FloatingIP = &lb.FloatingIP{}
	plan, complete := now.plans(o, owner)
	if d := cmp.Diff([]string{"SetMembers"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +have): %s", complete, d)
	}
	if op := plan.Ops[0]; !diff.Within(op, *o.Predecessor) || lockedBy(op, o) != o.Predecessor {
		t.Errorf("%v is not about the old one", op)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if n := len(o.Predecessor.Listeners[0].Pool.Members); n != 2 {
		t.Errorf("the old one has %d members", n)
	}

	// When it is complete the address moves, and the old one stays until it is drained.
	next := now.built("new", lb.ReplacesTag("old"))
	o.LoadBalancer = &next
	plan, complete = now.plans(o, owner)
	if d := cmp.Diff([]string{"AssociateFloatingIP"}, kinds(plan.Ops)); d != "" || complete {
		t.Fatalf("complete %t (-want +have): %s", complete, d)
	}
	o = diff.After(o, plan.Ops[0], diff.Created{})
	if plan, complete = now.plans(o, owner); len(plan.Ops) > 0 || !complete {
		t.Fatalf("complete %t, planned: %v", complete, plan.Ops)
	}
	if !handedOver(now.input.Service, o) {
		t.Error("the address is not seen to have moved")
	}
	discard(&o, *o.Predecessor)
	plan, _ = now.plans(o, owner)
	if d := cmp.Diff([]string{"delete load balancer old with everything below it"}, said(plan.Ops)); d != "" {
		t.Errorf("(-want +have): %s", d)
	}
}

func TestNoOtherOneIsBuiltBeforeWhatFailedIsGone(t *testing.T) {
	d := replaced(buildBeside, "10.0.0.11")
	old := d.built("old")
	plan, _ := d.plans(lb.Observed{LoadBalancer: &old, Duplicates: []string{"failed"}}, d.input.Owner)
	if got := cmp.Diff([]string{"delete load balancer failed with everything below it"}, said(plan.Ops)); got != "" {
		t.Errorf("(-want +have): %s", got)
	}
	plan, _ = d.plans(lb.Observed{LoadBalancer: &old, Unsettled: []string{"failed"}}, d.input.Owner)
	if len(plan.Ops) > 0 {
		t.Errorf("planned: %v", plan.Ops)
	}
}

func TestOneThatWasAdoptedIsMarkedBeforeItIsReplaced(t *testing.T) {
	d := replaced(buildBeside, "10.0.0.11")
	old := d.built("old")
	old.Tags = nil
	plan, _ := d.plans(lb.Observed{LoadBalancer: &old}, d.input.Owner)
	if got := cmp.Diff([]string{"UpdateLoadBalancer", "CreateLoadBalancer"}, kinds(plan.Ops)); got != "" {
		t.Errorf("(-want +have): %s", got)
	}
}

func TestAnInternalServiceNamesTheOneThatHasItsAddress(t *testing.T) {
	d := replaced(takeOver, "10.0.0.11")
	next, old := d.built("new", lb.ReplacesTag("old")), d.built("old")
	o := lb.Observed{LoadBalancer: &next, Predecessor: &old}
	named := func(id string) *corev1.Service {
		return served(func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id })
	}
	if handedOver(named("old"), o) || !handedOver(named("new"), o) {
		t.Error("the name does not tell which one has the address")
	}
	o.FloatingIPs = []lb.FloatingIP{{PortID: "port-old"}}
	if handedOver(named("new"), o) {
		t.Error("a floating IP leads to the old one")
	}
}

func TestAttemptsToBuildBesideAreFurtherAndFurtherApartUntilSomethingElseIsWanted(t *testing.T) {
	timing, at := timing.Delays{FirstReplacement: 10 * time.Second, LastReplacement: time.Minute}, time.Unix(0, 0)
	gold, silver := lb.Wanted{LoadBalancer: &lb.LoadBalancer{FlavorID: "gold"}}, lb.Wanted{LoadBalancer: &lb.LoadBalancer{FlavorID: "silver"}}
	var tries besideTries
	last := time.Duration(0)
	for i := range 5 {
		tries.count(gold, at, timing)
		wait := tries.delay(gold, at)
		if tries.built != i+1 || wait < timing.FirstReplacement || wait > timing.LastReplacement*6/5 || i < 3 && wait <= last {
			t.Errorf("attempt %d: counted %d, then %v", i+1, tries.built, wait)
		}
		last = wait
	}
	if wait := tries.delay(silver, at); wait != 0 {
		t.Errorf("something else waits for %v", wait)
	}
	if tries.count(silver, at, timing); tries.built != 1 {
		t.Errorf("counted %d", tries.built)
	}
}
