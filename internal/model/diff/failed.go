// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Octavia stores the values of a request before its provider carries it out. If the provider fails, the load balancer
// becomes ACTIVE again and the child stays in ERROR: the API shows the wanted values, but they are not in force. So a
// child in ERROR is written again, although nothing differs. What Octavia does:
//   - Octavia accepts changes and deletions of a child in ERROR.
//   - It rejects changes of members and health monitors while their pool is in ERROR. The pool is written first.
//   - A failed change of a listener puts all listeners of the load balancer into ERROR. Each must be written.

// Failed reports whether the op repeats a change of a child in ERROR, or deletes such a child. The key identifies the
// child and what is done with it.
func Failed(op Op) (key string, failed bool) {
	var id string
	switch op := op.(type) {
	case UpdateListener:
		id, failed = op.ID, op.Failed
	case DeleteListener:
		id, failed = op.ID, op.Failed
	case UpdatePool:
		id, failed = op.ID, op.Failed
	case DeletePool:
		id, failed = op.ID, op.Failed
	case SetMembers:
		id, failed = op.PoolID, op.Failed
	case UpdateMonitor:
		id, failed = op.ID, op.Failed
	case DeleteMonitor:
		id, failed = op.ID, op.Failed
	}
	return Kind(op) + " " + id, failed
}

// Deletes reports whether the op deletes a child of a load balancer.
func Deletes(op Op) bool {
	switch op.(type) {
	case DeleteListener, DeletePool, DeleteMonitor:
		return true
	}
	return false
}

// Without removes the ops for which is(op) is true, and those that depend on them:
//   - the creation of a listener, if the deletion of another one on its port is removed,
//   - the deletion of a listener, and all deletions of pools, if the creation of a listener on its port is removed: the
//     old one serves until the new one can replace it,
//   - ops that need a pool, if the creation of the pool is removed.
func Without(ops []Op, is func(Op) bool) []Op {
	var kept, created []int
	var pools []string
	left := slices.DeleteFunc(slices.Clone(ops), func(op Op) bool {
		if !is(op) {
			return false
		}
		switch op := op.(type) {
		case DeleteListener:
			kept = append(kept, op.Key.Port)
		case CreateListener:
			created = append(created, op.Listener.Port)
		case CreatePool:
			pools = append(pools, op.Pool.Name)
		}
		return true
	})
	makesRoom := func(op Op) bool {
		deletion, deletes := op.(DeleteListener)
		return deletes && slices.Contains(created, deletion.Key.Port)
	}
	stays := slices.ContainsFunc(left, makesRoom)
	return slices.DeleteFunc(left, func(op Op) bool {
		switch op := op.(type) {
		case CreateListener:
			return slices.Contains(kept, op.Listener.Port)
		case DeletePool:
			return stays
		}
		return makesRoom(op) || AwaitsPool(op) && slices.Contains(pools, nameOfPool(op))
	})
}

// AwaitsPool reports whether the op is about a pool that does not exist yet. The creation of the pool, earlier in
// the plan, returns its id, and Octavia rejects the op without the id.
func AwaitsPool(op Op) bool {
	switch op := op.(type) {
	case SetMembers:
		return op.PoolID == ""
	case CreateMonitor:
		return op.PoolID == ""
	case CreateListener:
		return op.PoolID == "" && op.Listener.Protocol != lb.ListenerPrometheus
	case UpdateListener:
		return op.PoolID != nil && *op.PoolID == ""
	}
	return false
}

// nameOfPool returns the name of the pool that gets members or a health monitor.
func nameOfPool(op Op) string {
	switch op := op.(type) {
	case SetMembers:
		return op.PoolName
	case CreateMonitor:
		return op.PoolName
	}
	return ""
}

func inError(s lb.ProvisioningStatus) bool { return s == lb.Error }

// repeated sets the values of a listener in ERROR again: every setting that Octavia may have failed to carry out, as
// far as this cloud and its provider support it.
func (t *changes) repeated(op UpdateListener, want, have lb.Listener) UpdateListener {
	op.Failed, op.ConnectionLimit, op.AdminDown = true, &want.ConnectionLimit, &want.AdminDown
	op.Timeouts, op.TLS = want.Timeouts, want.TLS
	// Octavia refuses source ranges beside groups.
	refused := t.grouped && len(want.AllowedCIDRs) > 0
	if !refused && len(want.AllowedCIDRs)+len(have.AllowedCIDRs) > 0 {
		op.AllowedCIDRs = &want.AllowedCIDRs
	}
	if len(want.InsertHeaders) > 0 {
		op.InsertHeaders = &want.InsertHeaders
	}
	if want.HSTS.Enabled {
		op.HSTS = &want.HSTS
	}
	if have.Pool != nil {
		op.PoolID = &have.Pool.ID
	}
	return op
}

// updateFailed plans the change of a pool in ERROR. Its members and monitor follow when it is ACTIVE.
func (t *changes) updateFailed(want, have lb.Pool) {
	op := updatePool(want, have)
	op.Failed = samePool(want, have)
	t.failed = append(t.failed, op)
}

func updatePool(want, have lb.Pool) UpdatePool {
	return UpdatePool{ID: have.ID, Name: have.Name, Algorithm: want.Algorithm, Persistence: want.Persistence, AdminDown: want.AdminDown}
}

func samePool(want, have lb.Pool) bool {
	return want.Algorithm == have.Algorithm && want.AdminDown == have.AdminDown && samePersistence(want.Persistence, have.Persistence)
}
