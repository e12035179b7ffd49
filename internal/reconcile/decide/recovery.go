// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// A load balancer in ERROR that never served is deleted and created again. One that served is
// failed over or replaced. It is deleted only if a replacement can be created.

// failedBeforeServing reports whether a load balancer of this Service alone went into ERROR
// before the Service published an address.
func (f Facts) failedBeforeServing() bool {
	l := f.loadBalancer()
	return l != nil && l.ProvisioningStatus == lb.Error && !f.served() && f.Capabilities.Marked(*l) && !diff.Shared(*l, f.Identity())
}

// rebuild deletes a load balancer that failed before it served. A floating IP that was requested is attached to the
// next one. Any other floating IP is deleted, unless it is to be kept: no client knows its address yet, and a floating
// IP that is not noted on the Service would not be found again if the controller is killed.
//
// If it fails again, one of its ports may be the reason, such as members in a subnet that does not exist. Octavia gives
// no reason if the create of everything together fails. But it gives a reason if it refuses a single part. So the next
// load balancer is created without ports.
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
	wanted := lb.Wanted{KeepFloatingIP: f.Owner.Spec.KeepsFloatingIP()}
	if f.Owner.Spec.LoadBalancerIP != "" || annotation.Value(f.Owner.Spec.Annotations, annotation.FloatingIP) != "" {
		wanted = lb.Wanted{KeepAddress: true}
	}
	d.Plan = diff.New(wanted, f.observed(), f.Identity())
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
	if !r.LastingFor.None() && !d.Goal.MembersOnly && !r.LastingFor.EqualExceptMembers(d.Goal.Wanted.Fingerprint()) {
		// The Service was changed: start again.
		r = memory.Recovery{Deletions: r.Deletions, Discards: r.Discards, Changes: r.Changes, ChangeTo: r.ChangeTo, HandedOver: r.HandedOver}
	}
	if f.FailoverRefused != "" {
		r.FailoverRefused = f.FailoverRefused
	}
	f.Record.Recovery, d.Record.Recovery = r, r
	if len(r.Built) >= quickReplacements && !d.Goal.MembersOnly {
		d.Record.Recovery.LastingFor = d.Goal.Wanted.Fingerprint()
	}
	facts := f.recoveryFacts(d.Goal, l)
	action := facts.action()
	d.Action, d.Record.Progress = action, recoveryProgress(d.Record.Progress, r, action, facts.replaceable, l)
	if f.leavesToOwner(l) {
		d.Record.Progress.Trouble = ownerRecovers(f, l)
	}
	switch action {
	case FailOver:
		d.Plan.Ops = []diff.Op{diff.FailoverLoadBalancer{ID: l.ID}}
		return d
	case ReplaceFailed:
		d.Plan = diff.Replacement(d.Goal.Wanted, "")
		return d
	case ReplaceInPlace:
		d.Plan = diff.New(lb.Wanted{KeepAddress: true}, lb.Observed{LoadBalancer: &l}, f.Identity())
		return d
	}
	// Replacements that failed are deleted before the wait, one load balancer in each pass.
	d = converge(f, d)
	if action == AwaitRecovery && d.Delay == 0 && len(d.Plan.Ops) == 0 {
		d.Delay = f.recoveryWait(facts.replaceable)
	}
	return d
}

// recoveryFacts returns what the recovery of the load balancer depends on.
func (f Facts) recoveryFacts(g Goal, l lb.LoadBalancer) recoveryFacts {
	r := f.Record.Recovery
	if f.leavesToOwner(l) {
		return recoveryFacts{}
	}
	mayWrite := !f.leavesDrift(g)
	replaceable := mayWrite && f.Capabilities.Marked(l) && !diff.Shared(l, f.Identity()) && !g.MembersOnly && g.Wanted.LoadBalancer != nil &&
		!losesGroups(g.Wanted, l)
	return recoveryFacts{
		canFailOver: mayWrite && f.FailoverRefused == "",
		failedOver:  r.FailedOver == l.ID,
		replaceable: replaceable,
		movable:     g.Wanted.FloatingIP != nil && !usesGivenPort(g.Wanted) && !takesVIP(g.Wanted, l) && f.Capabilities.Has(lb.FeatureTags),
		waits:       f.recoveryWait(replaceable) > 0,
	}
}

// leavesToOwner reports whether another Service owns the load balancer and recovers it. If the owner has left, each
// Service that still shares the load balancer may request a failover.
func (f Facts) leavesToOwner(l lb.LoadBalancer) bool {
	return f.observed().Sharer && !f.Identity().Abandoned(l)
}

// recoveryWait returns how long to wait before the next replacement, or before another failover.
func (f Facts) recoveryWait(replaceable bool) time.Duration {
	if replaceable {
		return f.Record.Recovery.Replacements.Wait(f.Now)
	}
	return f.Record.Recovery.Failovers.Wait(f.Now)
}

