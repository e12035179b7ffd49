// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Adoption is what is done about what openstack-cloud-controller-manager made.
type Adoption string

const (
	// AdoptTag takes a load balancer over: our tags are added to it, and from then on
	// it is as one that we made.
	AdoptTag Adoption = "tag"
	// AdoptObserve only looks at Services that were not taken over yet, and at load
	// balancers that do not bear our tags, and tells what would be done: nothing is
	// written in the cloud, and on Services nothing but conditions.
	AdoptObserve Adoption = "observe"
)

// lookAgain is how long after a look at a Service that is only observed the cloud is read
// anew: no sweep shows load balancers that do not bear our tags.
const lookAgain = 10 * time.Minute

// OnlyObserves reports whether nothing is to be written for the Service, of which this was
// observed: it was not taken over yet. What was keeps being served, however the operator
// decides about the others. A person who says whose a load balancer is sets one tag on it;
// we set both, but on one of somebody else that the Service uses.
func (p *Planner) OnlyObserves(service *corev1.Service, observed lb.Observed) bool {
	taken := p.Claimed(service)
	if l := observed.LoadBalancer; l != nil && !observed.Guest && p.Capabilities.Has(lb.FeatureTags) {
		taken = slices.Contains(l.Tags, p.Owner(service).ServiceTag()) && slices.Contains(l.Tags, lb.ClusterTag(p.ClusterUID))
	}
	return p.Adopt == AdoptObserve && !taken
}

// lookOnly makes the whole pass for a Service that is only observed. Only is false for
// any other, of which at most what the cloud has was read.
func (r *ServiceReconciler) lookOnly(ctx context.Context, p *pass) (result reconcile.Result, only bool, err error) {
	if r.Adopt != AdoptObserve {
		return reconcile.Result{}, false, nil
	}
	if r.now().Sub(p.record.written) >= lookAgain {
		p.record.known = p.record.known && p.claimed
	}
	failure := r.observe(ctx, p)
	if !r.OnlyObserves(p.service, p.record.observed) {
		r.observers.forget(client.ObjectKeyFromObject(p.service))
		return reconcile.Result{}, false, nil
	}
	p.onlyObserved = true
	if failure == nil {
		failure = r.foresee(ctx, p)
	}
	if result, err = r.finish(ctx, p, failure); err == nil && result == (reconcile.Result{}) {
		result.RequeueAfter = timing.Jitter(lookAgain)
	}
	r.observers.note(p.service)
	return result, true, err
}

// foresee plans what would be done for the Service.
func (r *ServiceReconciler) foresee(ctx context.Context, p *pass) error {
	if !r.Serves(p.service) {
		p.decided = true
		p.wanted = lb.Wanted{KeepFloatingIP: r.keepsFloatingIP(p.service)}
	} else if err := r.gather(ctx, p); err != nil {
		return err
	}
	if err := r.seeRequested(ctx, p); err != nil {
		return err
	}
	p.reduce()
	p.plan = r.preview(p.service, p.desire, p.record.observed, p.membersOnly)
	return nil
}

// observers counts the Services that are only observed, by what they say. It is safe for
// concurrent use. A nil one counts nothing.
type observers struct {
	metrics *metrics.Metrics

	mu      sync.Mutex
	reasons map[types.NamespacedName]string
}

func newObservers(metrics *metrics.Metrics) *observers {
	metrics.Observed.Reset()
	return &observers{metrics: metrics, reasons: map[types.NamespacedName]string{}}
}

// note counts the Service by the reason of its condition Programmed.
func (o *observers) note(service *corev1.Service) {
	reason := ""
	if c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed); c != nil {
		reason = c.Reason
	}
	o.set(client.ObjectKeyFromObject(service), reason)
}

// forget counts the Service no more.
func (o *observers) forget(key types.NamespacedName) { o.set(key, "") }

func (o *observers) set(key types.NamespacedName, reason string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.reasons[key]
	if before == reason {
		return
	}
	if before != "" {
		o.metrics.Observed.WithLabelValues(before).Dec()
	}
	if delete(o.reasons, key); reason != "" {
		o.reasons[key] = reason
		o.metrics.Observed.WithLabelValues(reason).Inc()
	}
}
