// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// outcome is the result of the apply stage.
type outcome struct {
	decide.Outcome
	// stopped is why the pass ended before there was anything to report, or nil.
	stopped error
	// began is the operation that Octavia has begun, or nil.
	began diff.Op
	// released is whether all cloud objects of the Service are deleted.
	released bool
	// groupLeft says why the Service still has a security group, and nothing else, or is "".
	groupLeft string
}

// apply claims the Service, carries out the decision, and decides again if the desired state may be complete now. The
// parameter failure is why the decision is incomplete, or nil.
func (r *Reconciler) apply(ctx context.Context, s subject, f decide.Facts, d decide.Decision, failure error) (decide.Facts, decide.Decision, outcome) {
	o := outcome{Outcome: decide.Outcome{Failure: failure}}
	if f.Preview {
		return f, d, o
	}
	if d.LeftBehind {
		r.noteLeftBehind(ctx, f)
	}
	r.require(f, d.Goal)
	if d.Claims(f) {
		if d.Action == decide.Stopped {
			r.conflicts.Restored(f.Owner)
		}
		err := r.claim(ctx, s, d.Record.Cloud.Observed)
		f.Owner = s.owner()
		switch {
		case err != nil && d.Action == decide.Stopped:
			o.Failure = errors.Join(failure, err) // the stop is reported all the same
			return f, d, o
		case err != nil:
			o.stopped = err
			return f, d, o
		}
	}
	before := d.Record.Refused
	d.Record.Refused.Again, d.Record.Certificates.Again = false, false
	d, wrote, err := r.carryOut(ctx, s, f, d)
	for tries := 0; decide.RefusedInPart(d.Record) && wrote.octavia == nil && tries < mostRefusals; tries++ {
		f, d, wrote, err = r.withoutRefused(ctx, s, f, d, wrote)
	}
	r.noteRefused(d, before)
	o.Wrote, o.began = wrote.any, wrote.octavia
	f.Record = d.Record
	switch l := d.Record.Cloud.Observed.LoadBalancer; {
	case !f.Owner.Serves && errors.Join(failure, err) == nil && decide.LeftUnseen(d, f.Identity()):
		d.Record.Cloud.Distrust()
		d.Delay = timing.StaleRetry
	case !f.Owner.Serves && errors.Join(failure, err) == nil:
		o, err = r.releaseAll(ctx, s, f, d, o)
	case err == nil && wrote.any && d.Action != decide.Replace && d.Record.Cloud.Known && l != nil && l.ProvisioningStatus == lb.Active:
		// Only Neutron was written, so there is nothing to wait for.
		f, d, err = r.decideAgain(ctx, s, f, d)
	}
	o.Failure = errors.Join(failure, err, r.dropCertificates(ctx, f, d))
	return f, d, o
}

// claim adds the finalizer, so that the owner exists until its load balancer is deleted, and the mark by which the
// controller recognises its owners, whatever their type and class. It is called before the first create. With the
// mark, annotations that were copied from another owner would look like our own output, so the same write removes
// them.
func (r *Reconciler) claim(ctx context.Context, s subject, o lb.Observed) error {
	of := s.owner()
	if of.Claimed {
		return nil
	}
	return r.patch(ctx, s, "add the finalizer", func(annotations map[string]string) {
		if of.Copied {
			ctrl.LoggerFrom(ctx).Info("the Service is a copy: what a controller wrote to the original is removed",
				"original", of.Original, "ignoredLoadBalancerID", o.CopiedID)
			delete(annotations, annotation.Programmed)
			delete(annotations, annotation.LoadBalancerAddress)
			if of.Original != "" {
				delete(annotations, annotation.VIPAddress)
			}
			if o.CopiedID != "" && of.Recorded.LoadBalancerID == o.CopiedID {
				delete(annotations, annotation.LoadBalancerID)
			}
		}
		controllerutil.AddFinalizer(s.object, claim.Finalizer)
		annotations[annotation.Managed] = of.Mark
	})
}

// decideAgain decides once more, to find out whether the desired state is reached.
func (r *Reconciler) decideAgain(ctx context.Context, s subject, f decide.Facts, d decide.Decision) (decide.Facts, decide.Decision, error) {
	f.Now, f.Owner = r.Now(), s.owner()
	f, next, err := r.decide(ctx, s, f)
	next.Delay, next.Postponed = max(d.Delay, next.Delay), d.Postponed || next.Postponed
	return f, next, err
}

// written is what a pass has written to the cloud.
type written struct {
	any bool
	// octavia is the operation that Octavia has begun, or nil.
	octavia diff.Op
}

