// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service makes the passes over Services: it gathers, decides, writes to the cloud
// and reports. What is decided is in package decide, what is read in package planner.
//
// It may import planner and what that imports, nodegroup and conflict.
package service

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/conflict"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Options is what a Reconciler is made of.
type Options struct {
	Planner *planner.Planner
	// Client writes finalizers, annotations and status; Uncached reads what the cache
	// does not have.
	Client   client.Client
	Uncached client.Reader
	Recorder events.EventRecorder
	Watcher  *octavia.Watcher
	Metrics  *metrics.Metrics
	Logger   logr.Logger
	Memory   *memory.Store
	Timing   timing.Delays
	// Requirements takes what Services need of the nodes' security group; nil where none
	// is managed.
	Requirements Requirements
	// Enqueue asks for a pass over a Service.
	Enqueue func(types.NamespacedName)
	// Now is the time; nil stands for time.Now.
	Now func() time.Time
}

// Requirements takes what Services need of the nodes' security group. It is safe for
// concurrent use.
type Requirements interface {
	// Set notes what a Service needs. The same as before changes nothing.
	Set(types.NamespacedName, types.UID, securitygroup.Need)
	// Unmet says what is not let in yet, or "", and whether that is since it failed.
	Unmet(types.NamespacedName, types.UID) (why string, failed bool)
	// Release gives up what a Service needs. Gone is whether nothing is left of it; else
	// why says what is in the way, if anything is.
	Release(types.NamespacedName, types.UID) (gone bool, why string)
	// Forget drops a Service that is gone.
	Forget(types.NamespacedName)
	// Passed notes the end of a pass.
	Passed()
}

// Reconciler makes passes over Services. Its queue key stands for a load balancer: see
// sharing.go.
type Reconciler struct {
	Options
	*planner.Planner

	own              *conflict.OwnWrites
	conflicts        *conflict.Tracker
	observers        *observers
	waiters          *quota.Waiters
	refusedFailovers refusedFailovers
	due              due
}

// New returns a Reconciler.
func New(o Options) *Reconciler {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Requirements == nil {
		o.Requirements = noRequirements{}
	}
	own := conflict.NewOwnWrites()
	o.Client = patching{o.Client, o.Timing.KubernetesLimit, own}
	return &Reconciler{
		Options: o, Planner: o.Planner, own: own, waiters: quota.NewWaiters(), observers: newObservers(o.Metrics),
		conflicts: conflict.New(conflict.Options{Timing: o.Timing, Now: o.Now, Metrics: o.Metrics, Logger: o.Logger}),
	}
}

// Settled looks after the Services of a load balancer on which Octavia has ended its work.
func (r *Reconciler) Settled(id string, head octavia.Head) {
	freed := r.Memory.TakeFreed(id)
	for _, key := range r.Memory.Settle(id, head, r.Now()) {
		r.Enqueue(key)
	}
	if freed {
		r.freed()
	}
}

// noRequirements is for nodes whose security groups are not managed.
type noRequirements struct{}

func (noRequirements) Set(types.NamespacedName, types.UID, securitygroup.Need) {}
func (noRequirements) Unmet(types.NamespacedName, types.UID) (string, bool)    { return "", false }
func (noRequirements) Release(types.NamespacedName, types.UID) (bool, string)  { return true, "" }
func (noRequirements) Forget(types.NamespacedName)                             {}
func (noRequirements) Passed()                                                 {}

// pass makes one pass over the Service: it gathers, decides, carries out at most one Octavia
// op, and reports. It never waits: while Octavia is at work the watcher has the load balancer
// and brings the Service back.
func (r *Reconciler) pass(ctx context.Context, key types.NamespacedName) (reconcile.Result, error) {
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
	f, err = r.gather(ctx, f)
	f = r.build(ctx, f, err)
	f, d, err := r.Decide(ctx, f, r.provide)
	f, d, o := r.apply(ctx, f, d, err)
	return r.report(ctx, f, d, o)
}

// begin reads the Service and what is remembered of it. It returns no Service where there is
// nothing to do for it.
func (r *Reconciler) begin(ctx context.Context, key types.NamespacedName) (decide.Facts, error) {
	service := &corev1.Service{}
	if err := r.Reader.Get(ctx, key, service); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(key)
		}
		return decide.Facts{}, client.IgnoreNotFound(err)
	}
	f := r.Facts(service, r.Memory.Recall(key, service.UID), r.Now(), r.Timing)
	lost := f.Record.Cloud.Holds() && claim.LostMark(service) && r.Adopt != claim.AdoptObserve
	if f.Serves {
		resumed, overwritten := r.conflicts.Resume(service)
		if r.reportOverwritten(ctx, service, overwritten); resumed {
			// What was known may not be true any more in any respect.
			f.Record.Cloud.Known, f.Record.Progress.Reached, f.Record.Cloud.Believed = false, nil, nil
			f.FromMemory = false
			r.Memory.Put(key, f.Record)
		}
	}
	if f.Serves || r.Leaves(service) {
		return f, nil
	} else if lost {
		// With the mark, the next controller knows it, too; and comes back for it.
		return f, r.claim(ctx, service)
	}
	err := r.retract(ctx, service)
	if err == nil {
		r.forget(key)
	}
	return decide.Facts{}, err
}

// gather reads what the Service has in the cloud.
func (r *Reconciler) gather(ctx context.Context, f decide.Facts) (decide.Facts, error) {
	observes := r.Adopt == claim.AdoptObserve
	if observes && f.Now.Sub(f.Record.Cloud.Written) >= lookAgain {
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

// build builds what the Service is to have, unless the cloud could not be read.
func (r *Reconciler) build(ctx context.Context, f decide.Facts, failure error) decide.Facts {
	if failure != nil {
		f.Desired.Err = failure
		return f
	}
	return r.BuildDesired(ctx, f)
}

// provide reads what a decision needs, and stores certificates.
func (r *Reconciler) provide(ctx context.Context, f decide.Facts, d decide.Decision) (decide.Facts, error) {
	r.require(f, d.Goal)
	switch d.Need {
	case decide.NeedCertificate:
		if f.Preview {
			return f, nil
		}
		return r.storeCertificate(ctx, f, d.Goal.Input.Certificate.Name)
	case decide.NeedPredecessor:
		f, err := r.Provide(ctx, f, d)
		gone, err := openstack.UnlessGone(err)
		f.Record.Cloud.Known = f.Record.Cloud.Known && !gone
		f.MissingNodeRules, _ = r.Requirements.Unmet(keyOf(f.Service), f.Service.UID)
		return f, err
	}
	return r.Provide(ctx, f, d)
}

// require says what the Service needs of the nodes' security group. As long as that is not
// known, what was said before stands; a Service that is only observed says nothing.
func (r *Reconciler) require(f decide.Facts, w decide.Goal) {
	if !f.Serves || !w.Known || f.Preview {
		return
	}
	if need, ok := build.SecurityGroupNeed(w.Input, w.Wanted, f.Record.Cloud.Observed); ok {
		r.Requirements.Set(keyOf(f.Service), f.Service.UID, need)
	}
}

func (r *Reconciler) forget(key types.NamespacedName) {
	r.Requirements.Forget(key)
	r.waiters.Leave(key)
	r.conflicts.Forget(key)
	r.observers.forget(key)
	r.due.forget(key)
	if id := r.Memory.Forget(key); id != "" {
		r.Watcher.Forget(id)
	}
}

func keyOf(service *corev1.Service) types.NamespacedName { return client.ObjectKeyFromObject(service) }
