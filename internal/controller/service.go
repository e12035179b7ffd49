// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"reflect"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// How long to wait before another load balancer is built in the place of one
// that failed, the first time and at most.
const (
	firstRebirth = 5 * time.Second
	lastRebirth  = 5 * time.Minute
)

// staleRetry is how soon to look again at a Service that was read from a cache
// which was behind.
const staleRetry = 100 * time.Millisecond

// ServiceReconciler gives Services their load balancers. Its queue key is the
// Service that owns the load balancer, so that writes to one load balancer come
// one after the other.
type ServiceReconciler struct {
	*Planner
	// Client writes finalizers, annotations and status.
	Client   client.Client
	Recorder events.EventRecorder
	Watcher  *octavia.Watcher
	Metrics  *Metrics

	memory *memory
	now    func() time.Time
}

// pass is one look at one Service, from what it wants to what was done.
type pass struct {
	service *corev1.Service
	owner   lb.Owner
	log     logr.Logger
	record  record
	// input, wanted and invalid come from gathering and building.
	input   build.Input
	wanted  lb.Wanted
	invalid *build.Invalid
	plan    diff.Plan
	unready string
	done    bool
	// delay is how long to leave the Service alone before the next attempt.
	delay time.Duration
}

// Reconcile makes one pass over the Service: it gathers, builds, compares, does
// at most one Octavia op, and reports. It never waits: while Octavia is at work
// the watcher has the load balancer and brings the Service back.
func (r *ServiceReconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	service := &corev1.Service{}
	if err := r.Reader.Get(ctx, request.NamespacedName, service); err != nil {
		r.forget(request.NamespacedName)
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	id := openstack.NewRequestID()
	ctx = openstack.WithRequestID(ctx, id)
	p := &pass{
		service: service,
		owner:   r.Owner(service),
		log:     ctrl.LoggerFrom(ctx).WithValues("requestID", id),
		record:  r.memory.recall(request.NamespacedName, service.UID),
	}
	switch {
	case r.Serves(service):
		return r.serve(ctx, p)
	case r.Leaves(service):
		return r.release(ctx, p)
	default:
		r.forget(request.NamespacedName)
		return reconcile.Result{}, nil
	}
}

// serve is the pass for a Service that is to have a load balancer.
func (r *ServiceReconciler) serve(ctx context.Context, p *pass) (reconcile.Result, error) {
	if err := r.claim(ctx, p.service); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	err := r.gather(ctx, p)
	if err == nil && !r.settled(p) {
		err = r.advance(ctx, p)
	}
	return r.finish(ctx, p, err)
}

// gather finds out what is wanted. A Service that is refused is no error.
func (r *ServiceReconciler) gather(ctx context.Context, p *pass) (err error) {
	p.input, p.wanted, err = r.Wanted(ctx, p.service)
	if p.invalid = invalid(err); p.invalid != nil {
		return nil
	}
	return err
}

// settled tells whether everything wanted was reached before and nobody changed
// the load balancer since.
func (r *ServiceReconciler) settled(p *pass) bool {
	reached := p.record.reached
	p.done = p.invalid == nil && p.record.known && reached != nil && reflect.DeepEqual(*reached, p.wanted)
	return p.done
}

// advance takes the cloud one step from what it has to what is wanted.
func (r *ServiceReconciler) advance(ctx context.Context, p *pass) error {
	if err := r.observe(ctx, p); err != nil {
		return err
	}
	if l := p.record.observed.LoadBalancer; l != nil && l.ProvisioningStatus == lb.Active && nameless(*l) {
		if err := r.verify(ctx, p); err != nil {
			return err
		}
	}
	if p.invalid != nil {
		p.wanted = build.MembersOnly(p.input, p.record.observed)
	}
	if r.failedAtBirth(p) || r.mustWait(p) {
		return r.apply(ctx, p)
	}
	p.plan = diff.New(p.wanted, p.record.observed, p.owner)
	if len(p.plan.Ops) == 0 {
		if err := r.confirm(ctx, p); err != nil {
			return err
		}
	}
	return r.apply(ctx, p)
}

// failedAtBirth plans the end of a load balancer that went into ERROR before the
// Service ever had an address: it never served anybody, so another one may take
// its place, after a while that grows with each failure.
func (r *ServiceReconciler) failedAtBirth(p *pass) bool {
	l := p.record.observed.LoadBalancer
	if l == nil || l.ProvisioningStatus != lb.Error || len(p.service.Status.LoadBalancer.Ingress) > 0 {
		return false
	}
	wait := min(firstRebirth<<p.record.births, lastRebirth)
	p.record.births = min(p.record.births+1, 10)
	p.record.notBefore = r.now().Add(jitter(wait))
	p.plan = diff.New(lb.Wanted{}, p.record.observed, p.owner)
	return true
}

// mustWait tells whether it is too early for another load balancer after one
// that failed.
func (r *ServiceReconciler) mustWait(p *pass) bool {
	if p.record.observed.LoadBalancer == nil {
		p.delay = p.record.notBefore.Sub(r.now())
	}
	return p.delay > 0
}

// finish reports the pass, remembers it, and says when to look again.
func (r *ServiceReconciler) finish(ctx context.Context, p *pass, failure error) (reconcile.Result, error) {
	ctx = context.WithoutCancel(ctx)
	if p.done && p.invalid == nil {
		wanted := p.wanted
		p.record.reached, p.record.births = &wanted, 0
	}
	key := client.ObjectKeyFromObject(p.service)
	r.memory.store(key, p.record)
	err := r.report(ctx, p, failure)
	r.await(p)
	switch {
	case apierrors.IsConflict(err):
		// The cache is behind; it will have caught up by then.
		return reconcile.Result{RequeueAfter: staleRetry}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	return r.next(p, failure)
}

// await gives a load balancer on which Octavia works to the watcher.
func (r *ServiceReconciler) await(p *pass) {
	switch l := p.record.observed.LoadBalancer; {
	case l == nil || !l.ProvisioningStatus.Pending():
	case l.ProvisioningStatus == lb.PendingDelete:
		r.Watcher.WatchDeletion(l.ID, l.VIP.PortID)
	default:
		r.Watcher.Watch(l.ID)
	}
}

func (r *ServiceReconciler) forget(key types.NamespacedName) {
	if id := r.memory.forget(key); id != "" {
		r.Watcher.Forget(id)
	}
}

// report writes what the pass found out to the Service.
func (r *ServiceReconciler) report(ctx context.Context, p *pass, failure error) error {
	if openstack.Classify(failure) == openstack.Busy {
		// Somebody else's change is under way; it is awaited like ours.
		failure = nil
	}
	return r.publish(ctx, p.service, status.Pass{
		Invalid:  p.invalid,
		Unknown:  annotation.Unknown(p.service.Annotations),
		Observed: p.record.observed,
		External: p.wanted.FloatingIP != nil,
		Left:     p.plan.Ops,
		Refused:  p.plan.Refused,
		Unready:  p.unready,
		Err:      failure,
		Done:     p.done,
	})
}
