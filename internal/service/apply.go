// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/conflict"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// outcome is what came of a pass.
type outcome struct {
	decide.Outcome
	// stopped is why the pass ended before there was anything to report, or nil.
	stopped error
	// released is whether the Service has nothing in the cloud any more.
	released bool
	// groupLeft says why it still has a security group, and nothing else, or is "".
	groupLeft string
}

// apply claims the Service, carries out what was decided, and decides anew where that may
// have led to what is wanted. Failure is why not all could be decided, or nil.
func (r *Reconciler) apply(ctx context.Context, f decide.Facts, d decide.Decision, failure error) (decide.Facts, decide.Decision, outcome) {
	o := outcome{Outcome: decide.Outcome{Failure: failure}}
	if f.Preview {
		return f, d, o
	}
	if d.LeftBehind {
		r.noteLeftBehind(ctx, f)
	}
	r.require(f, d.Wish)
	if f.Serves && (d.Record.Cloud.Holds() || d.Wish.Known && !d.Wish.MembersOnly) {
		// One that is refused and has nothing is not claimed: it can go at any time.
		if o.stopped = r.claim(ctx, f.Service); o.stopped != nil {
			return f, d, o
		}
	}
	d, wrote, err := r.carryOut(ctx, f, d)
	o.Wrote = wrote
	f.Record = d.Record
	switch l := d.Record.Cloud.Observed.LoadBalancer; {
	case !f.Serves && errors.Join(failure, err) == nil:
		o, err = r.releaseAll(ctx, f, d, o)
	case err == nil && wrote && d.Action != decide.Replace && d.Record.Cloud.Known && l != nil && l.ProvisioningStatus == lb.Active:
		// Neutron has done its part at once, and there is nothing to wait for.
		f, d, err = r.decideAgain(ctx, f, d)
	}
	o.Failure = errors.Join(failure, err, r.dropCertificates(ctx, f, d))
	return f, d, o
}

// claim adds the finalizer, so that the Service stays until its load balancer is deleted, and
// the mark by which the controller knows its Services whatever their type and class. It comes
// before the first create.
func (r *Reconciler) claim(ctx context.Context, service *corev1.Service) error {
	if r.Claimed(service) {
		return nil
	}
	return r.patch(ctx, service, "add the finalizer", func() {
		controllerutil.AddFinalizer(service, claim.Finalizer)
		service.Annotations[annotation.Managed] = r.Mark(service)
	})
}

// decideAgain decides once more, to see whether the cloud has all that is wanted now.
func (r *Reconciler) decideAgain(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, decide.Decision, error) {
	f.Now = r.Now()
	f, next, err := r.Decide(ctx, f, r.provide)
	next.Delay, next.Postponed = max(d.Delay, next.Delay), d.Postponed || next.Postponed
	return f, next, err
}

// carryOut carries out the Neutron ops of the plan and the first Octavia op: Octavia refuses
// any other until it has ended that one. What Octavia refuses locks nothing, so that ops
// which do not depend on it have their turn. An op in hand is carried to its end although
// the controller is told to stop.
func (r *Reconciler) carryOut(ctx context.Context, f decide.Facts, d decide.Decision) (_ decide.Decision, wrote bool, _ error) {
	if wait := r.noteForeign(f, d); wait > 0 {
		d.Delay = wait
		return d, false, nil
	}
	if l := d.Record.Cloud.Observed.LoadBalancer; d.Action == decide.ReplaceInPlace && d.Wish.Wanted.FloatingIP == nil {
		if err := r.noteVIP(ctx, f.Service, l.VIP); err != nil {
			return d, false, err
		}
	}
	var failures []error
	octaviaDone, refused := false, false
	for _, op := range d.Plan.Ops {
		observed := d.Record.Cloud.Observed
		op, ready := onPort(op, observed)
		_, deletes := op.(diff.DeleteLoadBalancer)
		switch {
		case !ready, deletes && len(failures) > 0, op.Octavia() && octaviaDone:
			continue
		case op.Octavia() && refused && !standsAlone(op, observed):
			continue
		case ctx.Err() != nil:
			return d, wrote, ctx.Err()
		}
		next, err := r.write(context.WithoutCancel(ctx), f, d, op)
		if d = next; err != nil {
			failures = append(failures, err)
		}
		wrote = wrote || err == nil
		if op.Octavia() {
			refused = refused || refusal(err) && holdsUp(op)
			octaviaDone = !refusal(err)
		}
	}
	if err := errors.Join(failures...); d.Action == decide.FailOver && err != nil {
		d, err = r.failoverRefused(ctx, d, err)
		return d, wrote, err
	}
	return d, wrote, errors.Join(failures...)
}

