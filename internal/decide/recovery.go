// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// A load balancer in ERROR that never served is deleted, and another one is built. One that
// served is failed over, or else replaced; what it is deleted for has to be known.

// failedAtBirth reports whether a load balancer of ours went into ERROR before the Service
// ever had an address.
func (f Facts) failedAtBirth() bool {
	l := f.loadBalancer()
	return l != nil && l.ProvisioningStatus == lb.Error && !f.served() && f.Capabilities.Marked(*l) && !diff.Shared(*l, f.Owner())
}

// rebuild deletes a load balancer that failed at birth. A floating IP that was asked for by
// its address may be a person's, and could not be got back: it is kept.
func rebuild(f Facts, d Decision) Decision {
	d.Action = Rebuild
	d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonFailed, fmt.Sprintf("load balancer %s went into ERROR while Octavia built it; it is deleted and another one is built", f.loadBalancer().ID)
	asked := f.Service.Spec.LoadBalancerIP != "" || f.Service.Annotations[annotation.FloatingIP] != ""
	d.Plan = diff.New(lb.Wanted{KeepFloatingIP: asked || annotation.KeepsFloatingIP(f.Service.Annotations, f.Config)}, f.observed(), f.Owner())
	return d
}

// awaitsRebuild reports whether it is too early to build another load balancer in the place
// of one that failed at birth, and decides so.
func (f Facts) awaitsRebuild(d *Decision) bool {
	l := f.loadBalancer()
	replaced := l == nil && f.Record.Recovery.Replacements.Count > 0
	missing := l == nil || l.ProvisioningStatus == lb.Error && !f.served()
	if f.Preview || !missing || replaced {
		return false
	}
	wait := f.Record.Recovery.Deletions.Wait(f.Now)
	if wait > 0 {
		d.Action, d.Delay = AwaitRebuild, wait
	}
	return wait > 0
}

// recovery does what can be done about a load balancer that served and failed.
func recovery(f Facts, d Decision) Decision {
	l, r := *f.loadBalancer(), f.Record.Recovery
	if r.GaveUp != nil && !d.Wish.MembersOnly && !EqualButMembers(*r.GaveUp, d.Wish.Wanted) {
		r = restarted(r)
	}
	if f.FailoverRefused != "" {
		r.FailoverRefused = f.FailoverRefused
	}
	f.Record.Recovery = r
	d.Action = f.failure(d.Wish, l).action()
	d.Record.Recovery = r
	d.Record.Progress = told(d.Record.Progress, r, d.Action, l)
	switch d.Action {
	case FailOver:
		d.Plan.Ops = []diff.Op{diff.FailoverLoadBalancer{ID: l.ID}}
		return d
	case ReplaceFailed:
		d.Plan = diff.Replacement(d.Wish.Wanted, "")
		return d
	case ReplaceInPlace:
		d.Plan = diff.New(lb.Wanted{KeepAddress: true}, lb.Observed{LoadBalancer: &l}, f.Owner())
		return d
	}
	action, wait := d.Action, r.Replacements.Wait(f.Now)
	if action == GiveUp {
		wanted := d.Wish.Wanted
		d.Record.Recovery.GaveUp = &wanted
	}
	if d = follow(f, d); action == AwaitRecovery && d.Delay == 0 {
		d.Delay = wait
	}
	return d
}

// restarted forgets the attempts to recover.
func restarted(r memory.Recovery) memory.Recovery {
	return memory.Recovery{Deletions: r.Deletions, Discards: r.Discards, Changes: r.Changes, ChangeTo: r.ChangeTo, HandedOver: r.HandedOver}
}

// failure gathers what it depends on how the load balancer recovers.
func (f Facts) failure(w Wish, l lb.LoadBalancer) failure {
	r := f.Record.Recovery
	if f.observed().Sharer {
		return failure{} // the Service that owns it is to recover it
	}
	mayWrite := !f.leavesDrift(w)
	return failure{
		canFailOver: mayWrite && f.FailoverRefused == "" && r.FailedOver != l.ID,
		replaceable: mayWrite && f.Capabilities.Marked(l) && !diff.Shared(l, f.Owner()) && !w.MembersOnly && w.Wanted.LoadBalancer != nil,
		movable:     w.Wanted.FloatingIP != nil && !onGivenPort(w.Wanted) && f.Capabilities.Has(lb.FeatureTags),
		attempts:    r.Replacements.Count,
		waits:       r.Replacements.Wait(f.Now) > 0,
	}
}

// told says what is done about the load balancer, for its Service's condition.
func told(p memory.Progress, r memory.Recovery, action Action, l lb.LoadBalancer) memory.Progress {
	failed := fmt.Sprintf("load balancer %s went into ERROR", l.ID)
	before := ""
	if len(r.Built) > 0 {
		before = fmt.Sprintf(", after %d of %d attempts to replace it (load balancers built for that: %s)", r.Replacements.Count, mostReplacements, strings.Join(r.Built, ", "))
	}
	if r.FailoverRefused != "" {
		before += "; no failover: " + r.FailoverRefused
	}
	p.Reason = status.ReasonFailed
	switch action {
	case FailOver:
		p.Trouble = failed + "; Octavia fails it over"
	case AwaitRecovery:
		p.Trouble = failed + before + "; another one takes its place soon"
	case ReplaceFailed:
		p.Reason, p.Trouble = status.ReasonReplacing, failed+before+"; another one is built beside it and takes over its address"
	case ReplaceInPlace:
		p.Reason, p.Trouble = status.ReasonReplacing, failed+before+"; it is deleted and another one gets its address "+l.VIP.Address
	case GiveUp:
		p.Reason, p.Trouble = status.ReasonReplacementFailed, fmt.Sprintf("%s%s; the last attempt was request %s. A person has to look: ask the cloud's operator why load balancers fail. "+
			"It goes on when load balancer %s is ACTIVE again or deleted, or the Service is changed", failed, before, r.RequestID, l.ID)
	default:
		p.Trouble = failed + before + "; ask the cloud's operator for the reason, or delete the Service and create it again"
	}
	return p
}

// FailoverRefused is what is decided after Octavia refused a failover: the next pass, which
// comes at once, does something else.
func FailoverRefused(d Decision, l lb.LoadBalancer, why string) Decision {
	r := &d.Record.Recovery
	r.FailedOver, r.FailoverRefused = l.ID, why
	d.Record.Progress = told(d.Record.Progress, *r, AwaitRecovery, l)
	d.Plan.Ops = nil
	return d
}
