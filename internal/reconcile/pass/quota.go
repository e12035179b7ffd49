// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/quota"
)

// freed wakes Services that wait for quota, after the controller deleted something.
func (r *Reconciler) freed() { r.wakeWaiters(quota.Freed) }

func (r *Reconciler) wakeWaiters(n int) {
	for _, key := range r.waiters.Wake(n) {
		r.Enqueue(key)
	}
}

// noteQuota notes whether the Service waits for quota after the pass. If it waited before, and
// wrote something now, the next waiter is woken.
func (r *Reconciler) noteQuota(f decide.Facts, d decide.Decision, o decide.Outcome) (decide.Decision, decide.Outcome) {
	key := f.Owner.Key
	switch {
	case d.Action == decide.Stopped: // it creates nothing, also if its members are refused
		if r.waiters.Leave(key) {
			r.wakeWaiters(1) // the next waiter takes its turn
		}
	case openstack.Classify(o.Failure) == openstack.Quota:
		o.Woken = r.waiters.Wait(key)
		d.Record.QuotaRefusals = min(d.Record.QuotaRefusals+1, 10)
	case o.Failure == nil && (o.Wrote || d.Done):
		d.Record.QuotaRefusals = 0
		if r.waiters.Leave(key) {
			r.wakeWaiters(1)
		}
	}
	return d, o
}