// replacedAgain returns the count of attempts to replace the failed load balancer, after one more attempt.
func (f Facts) replacedAgain(r memory.Recovery) timing.Tries {
	if len(r.Built) < quickReplacements-1 {
		return r.Replacements.Again(f.Now, f.Timing.Replacement)
	}
	return r.Replacements.Again(f.Now, timing.Backoff{First: f.Timing.LastingFailure, Last: f.Timing.LastingFailure})
}

// failedOver returns the record after a failover of the load balancer was requested.
func failedOver(f Facts, r memory.Recovery, id string) memory.Recovery {
	r.FailedOver, r.FailoverRefused = id, ""
	r.Failovers = r.Failovers.Again(f.Now, timing.Backoff{First: f.Timing.LastingFailure, Last: f.Timing.LastingFailure})
	return r
}

// losesGroups reports whether the existing load balancer has security groups of another client, and the desired one has
// none, so that it would be open to more clients.
func losesGroups(w lb.Wanted, l lb.LoadBalancer) bool {
	return w.LoadBalancer != nil && l.VIPGroupsAreOthers() && len(w.LoadBalancer.VIPSecurityGroups) == 0
}

// takesVIP reports whether the desired load balancer has the VIP address of the existing one, such as a ClusterIP. Only
// one load balancer can have it.
func takesVIP(w lb.Wanted, l lb.LoadBalancer) bool {
	return w.LoadBalancer != nil && w.LoadBalancer.VIP.Address != "" && w.LoadBalancer.VIP.Address == l.VIP.Address
}

// ownerRecovers returns a text for the condition of a Service that shares the failed load balancer: which Service
// recovers it.
func ownerRecovers(f Facts, l lb.LoadBalancer) string {
	var others []string
	for _, tag := range lb.NameTags(l) {
		name := f.Identity().ServiceNamed([]string{tag})
		if name != "" && name != f.Identity().NamespacedName() {
			others = append(others, name)
		}
	}
	if len(others) == 0 {
		return fmt.Sprintf("load balancer %s went into ERROR; ask the cloud operator for the reason", l.ID)
	}
	return fmt.Sprintf("load balancer %s, which is shared with Service %s, went into ERROR; condition Programmed of the Service that owns it says what is done about it",
		l.ID, strings.Join(others, ", "))
}

// recoveryProgress returns the texts for the Service's condition that say what is done about the load balancer.
func recoveryProgress(p memory.Progress, r memory.Recovery, action Action, replaceable bool, l lb.LoadBalancer) memory.Progress {
	trouble := fmt.Sprintf("load balancer %s went into ERROR", l.ID)
	if len(r.Built) > 0 && action != FailOver {
		trouble += fmt.Sprintf(", after attempts to replace it (load balancers created last for that: %s)", strings.Join(r.Built, ", "))
	}
	if r.FailoverRefused != "" && action != FailOver {
		trouble += "; it cannot be failed over: " + r.FailoverRefused
	}
	p.Reason = status.ReasonFailed
	lasting := len(r.Built) >= quickReplacements
	switch {
	case action == FailOver:
		trouble += "; Octavia fails it over"
	case action == AwaitRecovery && !replaceable:
		trouble += "; a failover was requested and has not helped, and another one is requested every hour. Ask the cloud operator why load balancers fail"
	case action == AwaitRecovery && lasting:
		p.Reason = status.ReasonReplacementFailed
		trouble += fmt.Sprintf("; the last attempt was request %s, and another one is made every hour. Ask the cloud operator why load balancers fail. "+
			"Work continues at once when load balancer %s is ACTIVE or deleted, or the Service requests another one, such as with another port", r.RequestID, l.ID)
	case action == AwaitRecovery:
		trouble += "; a replacement is created soon"
	case action == ReplaceFailed:
		p.Reason = status.ReasonReplacing
		trouble += "; a replacement is created and takes over its address"
	case action == ReplaceInPlace:
		p.Reason = status.ReasonReplacing
		trouble += "; it is deleted, and a replacement is created with its address " + l.VIP.Address
	default:
		trouble += "; ask the cloud operator for the reason, or delete the Service and create it again"
		if l.VIPGroupsAreOthers() {
			trouble += ". It is not replaced while " + othersGroups(l)
		}
	}
	p.Trouble = trouble
	return p
}

// FailoverRefused returns the decision after Octavia refused a failover: the next pass, which
// follows at once, does something else.
func FailoverRefused(f Facts, d Decision, l lb.LoadBalancer, why string) Decision {
	d.Record.Recovery = failedOver(f, d.Record.Recovery, l.ID)
	d.Record.Recovery.FailoverRefused = why
	d.Record.Progress = recoveryProgress(d.Record.Progress, d.Record.Recovery, AwaitRecovery, true, l)
	d.Plan.Ops = nil
	return d
}