// carryOut carries out the operations of the plan that decide.Sequence allows. A call that has
// begun is completed even if the controller is stopped.
func (r *Reconciler) carryOut(ctx context.Context, s subject, f decide.Facts, d decide.Decision) (_ decide.Decision, wrote written, _ error) {
	if wait := r.noteForeign(f, d); wait > 0 {
		d.Delay = wait
		return d, wrote, nil
	}
	if l := d.Record.Cloud.Observed.LoadBalancer; d.Action == decide.ReplaceInPlace && (d.Goal.Wanted.FloatingIP == nil || f.Config.AtClusterIP != nil) {
		if err := r.noteVIP(ctx, s, l.VIP); err != nil {
			return d, wrote, err
		}
		f.Owner = s.owner()
	}
	var failures []error
	var sequence decide.Sequence
	for ops := d.Plan.Ops; len(ops) > 0; {
		op, ready := sequence.Ready(ops[0], d.Record.Cloud.Observed)
		ops = ops[1:]
		if !ready {
			continue
		} else if ctx.Err() != nil && sequence.MayStop() {
			// The next controller does the rest. The end of the controller is no failure: what was done is published,
			// above all the id of a new load balancer. Without this id, the deletion of the Service would wait for a
			// create that may be in progress.
			break
		}
		next, err := r.write(context.WithoutCancel(ctx), s, f, d, op)
		d = next
		switch {
		case decide.Rejected(op, d.Record.Cloud.Observed, err):
			d.Delay = timing.StaleRetry
		case err != nil:
			failures = append(failures, err)
		case op.Octavia():
			wrote.any, wrote.octavia = true, op
		default:
			wrote.any = true
		}
		sequence = sequence.After(op, err)
		if instead, ok := decide.Instead(op, d.Record.Cloud.Observed, err); ok {
			ops = append([]diff.Op{instead}, ops...)
		}
	}
	if err := errors.Join(failures...); d.Action == decide.FailOver && err != nil {
		d, err = r.failoverRefused(ctx, f, d, err)
		return d, wrote, err
	}
	return d, wrote, errors.Join(failures...)
}

// mostRefusals is how many times in a pass Octavia may refuse members or certificates. After that, the other operations
// wait for the next pass.
const mostRefusals = 20

// withoutRefused decides and carries out once more, without the members and certificates that Octavia has refused.
func (r *Reconciler) withoutRefused(ctx context.Context, s subject, f decide.Facts, d decide.Decision, before written) (decide.Facts, decide.Decision, written, error) {
	d.Record.Refused.Again, d.Record.Certificates.Again = false, false
	f.Record, f.Now, f.Owner = d.Record, r.Now(), s.owner()
	f = r.Planner.BuildDesired(ctx, f)
	f, d, err := r.decideAgain(ctx, s, f, d)
	if err != nil {
		return f, d, before, err
	}
	d, wrote, err := r.carryOut(ctx, s, f, d)
	f.Record, wrote.any = d.Record, wrote.any || before.any
	return f, d, wrote, err
}

// noteRefused writes an event on each node whose member Octavia has refused, once for all Services: the controller has
// no right to count events that repeat.
func (r *Reconciler) noteRefused(d decide.Decision, before memory.RefusedMembers) {
	for key, m := range d.Record.Refused.Single {
		nodes := d.Goal.Input.Nodes
		at := slices.IndexFunc(nodes, func(n corev1.Node) bool { return n.Name == m.Name })
		if _, known := before.Single[key]; known || at < 0 {
			continue
		}
		if _, told := r.refusedNodes.LoadOrStore(m.Name+" "+key.Address, true); told {
			continue
		}
		r.Recorder.Eventf(&nodes[at], nil, corev1.EventTypeWarning, desired.ReasonMemberRefused, "Reconcile", "%s", status.Note(fmt.Sprintf(
			"Octavia refuses %s as the address of a member, so load balancers cannot send traffic to this node; other nodes are not affected. It said: %s", key.Address, m.Message)))
	}
}

// mayWrite reads what the operation needs to be read again right before it, and returns why the operation must not be
// carried out, or nil.
func (r *Reconciler) mayWrite(ctx context.Context, f decide.Facts, d decide.Decision, op diff.Op) error {
	f.Record = d.Record // with the operations before this one
	now, err := r.Planner.Observer.Reread(ctx, f.NeedsOf(op))
	if err != nil {
		return err
	}
	return f.Obstacle(op, now)
}