// mayDelete looks, before a load balancer is deleted that was not just read in full, whether
// others have ports on it. It is an error if they have.
func (r *Reconciler) mayDelete(ctx context.Context, f decide.Facts, o lb.Observed, op diff.Op) error {
	end, deletes := op.(diff.DeleteLoadBalancer)
	if !deletes {
		return nil
	}
	if head := o.LoadBalancer; head != nil && head.ID == end.ID && head.ProvisioningStatus == lb.Active {
		return nil
	}
	l, err := r.Octavia.Get(ctx, end.ID)
	if err == nil {
		l, err = r.Octavia.Observe(ctx, l)
	}
	switch {
	case openstack.Classify(err) == openstack.Gone:
		return nil
	case err != nil:
		return err
	case diff.Shared(l, f.Owner()):
		return openstack.NewForeign(fmt.Sprintf("delete load balancer %s, which is in %s", l.ID, l.ProvisioningStatus),
			"another Service has ports on it; it can be deleted when it has none, or repaired by the cloud's operator")
	}
	return nil
}

// sameTags looks, before the tags of a load balancer are written that others use, too, or
// any tags that were not read in this pass, whether they are what they were when the plan
// was made: Octavia takes all of them at once, and one that somebody has set since would be
// lost. So it does before a load balancer that has served gets a floating IP: an internal
// Service may have come to share it.
func (r *Reconciler) sameTags(ctx context.Context, f decide.Facts, o lb.Observed, op diff.Op) error {
	l := o.LoadBalancer
	switch {
	case l == nil:
		return nil
	case opens(op) && f.Remembered && l.ProvisioningStatus == lb.Active && r.Capabilities.Has(lb.FeatureTags):
	case !setsTags(op) || !f.Remembered && !f.Owner().Sharer && !diff.Shared(*l, f.Owner()):
		return nil
	}
	var now, before []string
	if of, ok := op.(diff.SetTags); ok {
		tags, err := r.Octavia.Tags(ctx, l.ID, of)
		if err != nil {
			return err
		}
		now, before = tags, tagsOf(*l, of.ID)
	} else {
		head, err := r.Octavia.Get(ctx, l.ID)
		if err != nil {
			return err
		}
		now, before = head.Tags, l.Tags
	}
	if slices.Equal(slices.Sorted(slices.Values(now)), slices.Sorted(slices.Values(before))) {
		return nil
	}
	return &openstack.Error{Op: op.String(), Class: openstack.Conflict, Message: "another client has changed the tags meanwhile"}
}

// opens reports whether the op lets clients from outside reach a load balancer.
func opens(op diff.Op) bool {
	_, creates := op.(diff.CreateFloatingIP)
	_, attaches := op.(diff.AssociateFloatingIP)
	return creates || attaches
}

// setsTags reports whether the op sets tags of what is there already.
func setsTags(op diff.Op) bool {
	update, ok := op.(diff.UpdateLoadBalancer)
	_, child := op.(diff.SetTags)
	return child || ok && update.Tags != nil
}

// tagsOf returns the tags of a listener or a pool of the load balancer.
func tagsOf(l lb.LoadBalancer, id string) []string {
	for _, listener := range l.Listeners {
		switch {
		case listener.ID == id:
			return listener.Tags
		case listener.Pool != nil && listener.Pool.ID == id:
			return listener.Pool.Tags
		}
	}
	for _, p := range l.DetachedPools {
		if p.ID == id {
			return p.Tags
		}
	}
	return nil
}

// refusal reports whether Octavia refused an op, and so did not lock the load
// balancer.
func refusal(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone:
		return true
	}
	return false
}

// holdsUp reports whether an op that was refused holds up those after it. The end of
// a pool frees room at most; nothing else depends on it, and nothing at all on tags.
func holdsUp(op diff.Op) bool {
	switch op.(type) {
	case diff.DeletePool, diff.SetTags:
		return false
	}
	return true
}

