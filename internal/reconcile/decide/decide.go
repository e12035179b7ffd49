// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"errors"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
)

// Decision says what to do now, what to remember, and what to report.
type Decision struct {
	Action Action
	// Need is what is missing for a decision, or empty. If it is set, Plan is empty.
	Need Need
	Goal Goal
	Plan diff.Plan
	// Record is what to remember. Applied updates it for each operation of the plan.
	Record memory.Record
	// Held are operations that the Service's drift policy forbids.
	Held []diff.Op
	// Foreign are the operations that undo changes of another client.
	Foreign []diff.Op
	// Unready names children of the ACTIVE load balancer that are not ready, or is empty.
	Unready string
	// LeftBehind reports whether Octavia left children unfinished permanently.
	LeftBehind bool
	// Complete reports whether a replacement only has to be published.
	Complete bool
	// Done reports whether the cloud has everything that is requested, InSync whether it has
	// everything that is possible, and Postponed whether some work remains for later anyway.
	Done, InSync, Postponed bool
	// Taking are the wanted members that take traffic, or nil if that was not read in this pass. Operations of the plan
	// do not change that.
	Taking map[PodMember]bool
	// Delay is how long to leave the Service alone, or 0.
	Delay time.Duration
}

// Decide decides what to do for the Service now. It requests no need twice in a pass, except NeedDesired: when it
// requests NeedDesired it changes Record, so that it does not request it for the same reason again.
func Decide(f Facts) Decision {
	switch {
	case !f.Owner.Serves:
		return release(f)
	case f.Stop != nil:
		return stopped(f)
	}
	d := addressed(f, resolve(f))
	f.Record = d.Record
	switch {
	case d.Need != "" || !d.Goal.Known:
		return d
	case f.lacksCertificate(d.Goal):
		return d.needs(NeedCertificate)
	case f.lacksMemberStatus(d.Goal):
		return d.needs(NeedStatusTree)
	case f.reached(d):
		d.Done = true
		return d
	case f.lacksRequestedFloatingIP(d.Goal):
		return d.needs(NeedRequestedFloatingIP)
	case f.lacksStatusTree():
		return d.needs(NeedStatusTree)
	}
	d = awaitChildren(f, d)
	if d.Need != "" || d.Action == AwaitChildren {
		return d
	}
	f.Record = d.Record
	if wait := f.rebuildDelay(); wait > 0 {
		d.Action, d.Delay = AwaitRebuild, wait
		return d
	}
	switch l := f.loadBalancer(); {
	case l != nil && l.ProvisioningStatus == lb.Error && f.served():
		return recoverFailed(f, d)
	case d.Action == Replace:
		return replace(f, d)
	case f.failedBeforeServing():
		return rebuild(f, d)
	}
	return noteForeign(f, converge(f, d))
}

// served reports whether the Service ever published an address, so that clients may use it.
func (f Facts) served() bool { return f.Owner.Published() != "" }

// Creates reports whether the load balancer is one that this controller has just created for the Service, in one call,
// and whose address was not published yet: so no client and no other Service uses it.
func (f Facts) Creates() bool {
	l := f.loadBalancer()
	return l != nil && l.ID == f.Record.Cloud.CreatedWithChildren && !f.served()
}

// reached reports whether the desired state was reached before, and no other client has
// changed the load balancer since.
func (f Facts) reached(d Decision) bool {
	was := f.Record.Progress.Reached
	return !f.Preview && !d.Goal.MembersOnly && d.Action == Converge && f.Record.Cloud.Known && !was.None() && was == d.Goal.Wanted.Fingerprint()
}

