// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Sequence decides which operations of a plan one pass carries out: all Neutron operations and
// one Octavia operation, because Octavia rejects any other until it has ended that one. An
// operation that Octavia rejects does not lock the load balancer, so the independent ones after
// it are tried. The zero value is the start of a pass.
type Sequence struct {
	// locked is whether Octavia may have begun an operation, rejected whether it rejected one
	// on which others depend, and failed whether any operation failed.
	locked, rejected, failed bool
}

// Ready returns the operation as it is carried out now, or false if the pass skips it.
func (s Sequence) Ready(op diff.Op, observed lb.Observed) (diff.Op, bool) {
	op, ready := onPort(op, observed)
	_, deletes := op.(diff.DeleteLoadBalancer)
	switch {
	case !ready, deletes && s.failed:
		return op, false
	case op.Octavia():
		return op, !s.locked && (!s.rejected || independent(op, observed))
	}
	return op, true
}

// After returns the sequence after the operation was carried out, or failed.
func (s Sequence) After(op diff.Op, err error) Sequence {
	s.failed = s.failed || err != nil
	if op.Octavia() {
		s.locked = !rejection(err)
		s.rejected = s.rejected || !s.locked && holdsUp(op)
	}
	return s
}

// rejection reports whether Octavia rejected an operation, and so did not lock the load balancer.
func rejection(err error) bool {
	switch openstack.Classify(err) {
	case openstack.Invalid, openstack.Quota, openstack.Conflict, openstack.Gone:
		return true
	}
	return false
}

// holdsUp reports whether operations after a rejected one depend on it. Nothing depends on tags,
// or on the deletion of a pool, except for quota.
func holdsUp(op diff.Op) bool {
	switch op.(type) {
	case diff.DeletePool, diff.SetTags:
		return false
	}
	return true
}

// independent reports whether an operation is correct even if those before it failed: members of
// existing pools, restrictions, tags, and deletions.
func independent(op diff.Op, observed lb.Observed) bool {
	switch op := op.(type) {
	case diff.SetMembers:
		return op.PoolID != ""
	case diff.UpdateListener:
		return op.PoolID == nil
	case diff.DeleteListener:
		return true
	case diff.SetTags:
		return op.ID != ""
	case diff.DeletePool:
		return observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.DetachedPools,
			func(p lb.Pool) bool { return p.ID == op.ID })
	}
	return false
}

// onPort sets the VIP port of a floating IP operation that was planned before the port was known.
// Ready is false while it is not known.
func onPort(op diff.Op, observed lb.Observed) (_ diff.Op, ready bool) {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	switch op := op.(type) {
	case diff.CreateFloatingIP:
		op.FloatingIP.PortID = port
		return op, port != ""
	case diff.AssociateFloatingIP:
		op.PortID = port
		return op, port != ""
	}
	return op, true
}
