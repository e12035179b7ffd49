// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package pass makes passes over owners: gather, build, decide, apply, report. Package
// planner reads the facts, and package decide makes the decisions.
package pass

import (
	"context"
	"sync"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/nodegroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/quota"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Options are the dependencies of a Reconciler.
type Options struct {
	Planner *planner.Planner
	// Client writes finalizers, annotations and status. Uncached reads from the API server.
	Client   client.Client
	Uncached client.Reader
	Recorder events.EventRecorder
	Watcher  *octavia.Watcher
	Metrics  *metrics.Metrics
	Logger   logr.Logger
	Memory   *memory.Store
	Timing   timing.Delays
	// Requirements holds what Services require from the nodes' security groups. It is nil if these groups are not
	// managed.
	Requirements *nodegroup.Requirements
	Readiness    *readiness.Gates // nil if readiness gates are not set
	// First has to be started before the first pass.
	First []source.TypedSource[owner.Key]
	// Others names other controllers that serve Services now, "" for none; nil means none.
	Others func() string
	// Enqueue requests a pass over an owner.
	Enqueue func(owner.Key)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Reconciler makes passes over owners. Its queue key stands for a load balancer: see
// queue.go.
type Reconciler struct {
	Options

	conflicts        *conflict.Tracker
	observers        *metrics.ObservedServices
	waiters          *quota.Waiters
	refusedFailovers refusedFailovers
	// refusedNodes are the nodes and addresses for which there was an event that Octavia refuses them as members.
	refusedNodes sync.Map
	due          due
	backoff      workqueue.TypedRateLimiter[owner.Key]
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Others == nil {
		o.Others = func() string { return "" }
	}
	if o.Requirements == nil {
		o.Requirements = nodegroup.NewRequirements(nil)
	}
	conflicts := conflict.New(conflict.Options{Timing: o.Timing, Now: o.Now, Metrics: o.Metrics, Logger: o.Logger})
	return &Reconciler{
		Options: o, conflicts: conflicts, waiters: quota.NewWaiters(), observers: metrics.NewObservedServices(o.Metrics),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[owner.Key](o.Timing.FirstBackoff, o.Timing.LastBackoff),
	}
}

// Settled enqueues the owners of a load balancer on which Octavia has ended its work.
func (r *Reconciler) Settled(id string, head octavia.Head) {
	freed := r.Memory.TakeFreed(id)
	for _, key := range r.Memory.Settle(id, head, r.Now()) {
		r.Enqueue(key)
	}
	if freed {
		r.freed()
	}
}

// subject is what a pass is over: an object in Kubernetes, the kind that adapts it, and the owner that the object was when the
// pass began.
type subject struct {
	kind   claim.Kind
	object client.Object
	began  claim.Owner
}

func newSubject(kind claim.Kind, object client.Object) subject {
	return subject{kind: kind, object: object, began: kind.Owner(object)}
}

// owner returns the owner as the object is now, after the writes of the pass. It requests what it requested when the pass
// began: a write fails if another client has changed the object since.
func (s subject) owner() claim.Owner { return s.kind.Refresh(s.began, s.object) }

// pass makes one pass over an owner. It carries out at most one Octavia operation and never
// waits: while Octavia works, the watcher polls the load balancer and enqueues the owner.
func (r *Reconciler) pass(ctx context.Context, key owner.Key) (reconcile.Result, error) {
	id := openstack.NewRequestID()
	ctx = ctrl.LoggerInto(openstack.WithRequestID(ctx, id), ctrl.LoggerFrom(ctx).WithValues("requestID", id))
	s, f, err := r.begin(ctx, key)
	if err != nil || s.object == nil {
		return retry(err)
	}
	f.RequestID = id
	f, wait := r.awaitConflict(f)
	if wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	done := r.Planner.Observer.AwaitSurvey(ctx, f)
	if done == nil {
		return reconcile.Result{}, nil // the survey requests another pass
	}
	f, err = r.gather(ctx, f)
	done()
	f = r.build(ctx, f, err)
	f, d, err := r.decide(ctx, s, f)
	f, d, o := r.apply(ctx, s, f, d, err)
	return r.report(ctx, s, f, d, o)
}

// begin reads the object and its record from memory. It returns no object if there is nothing to do.
func (r *Reconciler) begin(ctx context.Context, key owner.Key) (subject, decide.Facts, error) {
	object, kind, err := r.Planner.Owners().Get(ctx, key)
	if err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(key)
		}
		return subject{}, decide.Facts{}, client.IgnoreNotFound(err)
	}
	s := newSubject(kind, object)
	of := s.began
	f := r.Planner.Facts(of, r.Memory.Get(key, of.UID), r.Now(), r.Timing)
	if of.Serves {
		resumed, overwritten := r.conflicts.Resume(of)
		r.reportOverwritten(ctx, s, overwritten)
		if resumed {
			// Everything may have changed while work was stopped.
			f.Record.Cloud.Distrust()
			f.Record.Progress.Reached, f.Record.Cloud.Expected = lb.Fingerprint{}, nil
			f.FromMemory = false
			r.Memory.Put(key, f.Record)
		}
	}
	if of.Serves || of.Leaves {
		return s, f, nil
	}
	lost, err := r.lost(ctx, f)
	switch {
	case err != nil:
		return subject{}, decide.Facts{}, err
	case lost:
		// The mark shows the next controller that the owner is ours.
		err = r.claim(ctx, s, f.Record.Cloud.Observed)
		f.Owner = s.owner() // a claimed owner is not released before everything that may be its own was looked for
		return s, f, err
	}
	err = r.retract(ctx, s)
	if err == nil {
		r.forget(key)
	}
	return subject{}, decide.Facts{}, err
}

