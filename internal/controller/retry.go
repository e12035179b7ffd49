// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// soonEnough lets a Service that names a Secret come back to see whether that has changed.
func (r *ServiceReconciler) soonEnough(p *pass, result reconcile.Result) reconcile.Result {
	options, _ := annotation.Parse(p.service.Annotations, r.Config)
	if options.TLSSecret == "" || !r.Serves(p.service) {
		return result
	}
	if again := timing.Jitter(r.timing.SecretInterval); result.RequeueAfter == 0 || again < result.RequeueAfter {
		result.RequeueAfter = again
	}
	return result
}

// next says when to look at the Service again, by the class of what failed.
func (r *ServiceReconciler) next(p *pass, failure error) (reconcile.Result, error) {
	var cloud *openstack.Error
	errors.As(failure, &cloud)
	l := p.record.observed.LoadBalancer
	switch class := openstack.Classify(failure); {
	case failure == nil && p.delay > 0:
		return reconcile.Result{RequeueAfter: p.delay}, nil
	case failure == nil && p.unready != "":
		return reconcile.Result{RequeueAfter: timing.Jitter(r.timing.PartsRetry)}, nil
	case failure == nil && len(p.plan.Refused) > 0:
		return reconcile.Result{RequeueAfter: timing.Jitter(r.timing.SlowRetry)}, nil
	case failure == nil && !p.record.known && (l == nil || l.ProvisioningStatus == lb.Active):
		return reconcile.Result{RequeueAfter: timing.Jitter(r.timing.DuplicateRetry)}, nil
	case failure == nil && p.wrote && !p.done && (l == nil || !l.ProvisioningStatus.Pending()):
		// Only Neutron was written to, which has done it already: nobody else
		// brings the Service back to say so.
		return reconcile.Result{RequeueAfter: timing.StaleRetry}, nil
	case failure == nil && !p.record.unanswered.IsZero():
		return reconcile.Result{RequeueAfter: timing.Jitter(max(r.timing.AnswerLimit-r.now().Sub(p.record.unanswered), time.Second))}, nil
	case failure == nil && p.record.steadyFor != nil && l != nil && l.ProvisioningStatus.Pending():
		// It is told when that takes too long.
		return reconcile.Result{RequeueAfter: max(r.patience(p), 0)}, nil
	case failure == nil && dependsOnOthers(p):
		// Lest what becomes of those is not heard of.
		return reconcile.Result{RequeueAfter: timing.Jitter(r.timing.SlowRetry)}, nil
	case failure == nil:
		return reconcile.Result{}, nil
	case cloud == nil:
		return reconcile.Result{}, failure
	case class == openstack.Busy && l != nil:
		// The watcher brings the Service back; it is told when that takes too long.
		return reconcile.Result{RequeueAfter: max(r.patience(p), 0)}, nil
	case class == openstack.Throttled:
		return reconcile.Result{RequeueAfter: timing.Jitter(max(cloud.RetryAfter, time.Second))}, nil
	case class == openstack.Quota:
		return reconcile.Result{RequeueAfter: quota.Delay(p.record.quotaRefusals, p.woken, r.timing)}, nil
	case class == openstack.Invalid, class == openstack.Foreign:
		return reconcile.Result{RequeueAfter: timing.Jitter(r.timing.SlowRetry)}, nil
	default:
		return reconcile.Result{}, failure
	}
}
