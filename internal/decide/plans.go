// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// besidePlan marks a load balancer as ours if it bears no mark yet, without which nobody
// would know later whose it is, keeps it serving, and builds another one beside it. That
// waits until those that were built before and failed are gone.
func besidePlan(w Wish, o lb.Observed, owner lb.Owner) diff.Plan {
	l := *o.LoadBalancer
	marks := slices.DeleteFunc(diff.New(w.Wanted, lb.Observed{LoadBalancer: &l}, owner).Ops, func(op diff.Op) bool {
		_, marks := op.(diff.UpdateLoadBalancer)
		return !marks
	})
	plan := diff.Plan{Ops: slices.Concat(marks, keepServing(w, l, owner))}
	for _, id := range o.Duplicates {
		plan.Ops = append(plan.Ops, diff.DeleteLoadBalancer{ID: id})
	}
	for _, withheld := range w.Wanted.Withheld {
		plan.Refused = append(plan.Refused, diff.Refusal(withheld))
	}
	if l.ProvisioningStatus == lb.Active && len(o.Duplicates)+len(o.Unsettled) == 0 {
		plan.Ops = append(plan.Ops, diff.Replacement(w.Wanted, l.ID).Ops...)
	}
	return plan
}

// urgent plans what cannot wait and cannot be refused while parts of the load balancer are
// not ready: who may connect, and that pools follow the nodes. Members are those of the
// monitors that the pools have, which stay as they are for now.
func urgent(f Facts, d Decision) diff.Plan {
	w, o := d.Wish, f.observed()
	plan := diff.New(w.Wanted, o, f.Owner())
	plan.Ops = urgentOps(w.Wanted, w.Input, o, f.Owner())
	if o.Predecessor != nil {
		plan.Ops = append(keepServing(w, *o.Predecessor, f.Owner()), plan.Ops...)
	}
	return plan
}

// keepServing plans what cannot wait of a load balancer that carries traffic until another
// one takes its place.
func keepServing(w Wish, l lb.LoadBalancer, owner lb.Owner) []diff.Op {
	if w.old == nil {
		return nil // it was seen after what its members depend on was gathered
	}
	sources := w.Wanted
	sources.KeepAddress = true
	return urgentOps(sources, *w.old, lb.Observed{LoadBalancer: &l}, owner)
}

func urgentOps(wanted lb.Wanted, members build.Input, o lb.Observed, owner lb.Owner) []diff.Op {
	return slices.Concat(diff.OnlySources(diff.New(wanted, o, owner).Ops, o.LoadBalancer),
		diff.OnlyMembers(diff.New(build.MembersOnly(members, o), o, owner).Ops, o.LoadBalancer))
}

// Stopped decides about a Service on which work has stopped, since another controller writes
// to the same: its pools follow the nodes, if these changed since they last did. What that
// controller made of the members is no reason to.
func Stopped(f Facts) Decision {
	d := Decision{Action: Follow, Record: f.Record, Wish: Wish{Input: f.Desired.Input, Policy: f.options().Drift}}
	o, before := f.observed(), f.observed()
	if b := f.Record.Cloud.Believed; b != nil {
		before = *b
	}
	if len(onlyMembers(f.Desired.Input, before, f.Owner())) > 0 {
		d.Plan.Ops = onlyMembers(f.Desired.Input, o, f.Owner())
		d.Record.Cloud.Believed = nil
	}
	return d
}

func onlyMembers(in build.Input, o lb.Observed, owner lb.Owner) []diff.Op {
	return slices.DeleteFunc(diff.New(build.MembersOnly(in, o), o, owner).Ops, func(op diff.Op) bool {
		_, members := op.(diff.SetMembers)
		return !members
	})
}