// standsAlone reports whether an op is right whatever became of those before it:
// membership of pools that are there, restrictions, tags, and the end of what nobody
// wants.
func standsAlone(op diff.Op, observed lb.Observed) bool {
	switch op := op.(type) {
	case diff.SetMembers:
		return op.PoolID != ""
	case diff.UpdateListener:
		return op.PoolID == nil
	case diff.DeleteListener:
		return true
	case diff.SetTags:
		return op.ID != ""
	case diff.DeletePool:
		return observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.DetachedPools,
			func(p lb.Pool) bool { return p.ID == op.ID })
	}
	return false
}

// onPort completes a floating IP op that was planned before the VIP port was
// known. It is not ready while there is none.
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
		return op, port != ""
	}
	return op, true
}

// write carries out one op and notes what it leads to.
func (r *Reconciler) write(ctx context.Context, f decide.Facts, d decide.Decision, op diff.Op) (decide.Decision, error) {
	observed := d.Record.Cloud.Observed
	if err := errors.Join(r.mayDelete(ctx, f, observed, op), r.sameTags(ctx, f, observed, op)); err != nil {
		switch openstack.Classify(err) {
		case openstack.Foreign, openstack.Conflict:
			d.Record.Cloud.Known = false
		}
		return d, err
	}
	if _, creates := op.(diff.CreateLoadBalancer); creates && d.Action != decide.Replace {
		if err := r.dropNote(ctx, f.Service); err != nil {
			return d, err
		}
	}
	carryOut := r.Neutron.Apply
	if op.Octavia() {
		carryOut = r.Octavia.Apply
	}
	began := r.Now()
	made, err := carryOut(ctx, op)
	f.Now = r.Now()
	r.Metrics.Write(diff.Kind(op), err, f.Now.Sub(began))
	log := ctrl.LoggerFrom(ctx).WithValues("op", diff.Kind(op))
	if l := observed.LoadBalancer; l != nil {
		log = log.WithValues("loadBalancerID", l.ID)
	}
	repairs := err == nil && decide.Repairs(d)
	d.Record = decide.Applied(f, d, op, made, err)
	if err != nil {
		log.Info("op failed", "what", op.String(), "class", openstack.Classify(err), "error", err.Error())
		return d, err
	}
	log.Info(op.String(), "created", made.ID)
	if repairs {
		d.Delay = max(d.Delay, r.noteRepair(f.Service, op))
	}
	if _, ok := op.(diff.DeleteFloatingIP); ok {
		r.freed()
	}
	return d, nil
}

// noteRepair counts an op that made up for what another client did, and returns for how long
// the Service is to be left alone for that.
func (r *Reconciler) noteRepair(service *corev1.Service, op diff.Op) (wait time.Duration) {
	r.Metrics.Repaired.WithLabelValues(diff.Object(op)).Inc()
	if op.Octavia() {
		return 0
	}
	r.conflicts.Wrote(service, conflict.Write{Kind: diff.Kind(op), Texts: []string{op.String()}})
	if state := r.conflicts.State(service); state.Stopped {
		return state.Wait
	}
	return 0
}

// noteForeign notes what another client changed in the cloud, and returns for how long that
// is to stay as it is now.
func (r *Reconciler) noteForeign(f decide.Facts, d decide.Decision) (wait time.Duration) {
	if len(d.Foreign) == 0 {
		return 0
	}
	var writes []conflict.Write
	for _, op := range d.Foreign {
		writes = append(writes, conflict.Write{Kind: diff.Kind(op), Texts: []string{op.String()}})
	}
	r.conflicts.Wrote(f.Service, writes...)
	return r.conflicts.State(f.Service).Wait
}

// noteLeftBehind notes that Octavia left parts of the load balancer unfinished. Where those
// are parts that one call made, it is said once that the cloud does that.
func (r *Reconciler) noteLeftBehind(ctx context.Context, f decide.Facts) {
	l, log := f.Record.Cloud.Observed.LoadBalancer, ctrl.LoggerFrom(ctx)
	r.Metrics.LeftBehind.Inc()
	log.Info("Octavia left parts of the load balancer unfinished; they are replaced, or written to once more",
		"loadBalancerID", l.ID, "parts", diff.UnfinishedIDs(*l, f.Owner()))
	if f.Record.Cloud.MadeComplete == l.ID && diff.LeftBehindAtCreation(*l, f.Owner()) && r.LeavesParts() {
		log.Info("this cloud leaves parts of load balancers unfinished that are created by one call; from now on they are created step by step")
	}
}