// resolve determines the goal of this pass, and whether the load balancer has to be replaced
// for it.
func resolve(f Facts) Decision {
	built, o := f.withoutRefusedCertificates(f.Desired.Built), f.observed()
	d := Decision{Action: Converge, Record: f.Record, Goal: Goal{Wanted: built.Wanted, Input: built.Input, Err: built.Err, predecessor: f.Desired.Predecessor}}
	if built.Input.Spec == nil {
		return d
	}
	if o.LoadBalancer != nil && !o.Sharer && (built.Err == nil || requiresReplacement(built.Input) != nil) {
		r := f.replacementFacts()
		d.Action = r.action()
		switch d.Action {
		case CancelReplacement:
			d.Record.Cloud.Observed, d.Need = withoutReplacement(o), NeedDesired
			return d
		case Refuse:
			d.Goal.Err = cannotReplace(desired.RequiresReplacement(built.Err), r.obstacle)
		case PostponeReplacement:
			unchanged := built.Input
			unchanged.Found = nil
			wanted, err := desired.Wanted(unchanged)
			postponed := f.withoutRefusedCertificates(Built{Input: unchanged, Wanted: wanted, Err: err})
			d.Goal.Wanted, d.Goal.Err = postponed.Wanted, postponed.Err
		case Replace:
			if f.Desired.Replacement == nil {
				d.Need = NeedReplacement
				return d
			}
			d.Goal, d.Action = f.replacementGoal(d.Goal)
		}
	}
	d.Record.Progress = replacementProgress(f, d.Action)
	d.Goal = f.limit(d.Goal)
	if d.Goal.Known {
		d.Goal.Digest, d.Goal.Policy = Digest(d.Goal.Input), f.Owner.Spec.Options.Drift
		d.Record.Drift = readDigest(d.Record.Drift, f.Owner)
	}
	return d
}

// limit reduces the goal to the members if the Service is refused or waits for its group, or
// its desired state is unknown.
func (f Facts) limit(g Goal) Goal {
	o := f.observed()
	g.MembersOnly = g.Err != nil
	g.Known = g.Err == nil || o.LoadBalancer != nil
	if errors.As(g.Err, &g.Refused) || errors.As(g.Err, &g.Waits) {
		g.Known, g.Err = true, nil
	}
	if !g.MembersOnly {
		if o.LoadBalancer == nil && g.Wanted.FloatingIP == nil {
			g.Wanted = withRecordedVIP(g.Wanted, f.Owner)
		}
		return g
	}
	g.leaves = f.mustLeave(g)
	if g.leaves {
		g.Wanted = lb.Wanted{KeepFloatingIP: f.Owner.Spec.KeepsFloatingIP()}
		return g
	}
	withheld := g.Wanted.Withheld
	g.Wanted = desired.MembersOnly(g.Input, o)
	if g.Waits != nil {
		g.Wanted.Withheld = withheld // a Service that waits for its group also reports what is withheld
	}
	return g
}

// converge plans what leads to the goal. If nothing is left to do, it confirms that the cloud
// has this state.
func converge(f Facts, d Decision) Decision {
	d.Plan, d.Complete = planFor(f, d)
	switch {
	case f.lacksRequestedAddresses(d):
		return d.needs(NeedRequestedAddresses)
	case f.lacksFloatingIPs(d):
		return d.needs(NeedFloatingIPs)
	}
	if d.Goal.leaves {
		return leave(f, d)
	}
	d = awaitRepeats(f, postponeDiscards(f, d))
	var settled bool
	d, settled = handOver(f, d)
	if settled || d.Need != "" {
		return d
	}
	d, waits := awaitAddress(f, d)
	if waits {
		return d
	}
	d, waits = awaitNodeRules(f, d)
	if waits || d.Need != "" {
		return d
	}
	d, waits = awaitRemoved(f, d)
	if waits {
		return d
	}
	d.Record.Progress.SteadyFor = steady(f, d)
	if l := f.loadBalancer(); len(d.Plan.Ops) == 0 && l != nil && l.ProvisioningStatus == lb.Active && !f.Preview {
		d = confirm(f, d, *l)
		if d.Need != "" {
			return d
		}
		d.InSync = d.Record.Cloud.Confirmed
	}
	return hold(f, d)
}

// planFor returns the plan for the goal. Complete reports whether a replacement only has to
// be published. If there are two load balancers, the one with the traffic comes first.
func planFor(f Facts, d Decision) (plan diff.Plan, complete bool) {
	g, o, owner := d.Goal, f.observed(), f.Identity()
	l, old := o.LoadBalancer, o.Predecessor
	if g.replaces && l != nil {
		return replacementPlan(g, o, owner), false
	}
	plan = diff.New(g.Wanted, o, owner)
	if l == nil || old == nil || g.Wanted.LoadBalancer == nil {
		return plan, false
	}
	plan.Ops = append(keepServing(g, *old, owner), plan.Ops...)
	if Replaces(*l, *old) {
		// The predecessor is deleted later, after the address of the replacement was published.
		all := len(plan.Ops)
		plan.Ops = slices.DeleteFunc(plan.Ops, func(op diff.Op) bool {
			deletion, deletes := op.(diff.DeleteLoadBalancer)
			return deletes && deletion.ID == old.ID
		})
		complete = len(plan.Ops) < all
	}
	return plan, complete
}