// lost reports whether the owner lost its mark and is to be released. After a start, memory does not know that: then
// the conditions show it, or else the tags in the cloud. Conditions do not say to which class they belong.
func (r *Reconciler) lost(ctx context.Context, f decide.Facts) (bool, error) {
	switch {
	case !f.Owner.LostMark || r.Planner.Options.Adopt == claim.AdoptObserve:
		return false, nil
	case f.Record.Cloud.Holds(), f.Owner.Recorded.Served:
		return true, nil
	}
	return r.Planner.Observer.HasTagged(ctx, f)
}

// gather reads the owner's cloud objects, unless memory has them.
func (r *Reconciler) gather(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	observes := r.Planner.Options.Adopt == claim.AdoptObserve
	if observes && !f.Owner.Claimed && f.Now.Sub(f.Record.Cloud.Written) >= timing.ObserveInterval {
		f.Record.Cloud.Distrust()
	}
	before := f.Record.Recovery.Discards.Count
	f, err := r.Planner.Observer.Observe(ctx, f)
	if before > 0 && f.Record.Recovery.Discards.Count == 0 {
		r.freed()
	}
	if observes {
		f.Preview = r.Planner.OnlyObserves(f.Owner, f.Record.Cloud.Observed)
	}
	f.FailoverRefused = r.refusedFailovers.of(f.Record.Cloud.Observed.LoadBalancer)
	return f, err
}

// build builds the desired state, unless the cloud could not be read.
func (r *Reconciler) build(ctx context.Context, f decide.Facts, failure error) decide.Facts {
	if failure != nil {
		f.Desired.Err = failure
		return f
	}
	return r.Planner.BuildDesired(ctx, f)
}

// decide decides about the owner.
func (r *Reconciler) decide(ctx context.Context, s subject, f decide.Facts) (decide.Facts, decide.Decision, error) {
	return r.Planner.Decide(ctx, f, func(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, error) {
		return r.provide(ctx, s, f, d)
	})
}

// provide meets the need of a decision: it reads, or stores a certificate.
func (r *Reconciler) provide(ctx context.Context, s subject, f decide.Facts, d decide.Decision) (decide.Facts, error) {
	r.require(f, d.Goal)
	switch d.Need {
	case decide.NeedCertificate:
		if f.Preview {
			return f, nil
		}
		return r.storeCertificate(ctx, s, f, d.Goal.Input.Certificate.Name)
	case decide.NeedNodeRules:
		f.MissingNodeRules = r.missingNodeRules(f)
		return f, nil
	case decide.NeedPredecessor:
		f, err := r.Planner.Provide(ctx, f, d)
		gone, err := openstack.UnlessGone(err)
		if gone {
			f.Record.Cloud.Distrust()
		}
		f.MissingNodeRules = r.missingNodeRules(f)
		return f, err
	}
	return r.Planner.Provide(ctx, f, d)
}

// missingNodeRules says which access that the Service needs is not allowed by the nodes' security group, or returns "".
func (r *Reconciler) missingNodeRules(f decide.Facts) string {
	why, _ := r.Requirements.Unmet(f.Owner.Key, types.UID(f.Identity().ServiceUID))
	return why
}

// require publishes what the Service requires from the nodes' security groups, if that is known. A Service that is only
// observed requires nothing.
func (r *Reconciler) require(f decide.Facts, w decide.Goal) {
	if !f.Owner.Serves || !w.Known || f.Preview {
		return
	}
	if need, ok := desired.SecurityGroupNeed(w.Input, w.Wanted, f.Record.Cloud.Observed); ok {
		l := f.Record.Cloud.Observed.LoadBalancer
		updating := l != nil && l.ProvisioningStatus == lb.PendingUpdate
		r.Requirements.Set(f.Owner.Key, types.UID(f.Identity().ServiceUID), need, updating)
	}
}

func (r *Reconciler) forget(key owner.Key) {
	r.Requirements.Forget(key)
	r.waiters.Leave(key)
	r.conflicts.Forget(key)
	r.observers.Note(key, "")
	r.due.forget(key)
	r.backoff.Forget(key)
	if id := r.Memory.Forget(key); id != "" {
		r.Watcher.Forget(id)
	}
}
