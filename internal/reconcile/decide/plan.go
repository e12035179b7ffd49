// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// is reports whether the operation has type T.
func is[T diff.Op](op diff.Op) bool {
	_, ok := op.(T)
	return ok
}

// only returns the operations of type T.
func only[T diff.Op](ops []diff.Op) []diff.Op {
	return slices.DeleteFunc(ops, func(op diff.Op) bool { return !is[T](op) })
}

// replacementPlan keeps the load balancer serving and creates a replacement. It tags an
// adopted load balancer first, so that its owner remains known, and deletes replacements that
// failed before it creates another one.
func replacementPlan(g Goal, o lb.Observed, owner lb.Owner) diff.Plan {
	l := *o.LoadBalancer
	tags := only[diff.UpdateLoadBalancer](diff.New(g.Wanted, lb.Observed{LoadBalancer: &l}, owner).Ops)
	plan := diff.Plan{Ops: slices.Concat(tags, keepServing(g, l, owner))}
	for _, id := range o.Duplicates {
		plan.Ops = append(plan.Ops, diff.DeleteLoadBalancer{ID: id})
	}
	for _, withheld := range g.Wanted.Withheld {
		plan.Refused = append(plan.Refused, diff.Refusal(withheld))
	}
	if l.ProvisioningStatus == lb.Active && len(o.Duplicates)+len(o.Unsettled) == 0 {
		plan.Ops = append(plan.Ops, diff.Replacement(g.Wanted, l.ID).Ops...)
	}
	return plan
}

// urgentPlan contains what cannot wait and cannot be rejected while children of the load
// balancer are unfinished: source ranges and members. The members fit the existing monitors.
func urgentPlan(f Facts, d Decision) diff.Plan {
	g, o := d.Goal, f.observed()
	plan := diff.New(g.Wanted, o, f.Identity())
	plan.Ops = urgentOps(g.Wanted, g.Input, o, f.Identity())
	if o.Predecessor != nil {
		plan.Ops = append(keepServing(g, *o.Predecessor, f.Identity()), plan.Ops...)
	}
	return plan
}

// keepServing returns the urgent operations of a load balancer that is being replaced.
func keepServing(g Goal, l lb.LoadBalancer, owner lb.Owner) []diff.Op {
	if g.predecessor == nil {
		return nil // the predecessor was found after the input was gathered
	}
	sources := g.Wanted
	sources.KeepAddress = true
	return urgentOps(sources, *g.predecessor, lb.Observed{LoadBalancer: &l}, owner)
}

func urgentOps(wanted lb.Wanted, members desired.Input, o lb.Observed, owner lb.Owner) []diff.Op {
	return slices.Concat(diff.OnlySources(diff.New(wanted, o, owner).Ops, o.LoadBalancer),
		diff.OnlyMembers(diff.New(desired.MembersOnly(members, o), o, owner).Ops, o.LoadBalancer))
}
