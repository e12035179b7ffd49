// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/quota"
)

// freed lets Services that wait for quota try again: this controller has deleted
// something.
func (r *ServiceReconciler) freed() { r.wakeWaiters(quota.Freed) }

func (r *ServiceReconciler) wakeWaiters(n int) {
	for _, key := range r.waiters.Wake(n) {
		r.enqueue(key)
	}
}

// frees reports whether an op leaves room for others when Octavia has ended it. What
// a load balancer had that another one replaces is not free.
func (r *ServiceReconciler) frees(p *pass, op diff.Op) bool {
	switch op.(type) {
	case diff.DeleteLoadBalancer:
		return !r.Serves(p.service)
	case diff.DeleteListener, diff.DeletePool, diff.DeleteMonitor:
		return true
	}
	members, ok := op.(diff.SetMembers)
	return ok && members.Removed > 0
}

// noteQuota notes whether the Service waits for quota after the pass. One that waited and
// got something lets the next one try.
func (r *ServiceReconciler) noteQuota(p *pass, failure error) {
	key := client.ObjectKeyFromObject(p.service)
	if openstack.Classify(failure) == openstack.Quota {
		p.woken = r.waiters.Wait(key)
		p.record.quotaRefusals = min(p.record.quotaRefusals+1, 10)
		return
	}
	if failure == nil && (p.wrote || p.done) {
		p.record.quotaRefusals = 0
		if r.waiters.Leave(key) {
			r.wakeWaiters(1)
		}
	}
}
