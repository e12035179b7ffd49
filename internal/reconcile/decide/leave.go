// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// mustLeave reports whether the refused Service has, or may have, ports on a shared load balancer that are reachable
// from outside although they must not be.
func (f Facts) mustLeave(g Goal) bool {
	l, owner := f.loadBalancer(), f.Identity()
	return g.Refused != nil && g.Refused.Exposed && l != nil && f.observed().Predecessor == nil && (owner.Owns(*l) || owner.Joined(*l))
}

// leave removes the Service's ports from a shared load balancer, and leaves the load balancer to the other Services.
// After that, the Service has no load balancer until it can have another one.
func leave(f Facts, d Decision) Decision {
	l, o := f.loadBalancer(), f.observed()
	deletes := slices.ContainsFunc(d.Plan.Ops, is[diff.DeleteLoadBalancer])
	left := len(d.Plan.Ops) == 0 && !o.Sharer
	if l.ProvisioningStatus == lb.Active && (deletes && f.FromMemory || left) {
		// The load balancer is read again before it is deleted: other Services may use it by now. If the Service has
		// left its own load balancer, the next pass looks for another one.
		d.Plan.Ops, d.Delay = nil, timing.StaleRetry
		d.Record.Cloud.Distrust()
	}
	return d
}
