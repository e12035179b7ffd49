// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"net/http"
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// refusedFailovers says of each provider why Octavia refuses its failovers to this
// controller, for as long as it runs: by its policy, or because the provider has none. It is
// safe for concurrent use.
type refusedFailovers struct{ reasons sync.Map }

// of returns why the load balancer cannot be failed over, or "".
func (f *refusedFailovers) of(l *lb.LoadBalancer) string {
	if l == nil {
		return ""
	}
	found, _ := f.reasons.Load(l.Provider)
	reason, _ := found.(string)
	return reason
}

// failoverRefused lets the next pass, which comes at once, do something else about a load
// balancer in ERROR that Octavia does not fail over. Another error stays.
func (r *Reconciler) failoverRefused(ctx context.Context, d decide.Decision, err error) (decide.Decision, error) {
	var cloud *openstack.Error
	if !errors.As(err, &cloud) || !refusesFailover(cloud) {
		return d, err
	}
	l, why := *d.Record.Cloud.Observed.LoadBalancer, err.Error()
	if cloud.Status == http.StatusForbidden || cloud.Status == http.StatusNotImplemented {
		r.refusedFailovers.reasons.Store(l.Provider, why)
		ctrl.LoggerFrom(ctx).Info("this cloud lets us fail over no load balancer; those that fail are replaced", "provider", l.Provider, "error", why)
	}
	d = decide.FailoverRefused(d, l, why)
	d.Delay = timing.StaleRetry
	return d, nil
}

// refusesFailover reports whether another try would be in vain, rather than that
// Octavia has no time or did not answer.
func refusesFailover(err *openstack.Error) bool {
	switch err.Class {
	case openstack.Busy, openstack.Throttled:
		return false
	}
	return !err.Unanswered
}