// write carries out one operation and remembers its result.
func (r *Reconciler) write(ctx context.Context, s subject, f decide.Facts, d decide.Decision, op diff.Op) (decide.Decision, error) {
	observed := d.Record.Cloud.Observed
	if err := r.mayWrite(ctx, f, d, op); err != nil {
		switch openstack.Classify(err) {
		case openstack.Foreign, openstack.Conflict:
			d.Record.Cloud.Distrust()
		}
		return d, err
	}
	if opened, closesFor := d.ClosesFor(f, op); closesFor {
		if err := r.Planner.Options.Octavia.CheckListener(ctx, opened); err != nil {
			d.Record = decide.Applied(f, d, opened, diff.Created{}, err)
			return d, err
		}
	}
	_, creates := op.(diff.CreateLoadBalancer)
	if creates && d.Action != decide.Replace || f.Owner.Serves && leavesOwn(op, observed, f.Identity()) {
		missing := d.NamedButMissing(f, op)
		if err := r.dropNote(ctx, s); err != nil {
			return d, err
		}
		if missing != "" {
			e := status.NamedButMissing(missing)
			r.Recorder.Eventf(s.object, nil, e.Type, e.Reason, "Create", "%s", e.Message)
		}
	}
	if err := r.withdraw(ctx, s, f, d, diff.Releases(op)); err != nil {
		return d, err
	}
	carryOut := r.Planner.Options.Neutron.Apply
	if op.Octavia() {
		carryOut = r.Planner.Options.Octavia.Apply
	}
	began := r.Now()
	made, err := carryOut(ctx, op)
	f.Now = r.Now()
	r.Metrics.Write(diff.Kind(op), err, f.Now.Sub(began))
	log := ctrl.LoggerFrom(ctx).WithValues("op", diff.Kind(op))
	if l := observed.LoadBalancer; l != nil {
		log = log.WithValues("loadBalancerID", l.ID)
	}
	repairs := err == nil && d.RepairsDrift()
	d.Record = decide.Applied(f, d, op, made, err)
	if err != nil {
		log.Info("operation failed", "what", op.String(), "class", openstack.Classify(err), "error", err.Error())
		return d, err
	}
	log.Info(op.String(), "created", made.ID)
	if repairs {
		d.Delay = max(d.Delay, r.noteRepair(f.Owner, op))
	}
	if _, ok := op.(diff.DeleteFloatingIP); ok {
		r.freed()
	}
	if address := diff.Releases(op); address != "" {
		r.wakeWaitingFor(ctx, f.Owner.Key, address, observed)
	}
	return d, nil
}

// wakeWaitingFor requests a pass over the other Services that request the floating IP that was released.
func (r *Reconciler) wakeWaitingFor(ctx context.Context, from owner.Key, address string, before lb.Observed) {
	id := ""
	for _, f := range before.FloatingIPs {
		if f.Address == address {
			id = f.ID
		}
	}
	waiting, err := r.Planner.Observer.WaitingFor(ctx, address, id)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that request a floating IP that was released", "address", address)
	}
	for _, key := range waiting {
		if key != from {
			r.Enqueue(key)
		}
	}
}

// leavesOwn reports whether the operation removes the Service's mark from its own load balancer, which stays for other
// Services. From then on, the id of the load balancer on the Service would be a request to share it.
func leavesOwn(op diff.Op, observed lb.Observed, owner lb.Owner) bool {
	update, ok := op.(diff.UpdateLoadBalancer)
	return ok && update.Tags != nil && !slices.Contains(*update.Tags, owner.ServiceTag()) && slices.Contains(observed.LoadBalancer.Tags, owner.ServiceTag())
}

// noteRepair counts an operation that repaired a change of another client, and returns how long
// to leave the Service alone because of the conflict.
func (r *Reconciler) noteRepair(of claim.Owner, op diff.Op) (wait time.Duration) {
	r.Metrics.Repaired.WithLabelValues(diff.Object(op)).Inc()
	if op.Octavia() {
		return 0
	}
	r.conflicts.Wrote(of, conflict.Write{Kind: diff.Kind(op), Texts: []string{op.String()}})
	if state := r.conflicts.State(of); state.Stopped {
		return state.Wait(r.Now())
	}
	return 0
}

// noteForeign counts changes of another client in the cloud, and returns how long to wait before
// they are repaired.
func (r *Reconciler) noteForeign(f decide.Facts, d decide.Decision) (wait time.Duration) {
	if len(d.Foreign) == 0 {
		return 0
	}
	var writes []conflict.Write
	for _, op := range d.Foreign {
		writes = append(writes, conflict.Write{Kind: diff.Kind(op), Texts: []string{op.String()}})
	}
	r.conflicts.Wrote(f.Owner, writes...)
	return r.conflicts.State(f.Owner).Wait(r.Now())
}

// noteLeftBehind reports that Octavia left children of the load balancer unfinished. If a
// single-call create made them, load balancers are created step by step from now on.
func (r *Reconciler) noteLeftBehind(ctx context.Context, f decide.Facts) {
	l, log := f.Record.Cloud.Observed.LoadBalancer, ctrl.LoggerFrom(ctx)
	r.Metrics.LeftBehind.Inc()
	log.Info("Octavia left children of the load balancer unfinished; they are replaced or written again",
		"loadBalancerID", l.ID, "children", diff.UnfinishedIDs(*l, f.Identity()))
	if f.Record.Cloud.CreatedWithChildren == l.ID && diff.LeftBehindAtCreation(*l, f.Identity()) && r.Planner.Builder.CreateSerially() {
		log.Info("this cloud leaves children of a single-call create unfinished; from now on load balancers are created step by step")
	}
}
