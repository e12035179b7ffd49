// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Provider ovn keeps a load balancer of OVN for each transport protocol. It creates this load balancer of OVN with the
// first pool or listener of the protocol, from the load balancers of the other protocols as they are at that moment. It
// learns of a floating IP from an event, in another process, and changes the load balancers of OVN that exist when the
// event comes. If the creation and the event happen at the same time, the new load balancer of OVN may lack the
// floating IP for ever, or keep one that was detached: on Octavia 16, UDP was never answered at a floating IP that was
// attached while the load balancer was created. So the two are kept apart.

// addressSettles is how long provider ovn may need to handle the event of a floating IP: it takes two calls to other
// services.
const addressSettles = 5 * time.Second

// awaitsProvider reports whether the operation has to wait for a later pass because of provider ovn. A floating IP
// waits while the load balancer is created, or if this pass has opened a port. A new protocol waits after a change of a
// floating IP. For children that are PENDING although their load balancer is ACTIVE, see awaitChildren.
func (s Sequence) awaitsProvider(op diff.Op, observed lb.Observed) bool {
	l := observed.LoadBalancer
	switch {
	case l == nil || l.Provider != lb.ProviderOVN:
		return false
	case attaches(op):
		return s.opens || l.ProvisioningStatus == lb.PendingCreate
	}
	return s.addressed && bringsProtocol(op, *l)
}

// awaitAddress removes from the plan the operations that add a protocol to a load balancer of provider ovn, and those
// that need them, until the provider has handled a change of its floating IPs. It reports whether it removed anything.
func awaitAddress(f Facts, d Decision) (_ Decision, waits bool) {
	l, left := f.loadBalancer(), addressSettles-f.Now.Sub(f.Record.Cloud.Addressed)
	if f.Preview || l == nil || l.Provider != lb.ProviderOVN || left <= 0 || f.leavesDrift(d.Goal) {
		return d, false
	}
	all := len(d.Plan.Ops)
	d.Plan.Ops = diff.Without(d.Plan.Ops, func(op diff.Op) bool { return bringsProtocol(op, *l) })
	if len(d.Plan.Ops) == all {
		return d, false
	}
	d.Delay = left
	return d, true
}

// attaches reports whether the operation attaches a floating IP, or makes room for one.
func attaches(op diff.Op) bool {
	detach, detaches := op.(diff.DisassociateFloatingIP)
	return is[diff.CreateFloatingIP](op) || is[diff.AssociateFloatingIP](op) || detaches && detach.For != ""
}

// movesAddress reports whether the operation attaches a floating IP or takes one away.
func movesAddress(op diff.Op) bool {
	return attaches(op) || is[diff.DisassociateFloatingIP](op) || is[diff.DeleteFloatingIP](op)
}

// opens reports whether the operation makes a pool or a listener.
func opens(op diff.Op) bool { return is[diff.CreatePool](op) || is[diff.CreateListener](op) }

// bringsProtocol reports whether the operation makes a pool or a listener of a transport protocol that no listener of
// the load balancer has.
func bringsProtocol(op diff.Op, l lb.LoadBalancer) bool {
	var transport lb.Transport
	switch op := op.(type) {
	case diff.CreatePool:
		transport = op.Pool.Protocol.Transport()
	case diff.CreateListener:
		transport = op.Listener.Protocol.Transport()
	default:
		return false
	}
	return !slices.ContainsFunc(l.Listeners, func(have lb.Listener) bool { return have.Protocol.Transport() == transport })
}