// Sequence decides which operations of a plan one pass carries out: all Neutron operations (with provider ovn, see
// awaitsProvider) and one Octavia operation, because Octavia rejects all others until it has ended this one. What needs
// a pool that does not exist yet waits for it. An
// operation that Octavia rejects does not lock the load balancer, so the operations after it that do not depend on it
// are tried. The zero value is the start of a pass.
type Sequence struct {
	// locked is whether Octavia may have begun an operation, rejected whether it rejected one
	// on which others depend, and failed whether any operation failed.
	locked, rejected, failed bool
	// detached is whether a floating IP was detached to make room for another one.
	detached bool
	// opens is whether Octavia may have begun to make a pool or a listener, and addressed whether a floating IP was
	// attached or taken away: see awaitsProvider.
	opens, addressed bool
}

// MayStop reports whether the pass may end here when the controller is stopped. It may not end between the detachment
// of a floating IP and the attachment of the one that takes its place: in between, the Service has no address.
func (s Sequence) MayStop() bool { return !s.detached }

// Ready returns the operation as it is carried out now, or false if the pass skips it.
func (s Sequence) Ready(op diff.Op, observed lb.Observed) (diff.Op, bool) {
	op, ready := onPort(op, observed)
	_, deletes := op.(diff.DeleteLoadBalancer)
	switch {
	case !ready, deletes && s.failed, s.awaitsProvider(op, observed), diff.AwaitsPool(op):
		return op, false
	case op.Octavia():
		return op, !s.locked && (!s.rejected || independent(op, observed))
	}
	return op, true
}

// After returns the sequence after the operation was carried out, or failed.
func (s Sequence) After(op diff.Op, err error) Sequence {
	s.failed = s.failed || err != nil
	detach, detaches := op.(diff.DisassociateFloatingIP)
	s.detached = detaches && detach.For != ""
	s.addressed = s.addressed || movesAddress(op)
	if op.Octavia() {
		s.locked = !rejection(err)
		s.opens = s.opens || s.locked && opens(op)
		s.rejected = s.rejected || !s.locked && holdsUp(op)
	}
	return s
}

// rejection reports whether Octavia rejected an operation, and so did not lock the load balancer.
func rejection(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone:
		return true
	}
	return false
}

// holdsUp reports whether operations after a rejected one depend on it. No operation depends on tags. None depends on
// the deletion of a pool, except that it frees quota.
func holdsUp(op diff.Op) bool {
	switch op.(type) {
	case diff.DeletePool, diff.SetTags:
		return false
	}
	return true
}

// independent reports whether an operation is correct even if those before it failed: members, restrictions, tags, and
// deletions. The pool of the members exists: an operation that awaits its pool is not ready.
func independent(op diff.Op, observed lb.Observed) bool {
	switch op := op.(type) {
	case diff.UpdateListener:
		return op.PoolID == nil
	case diff.SetVIPSecurityGroups:
		return len(op.Groups) > 0
	case diff.SetMembers, diff.DeleteListener:
		return true
	case diff.SetTags:
		return op.ID != ""
	case diff.DeletePool:
		return observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.DetachedPools,
			func(p lb.Pool) bool { return p.ID == op.ID })
	}
	return false
}

// onPort sets the VIP port of a floating IP operation that was planned before the port was known. Ready is false while
// the port is not known, and while another floating IP of the network is attached to the port.
func onPort(op diff.Op, observed lb.Observed) (_ diff.Op, ready bool) {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		op.FloatingIP.PortID = port
		return op, port != ""
	case diff.AssociateFloatingIP:
		op.PortID = port
		return op, port != "" && !diff.PortIsTaken(op, observed)
	}
	return op, true
}
