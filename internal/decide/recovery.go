// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// A load balancer in ERROR that never served is deleted and created again. One that served is
// failed over or replaced. It is deleted only if a replacement can be created.

// failedBeforeServing reports whether a load balancer of this Service alone went into ERROR
// before the Service published an address.
func (f Facts) failedBeforeServing() bool {
	l := f.loadBalancer()
	return l != nil && l.ProvisioningStatus == lb.Error && !f.served() && f.Capabilities.Marked(*l) && !diff.Shared(*l, f.Owner())
}

// rebuild deletes a load balancer that failed before it served. A floating IP that was requested is attached to the next
// one. Another one is deleted, unless it is to be kept: nobody knows its address yet, and what is not on the Service is not
// found again if the controller is killed.
//
// If it fails again, one of its ports may be the reason, such as members in a subnet that does not exist. Octavia gives no reason
// where a create of everything fails, but it does where it refuses a part. So the next load balancer is created without ports.
func rebuild(f Facts, d Decision) Decision {
	id := f.loadBalancer().ID
	again := "created again"
	if f.Record.Cloud.CreatedWithChildren == id && f.Record.Recovery.Deletions.Count > 0 {
		d.Record.Cloud.CreateWithoutChildren = true
		again += ", without ports at first, because one of them may be the reason"
	}
	d.Action = Rebuild
	d.Record.Progress.Reason, d.Record.Progress.Trouble = status.ReasonFailed,
		fmt.Sprintf("load balancer %s went into ERROR before it served; it is deleted and %s", id, again)
	wanted := lb.Wanted{KeepFloatingIP: annotation.KeepsFloatingIP(f.Service.Annotations, f.Config)}
	if f.Service.Spec.LoadBalancerIP != "" || annotation.Value(f.Service.Annotations, annotation.FloatingIP) != "" {
		wanted = lb.Wanted{KeepAddress: true}
	}
	d.Plan = diff.New(wanted, f.observed(), f.Owner())
	return d
}

// rebuildDelay returns how long to wait before a load balancer that failed before it served is
// deleted or created again, or 0.
func (f Facts) rebuildDelay() time.Duration {
	l := f.loadBalancer()
	missing := l == nil && f.Record.Recovery.Replacements.Count == 0
	failed := l != nil && l.ProvisioningStatus == lb.Error && !f.served()
	if f.Preview || !missing && !failed {
		return 0
	}
	return f.Record.Recovery.Deletions.Wait(f.Now)
}

// recoverFailed does what is possible for a load balancer that served and is in ERROR.
func recoverFailed(f Facts, d Decision) Decision {
	l, r := *f.loadBalancer(), f.Record.Recovery
	if !r.GaveUp.None() && !d.Goal.MembersOnly && !r.GaveUp.EqualExceptMembers(d.Goal.Wanted.Fingerprint()) {
		// The Service was changed: start again.
		r = memory.Recovery{Deletions: r.Deletions, Discards: r.Discards, Changes: r.Changes, ChangeTo: r.ChangeTo, HandedOver: r.HandedOver}
	}
	if f.FailoverRefused != "" {
		r.FailoverRefused = f.FailoverRefused
	}
	f.Record.Recovery, d.Record.Recovery = r, r
	action := f.recoveryFacts(d.Goal, l).action()
	d.Action, d.Record.Progress = action, recoveryProgress(d.Record.Progress, r, action, l)
	switch action {
	case FailOver:
		d.Plan.Ops = []diff.Op{diff.FailoverLoadBalancer{ID: l.ID}}
		return d
	case ReplaceFailed:
		d.Plan = diff.Replacement(d.Goal.Wanted, "")
		return d
	case ReplaceInPlace:
		d.Plan = diff.New(lb.Wanted{KeepAddress: true}, lb.Observed{LoadBalancer: &l}, f.Owner())
		return d
	case GiveUp:
		d.Record.Recovery.GaveUp = d.Goal.Wanted.Fingerprint()
	}
	if d = converge(f, d); action == AwaitRecovery && d.Delay == 0 {
		d.Delay = r.Replacements.Wait(f.Now)
	}
	return d
}

// recoveryFacts returns what the recovery of the load balancer depends on.
func (f Facts) recoveryFacts(g Goal, l lb.LoadBalancer) recoveryFacts {
	r := f.Record.Recovery
	if f.observed().Sharer {
		return recoveryFacts{} // the Service that owns it recovers it
	}
	mayWrite := !f.leavesDrift(g)
	return recoveryFacts{
		canFailOver: mayWrite && f.FailoverRefused == "" && r.FailedOver != l.ID,
		replaceable: mayWrite && f.Capabilities.Marked(l) && !diff.Shared(l, f.Owner()) && !g.MembersOnly && g.Wanted.LoadBalancer != nil,
		movable:     g.Wanted.FloatingIP != nil && !usesGivenPort(g.Wanted) && !takesVIP(g.Wanted, l) && f.Capabilities.Has(lb.FeatureTags),
		attempts:    len(r.Built),
		waits:       r.Replacements.Wait(f.Now) > 0,
	}
}

// takesVIP reports whether the desired load balancer has the VIP address of the existing one, such as a ClusterIP. Only
// one load balancer can have it.
func takesVIP(w lb.Wanted, l lb.LoadBalancer) bool {
	return w.LoadBalancer != nil && w.LoadBalancer.VIP.Address != "" && w.LoadBalancer.VIP.Address == l.VIP.Address
}

// recoveryProgress says for the Service's condition what is done about the load balancer.
func recoveryProgress(p memory.Progress, r memory.Recovery, action Action, l lb.LoadBalancer) memory.Progress {
	trouble := fmt.Sprintf("load balancer %s went into ERROR", l.ID)
	if len(r.Built) > 0 && action != FailOver {
		trouble += fmt.Sprintf(", after %d of %d attempts to replace it (load balancers created for that: %s)", len(r.Built), maxReplacements, strings.Join(r.Built, ", "))
	}
	if r.FailoverRefused != "" && action != FailOver {
		trouble += "; it cannot be failed over: " + r.FailoverRefused
	}
	p.Reason = status.ReasonFailed
	switch action {
	case FailOver:
		trouble += "; Octavia fails it over"
	case AwaitRecovery:
		trouble += "; a replacement is created soon"
	case ReplaceFailed:
		p.Reason = status.ReasonReplacing
		trouble += "; a replacement is created and takes over its address"
	case ReplaceInPlace:
		p.Reason = status.ReasonReplacing
		trouble += "; it is deleted, and a replacement is created with its address " + l.VIP.Address
	case GiveUp:
		p.Reason = status.ReasonReplacementFailed
		trouble += fmt.Sprintf("; the last attempt was request %s. No other attempt is made: ask the cloud operator why load balancers fail. "+
			"Work continues when load balancer %s is ACTIVE or deleted, or the Service is changed", r.RequestID, l.ID)
	default:
		trouble += "; ask the cloud operator for the reason, or delete the Service and create it again"
	}
	p.Trouble = trouble
	return p
}

// FailoverRefused returns the decision after Octavia refused a failover: the next pass, which
// follows at once, does something else.
func FailoverRefused(d Decision, l lb.LoadBalancer, why string) Decision {
	r := &d.Record.Recovery
	r.FailedOver, r.FailoverRefused = l.ID, why
	d.Record.Progress = recoveryProgress(d.Record.Progress, *r, AwaitRecovery, l)
	d.Plan.Ops = nil
	return d
}
