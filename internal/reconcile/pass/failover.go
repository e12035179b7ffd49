// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"
	"net/http"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// refusedFailovers holds, by provider, why Octavia refuses failovers to this controller: its
// policy forbids them, or the provider does not support them. It is safe for concurrent use.
type refusedFailovers struct{ reasons sync.Map }

// of says why the load balancer cannot be failed over, or "".
func (f *refusedFailovers) of(l *lb.LoadBalancer) string {
	if l == nil {
		return ""
	}
	found, _ := f.reasons.Load(l.Provider)
	reason, _ := found.(string)
	return reason
}

// failoverRefused notes that Octavia refuses to fail over the load balancer; the next pass,
// which follows at once, recovers it in another way. Other errors are returned.
func (r *Reconciler) failoverRefused(ctx context.Context, f decide.Facts, d decide.Decision, err error) (decide.Decision, error) {
	var cloud *openstack.Error
	if !errors.As(err, &cloud) || !refusesFailover(cloud) {
		return d, err
	}
	l, why := *d.Record.Cloud.Observed.LoadBalancer, err.Error()
	if cloud.Status == http.StatusForbidden || cloud.Status == http.StatusNotImplemented {
		r.refusedFailovers.reasons.Store(l.Provider, why)
		ctrl.LoggerFrom(ctx).Info("the cloud refuses failovers; load balancers that fail are replaced", "provider", l.Provider, "error", why)
	}
	d = decide.FailoverRefused(f, d, l, why)
	d.Delay = timing.StaleRetry
	return d, nil
}

// refusesFailover reports whether a retry would fail too: Octavia answered, and was not busy.
func refusesFailover(err *openstack.Error) bool {
	switch err.Class {
	case openstack.Busy, openstack.Throttled:
		return false
	}
	return !err.Unanswered
}
