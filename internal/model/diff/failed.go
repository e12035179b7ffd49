// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Octavia stores what a request says before its provider carries it out. If the provider fails, the load balancer
// becomes ACTIVE again and the child stays in ERROR: the API shows the wanted values, but they are not in force. So a
// child in ERROR is written again, although nothing differs. What Octavia does:
//   - Octavia accepts changes and deletions of a child in ERROR.
//   - It rejects changes of members and health monitors while their pool is in ERROR. The pool is written first.
//   - A failed change of a listener puts all listeners of the load balancer into ERROR. Each has to be written.

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

// Without returns the ops without those for which is(op) is true. If it leaves out the deletion of a
// listener, it also leaves out the creation of another one on the same port number.
func Without(ops []Op, is func(Op) bool) []Op {
	var ports []int
	left := slices.DeleteFunc(slices.Clone(ops), func(op Op) bool {
		out := is(op)
		if deletion, ok := op.(DeleteListener); ok && out {
			ports = append(ports, deletion.Key.Port)
		}
		return out
	})
	return slices.DeleteFunc(left, func(op Op) bool {
		creation, ok := op.(CreateListener)
		return ok && slices.Contains(ports, creation.Listener.Port)
	})
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
