// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// maxRulesWait is how long members wait for the nodes' security group. Afterwards they follow nodes and Pods whether or
// not the group admits their traffic: Pods may have ports of their own, with other groups.
const maxRulesWait = time.Minute

// awaitNodeRules removes updates of members from the plan if the nodes' security group does not admit their traffic
// yet. These are updates with a port that the pool did not use before, for example when Pods replace nodes. Meanwhile
// the existing members follow nodes and Pods, unless that brings such a port, too. It reports whether it removed any
// update.
func awaitNodeRules(f Facts, d Decision) (_ Decision, waits bool) {
	l := f.loadBalancer()
	if !d.Goal.Input.Config.ManageSecurityGroups || f.Preview || l == nil || f.leavesDrift(d.Goal) {
		return d, false
	}
	early := func(op diff.Op) bool {
		set, ok := op.(diff.SetMembers)
		return ok && bringsPort(set, *l)
	}
	switch behind := d.Record.Progress.Behind; {
	case !slices.ContainsFunc(d.Plan.Ops, early), !behind.IsZero() && f.Now.Sub(behind) > maxRulesWait:
		return d, false
	case !f.provided(NeedNodeRules):
		return d.needs(NeedNodeRules), false
	case f.MissingNodeRules == "":
		return d, false
	}
	d.Delay = f.Timing.ChildrenRetry // a change of the rules enqueues the Service earlier
	follow := only[diff.SetMembers](diff.New(desired.MembersOnly(d.Goal.Input, f.observed()), f.observed(), f.Identity()).Ops)
	d.Plan.Ops = append(slices.DeleteFunc(slices.Clone(d.Plan.Ops), early), slices.DeleteFunc(follow, early)...)
	return d, true
}

// bringsPort reports whether a pool that has members gets a member at a port that none of its members has.
func bringsPort(set diff.SetMembers, l lb.LoadBalancer) bool {
	for _, listener := range l.Listeners {
		if p := listener.Pool; p != nil && p.ID == set.PoolID && len(p.Members) > 0 {
			return slices.ContainsFunc(set.Members, func(m lb.Member) bool {
				return !slices.ContainsFunc(p.Members, func(have lb.Member) bool { return have.Port == m.Port })
			})
		}
	}
	return false
}
