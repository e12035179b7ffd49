// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// reporter is the common part of testing.T and rapid.T.
type reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// convergence runs passes as the controller does: plan, carry out the Neutron ops and the first Octavia op, wait,
// and again. It checks everything that must never happen meanwhile.
type convergence struct {
	reporter
	cloud  *cloud
	wanted lb.Wanted
	start  lb.Observed
	// decide, if set, returns before each plan what is wanted now; see gets each plan.
	decide func(lb.Observed) lb.Wanted
	see    func(Plan, lb.Observed)
	// closed is the number of a port that was just closed to change its protocol, or 0.
	closed int
	// passes are the ops of each pass, as text.
	passes [][]string
}

// converge returns the first plan. It ends with an empty plan, after at most as many passes as the first plan has
// ops; otherwise the test fails. Of listeners that share a pool, only the last one keeps and changes it.
func (j *convergence) converge() Plan {
	j.Helper()
	j.cloud.settle()
	j.start = j.cloud.observe()
	first := j.plan()
	limit := len(first.Ops) + 4*j.sharers()
	if unmarked(j.wanted, j.start, j.cloud.owner) {
		// Floating IPs wait for the mark: one is attached and tagged, others are deleted.
		limit += 3
	}
	if l := j.wanted.LoadBalancer; l != nil {
		// A leftover pool may be reused instead of a new one, and have other tags.
		limit += len(l.Listeners)
	}
	if f := j.wanted.FloatingIP; f != nil && len(f.Tags) > 0 {
		limit++ // Neutron sets tags afterwards
	}
	serially := j.start.LoadBalancer == nil && (j.wanted.Serial || j.wanted.LoadBalancer != nil && losesAddress(*j.wanted.LoadBalancer))
	// Ports that a monitor blocks are planned once it is deleted.
	if l := j.wanted.LoadBalancer; l != nil && (serially || j.wanted.KeepMonitors) {
		// Pool, members, monitor and listener.
		limit += 4 * len(l.Listeners)
	}
	for plan, passes := first, 0; len(plan.Ops) > 0; plan, passes = j.plan(), passes+1 {
		if passes > limit {
			j.Fatalf("after %d passes there is still to do: %v\nfirst plan: %v\npasses: %s", passes, plan.Ops, first.Ops, j)
		}
		j.pass(plan)
	}
	j.checkResult()
	return first
}

// String lists the passes.
func (j *convergence) String() string {
	var text strings.Builder
	for i, ops := range j.passes {
		fmt.Fprintf(&text, "\n  pass %d: %s", i+1, strings.Join(ops, "; "))
	}
	return text.String()
}

// plan plans twice and checks that planning does not change its inputs.
func (j *convergence) plan() Plan {
	j.Helper()
	observed := j.cloud.observe()
	if j.decide != nil {
		j.wanted = j.decide(j.cloud.observe())
	}
	plan := New(j.wanted, observed, j.cloud.owner)
	if before := j.cloud.observe(); !reflect.DeepEqual(before, observed) {
		j.Fatalf("New has changed what was observed (-before +after):\n%s", gocmp.Diff(before, observed))
	}
	again := New(j.wanted, observed, j.cloud.owner)
	if !reflect.DeepEqual(plan, again) {
		j.Fatalf("planned twice:\n%v\n%v", plan, again)
	}
	if j.see != nil {
		j.see(plan, observed)
	}
	return plan
}

func (j *convergence) pass(plan Plan) {
	j.Helper()
	before, predicted := j.cloud.balancer, j.cloud.observe()
	octavia := false
	j.passes = append(j.passes, nil)
	for _, op := range plan.Ops {
		op, ready := j.complete(op)
		if op.Octavia() && octavia || !ready {
			continue
		}
		octavia = octavia || op.Octavia()
		j.passes[len(j.passes)-1] = append(j.passes[len(j.passes)-1], op.String())
		j.step(op, &predicted)
	}
	j.idleWhilePending()
	j.cloud.settle()
	born := before == nil && j.cloud.balancer != nil
	if now := promised(j.cloud.observe(), born); asJSON(j, now) != asJSON(j, promised(predicted, born)) {
		j.Fatalf("After does not tell what the cloud has (-cloud +After):\n%s%s", gocmp.Diff(now, promised(predicted, born)), j)
	}
}

