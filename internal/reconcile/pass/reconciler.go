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

	corev1 "k8s.io/api/core/v1"
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
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Options are the dependencies of a Reconciler.
type Options struct {
	*planner.Planner
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
	// Enqueue requests a pass over a Service.
	Enqueue func(owner.Key)
	// Now returns the time; nil means time.Now.
	Now func() time.Time
}

// Reconciler makes passes over Services. Its queue key stands for a load balancer: see
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
	o.Client = patching{o.Client, o.Timing.KubernetesLimit, conflicts.Track}
	return &Reconciler{
		Options: o, conflicts: conflicts, waiters: quota.NewWaiters(), observers: metrics.NewObservedServices(o.Metrics),
		backoff: workqueue.NewTypedItemExponentialFailureRateLimiter[owner.Key](o.Timing.FirstBackoff, o.Timing.LastBackoff),
	}
}

// Settled enqueues the Services of a load balancer on which Octavia has ended its work.
func (r *Reconciler) Settled(id string, head octavia.Head) {
	freed := r.Memory.TakeFreed(id)
	for _, key := range r.Memory.Settle(id, head, r.Now()) {
		r.Enqueue(key)
	}
	if freed {
		r.freed()
	}
}

// pass makes one pass over the Service. It carries out at most one Octavia operation and never
// waits: while Octavia works, the watcher polls the load balancer and enqueues the Service.
func (r *Reconciler) pass(ctx context.Context, key owner.Key) (reconcile.Result, error) {
	id := openstack.NewRequestID()
	ctx = ctrl.LoggerInto(openstack.WithRequestID(ctx, id), ctrl.LoggerFrom(ctx).WithValues("requestID", id))
	f, err := r.begin(ctx, key)
	if err != nil || f.Service == nil {
		return retry(err)
	}
	f.RequestID = id
	if result, yields, err := r.yield(ctx, f); yields {
		return result, err
	}
	done := r.AwaitSurvey(ctx, f)
	if done == nil {
		return reconcile.Result{}, nil // the survey requests another pass
	}
	f, err = r.gather(ctx, f)
	done()
	f = r.build(ctx, f, err)
	f, d, err := r.Decide(ctx, f, r.provide)
	f, d, o := r.apply(ctx, f, d, err)
	return r.report(ctx, f, d, o)
}

// begin reads the Service and its record from memory. It returns no Service if there is
// nothing to do.
func (r *Reconciler) begin(ctx context.Context, key owner.Key) (decide.Facts, error) {
	service := &corev1.Service{}
	if err := r.Reader.Get(ctx, nameOf(key), service); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(key)
		}
		return decide.Facts{}, client.IgnoreNotFound(err)
	}
	f := r.Facts(service, r.Memory.Get(key, service.UID), r.Now(), r.Timing)
	if f.Serves {
		resumed, overwritten := r.conflicts.Resume(service)
		if r.reportOverwritten(ctx, service, overwritten); resumed {
			// Everything may have changed while work was stopped.
			f.Record.Cloud.Known, f.Record.Progress.Reached, f.Record.Cloud.Expected = false, lb.Fingerprint{}, nil
			f.FromMemory = false
			r.Memory.Put(key, f.Record)
		}
	}
	if f.Serves || r.Leaves(service) {
		return f, nil
	}
	lost, err := r.lost(ctx, f)
	switch {
	case err != nil:
		return decide.Facts{}, err
	case lost:
		// The mark shows the next controller that the Service is ours.
		return f, r.claim(ctx, service, f.Record.Cloud.Observed)
	}
	err = r.retract(ctx, service)
	if err == nil {
		r.forget(key)
	}
	return decide.Facts{}, err
}

// lost reports whether the Service lost its mark and is to be released. After a start, memory does not know that: then
// the conditions show it, or else the tags in the cloud. Conditions do not say to which class they belong.
func (r *Reconciler) lost(ctx context.Context, f decide.Facts) (bool, error) {
	switch {
	case !claim.LostMark(f.Service) || r.Adopt == claim.AdoptObserve:
		return false, nil
	case f.Record.Cloud.Holds(), r.DefaultClass && status.Served(f.Service):
		return true, nil
	}
	return r.HasTagged(ctx, f)
}

// gather reads the Service's cloud objects, unless memory has them.
func (r *Reconciler) gather(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	observes := r.Adopt == claim.AdoptObserve
	if observes && f.Now.Sub(f.Record.Cloud.Written) >= timing.ObserveInterval {
		f.Record.Cloud.Known = f.Record.Cloud.Known && r.Claimed(f.Service)
	}
	before := f.Record.Recovery.Discards.Count
	f, err := r.Observe(ctx, f)
	if before > 0 && f.Record.Recovery.Discards.Count == 0 {
		r.freed()
	}
	if observes {
		f.Preview = r.OnlyObserves(f.Service, f.Record.Cloud.Observed)
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
	return r.BuildDesired(ctx, f)
}

// provide meets the need of a decision: it reads, or stores a certificate.
func (r *Reconciler) provide(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, error) {
	r.require(f, d.Goal)
	switch d.Need {
	case decide.NeedCertificate:
		if f.Preview {
			return f, nil
		}
		return r.storeCertificate(ctx, f, d.Goal.Input.Certificate.Name)
	case decide.NeedNodeRules:
		f.MissingNodeRules = r.missingNodeRules(f)
		return f, nil
	case decide.NeedPredecessor:
		f, err := r.Provide(ctx, f, d)
		gone, err := openstack.UnlessGone(err)
		f.Record.Cloud.Known = f.Record.Cloud.Known && !gone
		f.MissingNodeRules = r.missingNodeRules(f)
		return f, err
	}
	return r.Provide(ctx, f, d)
}

// missingNodeRules says which access that the Service needs is not allowed by the nodes' security group, or returns "".
func (r *Reconciler) missingNodeRules(f decide.Facts) string {
	why, _ := r.Requirements.Unmet(keyOf(f.Service), types.UID(f.Owner().ServiceUID))
	return why
}

// require publishes what the Service requires from the nodes' security groups, if that is known. A Service that is only
// observed requires nothing.
func (r *Reconciler) require(f decide.Facts, w decide.Goal) {
	if !f.Serves || !w.Known || f.Preview {
		return
	}
	if need, ok := desired.SecurityGroupNeed(w.Input, w.Wanted, f.Record.Cloud.Observed); ok {
		l := f.Record.Cloud.Observed.LoadBalancer
		updating := l != nil && l.ProvisioningStatus == lb.PendingUpdate
		r.Requirements.Set(keyOf(f.Service), types.UID(f.Owner().ServiceUID), need, updating)
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

func keyOf(service *corev1.Service) owner.Key {
	return owner.ServiceKey(service.Namespace, service.Name)
}

// nameOf returns the name by which the API server and the caches know the owner.
func nameOf(key owner.Key) types.NamespacedName {
	return types.NamespacedName{Namespace: key.Namespace, Name: key.Name}
}
