// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// A load balancer that works, but that Octavia cannot change as requested, is replaced
// (blue-green): the replacement is completed while the old one serves, then it gets the
// address, and the old one is deleted after its drain time.

// requiresReplacement says why Octavia cannot change the existing load balancer to the desired
// state; nil if it can.
func requiresReplacement(in desired.Input) *desired.Invalid {
	_, err := desired.Wanted(in)
	return desired.RequiresReplacement(err)
}

// replacementFacts returns what the replacement of the load balancer depends on.
func (f Facts) replacementFacts() replacementFacts {
	o, options := f.observed(), f.Owner.Spec.Options
	l, old := *o.LoadBalancer, o.Predecessor
	r := replacementFacts{fits: desired.RequiresReplacement(f.Desired.Err) == nil, allowed: options.AllowReplacement, hasPredecessor: old != nil}
	switch {
	case old == nil:
		r.obstacle = obstacle(l, []lb.VIP{{PortID: options.PortID}}, f.Identity(), f.Capabilities)
	case f.Desired.Predecessor != nil && Replaces(l, *old) && !HandedOver(f.Owner, o):
		_, err := desired.Wanted(*f.Desired.Predecessor)
		r.replacing, r.predecessorFits = true, err == nil // an error of another kind does not mean that the predecessor fits
		r.obstacle = obstacle(*old, nil, f.Identity(), f.Capabilities)
	}
	if old := o.LoadBalancer; r.obstacle == "" && old.VIPGroupsAreOthers() && len(options.VIPSecurityGroups) == 0 {
		r.obstacle = othersGroups(*old)
	}
	if options.Group != "" {
		r.obstacle = fmt.Sprintf("other Services of group %q may share it; remove the Service from the group first (annotation %s)", options.Group, f.Owner.Spec.Key(annotation.LoadBalancerGroup))
	}
	return r
}

// othersGroups says that a load balancer has security groups of another client. Its replacement would not have these
// groups, and would be open to more clients.
func othersGroups(l lb.LoadBalancer) string {
	return fmt.Sprintf("it has security groups of another client (%s), which a replacement would not have; request them in annotation %s",
		strings.Join(l.VIPSecurityGroups, ", "), annotation.VIPSecurityGroups)
}

// obstacle says why the load balancer cannot be replaced by one with these VIPs, or returns "".
func obstacle(old lb.LoadBalancer, vips []lb.VIP, owner lb.Owner, can lb.Capabilities) string {
	if !can.Has(lb.FeatureTags) {
		return fmt.Sprintf("two load balancers of one Service can be distinguished only with %s", lb.FeatureTags.Needs())
	}
	if users := otherUsers(old, owner); users != "" {
		return "it also has ports of " + users + ", which must be removed first"
	}
	for _, want := range vips {
		for _, have := range append([]lb.VIP{old.VIP}, old.AdditionalVIPs...) {
			switch {
			case want.PortID != "" && want.PortID == have.PortID:
				return fmt.Sprintf("the Service requests port %s for the VIP, and only one load balancer can have it; request another port too", have.PortID)
			case want.Address != "" && want.Address == have.Address:
				return fmt.Sprintf("the Service requests VIP address %s, and only one load balancer can have it; do not request it", have.Address)
			}
		}
	}
	return ""
}

// otherUsers names others that have ports on the Service's load balancer, or returns "".
func otherUsers(l lb.LoadBalancer, owner lb.Owner) string {
	others := slices.DeleteFunc(lb.NameTags(l), func(tag string) bool { return tag == owner.LoadBalancerName() || tag == l.Name })
	if len(others) > 0 {
		return strings.Join(others, " and ")
	}
	for _, listener := range l.Listeners {
		if !owner.OwnsListener(listener) {
			return fmt.Sprintf("the owner of listener %s (%s)", listener.ID, listener.Name)
		}
	}
	if diff.Shared(l, owner) {
		return "another Service"
	}
	return ""
}

// cannotReplace returns the refusal of a change that needs a replacement.
func cannotReplace(refused *desired.Invalid, obstacle string) error {
	solution := fmt.Sprintf("undo the change, or allow a replacement (annotation %s: \"true\")", annotation.AllowReplacement)
	if obstacle != "" {
		solution = "the load balancer cannot be replaced: " + obstacle
	}
	return &desired.Invalid{Reason: refused.Reason, Message: refused.Message + "; " + solution}
}

// replacementGoal makes the replacement the goal, if it can be built and nothing prevents it.
func (f Facts) replacementGoal(g Goal) (Goal, Action) {
	replacement := f.refuse(*f.Desired.Replacement, f.refusals(*f.Desired.Replacement))
	g.Err = replacement.Err
	if g.Err != nil {
		return g, Converge
	}
	l := replacement.Wanted.LoadBalancer
	if why := obstacle(*f.loadBalancer(), append([]lb.VIP{l.VIP}, l.AdditionalVIPs...), f.Identity(), f.Capabilities); why != "" {
		g.Err = cannotReplace(requiresReplacement(g.Input), why)
		return g, Refuse
	}
	g.Wanted, g.predecessor, g.replaces = replacement.Wanted, &f.Desired.Input, true
	return g, Replace
}

// replacementProgress sets the text for the Service's condition that a replacement is being completed, and clears the
// text when this is no longer true.
func replacementProgress(f Facts, action Action) memory.Progress {
	p, o := f.Record.Progress, f.observed()
	switch deleted := len(o.Duplicates)+len(o.Unsettled) == 0; {
	case action == CompleteReplacement:
		p.Reason, p.Trouble = status.ReasonReplacingOnChange, fmt.Sprintf("load balancer %s is created to replace %s, which serves until the replacement is complete%s",
			o.LoadBalancer.ID, o.Predecessor.ID, failedReplacements(f.Record.Recovery.Changes.Count-1))
	case p.Reason == status.ReasonReplacingOnChange && (action == Refuse || action == Converge && deleted):
		p.Reason, p.Trouble = "", ""
	}
	return p
}

// failedReplacements reports how many replacements failed, or returns "".
func failedReplacements(count int) string {
	if count <= 0 {
		return ""
	}
	return fmt.Sprintf("; %d earlier replacements went into ERROR: ask the cloud operator for the reason", count)
}

// replace creates a replacement for a load balancer that cannot be changed and continues to
// serve.
func replace(f Facts, d Decision) Decision {
	r := f.Record.Recovery
	if !r.ChangeTo.EqualExceptMembers(d.Goal.Wanted.Fingerprint()) {
		r.Changes = timing.Tries{}
	}
	d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonReplacingOnChange, fmt.Sprintf(
		"load balancer %s serves, but cannot be changed as requested; a replacement is created%s", f.loadBalancer().ID, failedReplacements(f.Record.Recovery.Changes.Count))
	d.Plan, _ = planFor(f, d)
	d.Record.Cloud.Expected = nil // no other client has caused the difference
	if wait := r.Changes.Wait(f.Now); wait > 0 {
		d.Delay = wait
		d.Plan.Ops = slices.DeleteFunc(d.Plan.Ops, is[diff.CreateLoadBalancer])
	}
	return awaitRepeats(f, postponeDiscards(f, d))
}