// complete sets the VIP port of a floating IP op, as the controller does.
func (j *convergence) complete(op Op) (_ Op, ready bool) {
	port := ""
	if j.cloud.balancer != nil {
		port = j.cloud.balancer.VIP.PortID
	}
	switch op := op.(type) {
	case CreateFloatingIP:
		op.FloatingIP.PortID = port
		return op, port != ""
	case AssociateFloatingIP:
		op.PortID = port
		return op, port != ""
	}
	return op, true
}

func (j *convergence) step(op Op, predicted *lb.Observed) {
	j.Helper()
	before := j.cloud.observe()
	made, err := j.cloud.apply(op)
	if err != nil {
		j.Fatalf("the cloud refuses %T (%v): %v%s", op, op, err, j)
	}
	after := j.cloud.observe()
	if before.LoadBalancer != nil && after.LoadBalancer != nil {
		still := *before.LoadBalancer
		still.ProvisioningStatus = after.LoadBalancer.ProvisioningStatus
		if _, deletes := op.(DeleteLoadBalancer); !deletes && reflect.DeepEqual(lb.Observed{LoadBalancer: &still, FloatingIPs: before.FloatingIPs, Duplicates: before.Duplicates}, after) {
			j.Errorf("%T (%v) changes nothing", op, op)
		}
	}
	untouched := asJSON(j, *predicted)
	next := After(*predicted, op, made)
	if now := asJSON(j, *predicted); now != untouched {
		j.Fatalf("After(%T) has changed what it was given (-before +after):\n%s", op, gocmp.Diff(untouched, now))
	}
	*predicted = next
	j.keepsTags(op, before, after)
	j.guard(op)
}

// asJSON returns everything that was observed, including what pointers refer to.
func asJSON(t reporter, o lb.Observed) string {
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return string(text)
}

// idleWhilePending checks that nothing is planned for a PENDING load balancer.
func (j *convergence) idleWhilePending() {
	j.Helper()
	o := j.cloud.observe()
	if o.LoadBalancer == nil || !o.LoadBalancer.ProvisioningStatus.Pending() {
		return
	}
	for _, op := range New(j.wanted, o, j.cloud.owner).Ops {
		if deletion, ok := op.(DeleteLoadBalancer); op.Octavia() && !(ok && slices.Contains(o.Duplicates, deletion.ID)) {
			j.Errorf("planned while the load balancer is %s: %v", o.LoadBalancer.ProvisioningStatus, op)
		}
	}
}

// promised returns what After promises, in a fixed order: no statuses, no ids of members, and no ids of a new load
// balancer's children.
func promised(o lb.Observed, born bool) lb.Observed {
	o = Clone(o)
	slices.SortFunc(o.FloatingIPs, func(a, b lb.FloatingIP) int { return strings.Compare(a.ID, b.ID) })
	if o.LoadBalancer == nil {
		return o
	}
	o.LoadBalancer.ProvisioningStatus = ""
	slices.SortFunc(o.LoadBalancer.DetachedPools, func(a, b lb.Pool) int { return strings.Compare(a.ID, b.ID) })
	for i := range o.LoadBalancer.Listeners {
		if born {
			o.LoadBalancer.Listeners[i].ID = ""
		}
	}
	eachPool(o.LoadBalancer, func(p *lb.Pool) {
		p.Members = slices.Clone(p.Members)
		for i := range p.Members {
			p.Members[i].ID = ""
		}
		slices.SortFunc(p.Members, func(a, b lb.Member) int {
			return cmp.Or(strings.Compare(a.Address, b.Address), a.Port-b.Port)
		})
		if born {
			p.ID = ""
		}
		if born && p.Monitor != nil {
			m := *p.Monitor
			m.ID = ""
			p.Monitor = &m
		}
	})
	return o
}
