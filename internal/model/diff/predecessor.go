// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Replacement plans the creation of a load balancer that replaces one that failed or cannot be changed. If the old one
// may still carry traffic, replaces is its id. After that, the plans of New complete the new load balancer, move the
// floating IP to it, and delete the old one, in this order.
func Replacement(wanted lb.Wanted, replaces string) Plan {
	op := create(wanted)
	if replaces != "" {
		op.LoadBalancer.Tags = append(slices.Clone(op.LoadBalancer.Tags), lb.ReplacesTag(replaces))
	}
	return Plan{Ops: []Op{op}}
}

// Within reports whether the op changes source ranges or members of the load balancer: only these change in a
// predecessor.
func Within(op Op, l lb.LoadBalancer) bool {
	switch op := op.(type) {
	case UpdateListener:
		return slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.ID == op.ID })
	case SetMembers:
		return slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.Pool != nil && o.Pool.ID == op.PoolID })
	}
	return false
}

// complete reports whether no part of the load balancer is unfinished or failed, so that it can replace another
// one.
func complete(l lb.LoadBalancer) bool {
	bad := func(s lb.ProvisioningStatus) bool { return s != "" && s != lb.Active }
	return !slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool {
		return bad(o.ProvisioningStatus) || o.Pool != nil && o.Pool.Any(bad)
	})
}

// planAddresses is planFloatingIPs, with three special cases: a load balancer with a predecessor, which keeps the
// Service's address until the new load balancer is ready; a load balancer that is being adopted; and one that belongs
// to another owner.
func planAddresses(wanted lb.Wanted, observed lb.Observed, owner lb.Owner, ready bool) addresses {
	switch {
	case wanted.KeepAddress && owner.Sharer && observed.LoadBalancer != nil:
		return formerAddresses(wanted, observed, owner, ready)
	case wanted.KeepAddress:
		return addresses{}
	}
	if unmarked(wanted, observed, owner) {
		// Until the load balancer has our mark, it is found by its address.
		return addresses{waits: true}
	}
	held := predecessorFloatingIPs(observed)
	if len(held) == 0 || observed.LoadBalancer == nil {
		return planFloatingIPs(wanted, observed, owner)
	}
	rest := observed
	rest.FloatingIPs = slices.DeleteFunc(slices.Clone(observed.FloatingIPs), func(f lb.FloatingIP) bool {
		return slices.ContainsFunc(held, func(h lb.FloatingIP) bool { return h.ID == f.ID })
	})
	want := wanted.FloatingIP
	if want == nil {
		a := planFloatingIPs(wanted, rest, owner)
		a.release = append(a.release, release(held, wanted, owner)...)
		return a
	}
	i := slices.IndexFunc(held, func(f lb.FloatingIP) bool { return want.Address == "" || want.Address == f.Address })
	if i < 0 || hasFloatingIP(rest, observed.LoadBalancer.VIP.PortID, want.Address) {
		a := planFloatingIPs(wanted, rest, owner)
		if i < 0 && len(a.refused) > 0 {
			// The present address stays, on the new load balancer.
			moved := move(wanted, held[0], observed, ready)
			moved.refused = append(moved.refused, a.refused...)
			return moved
		}
		if i < 0 && ready && hasFloatingIP(rest, observed.LoadBalancer.VIP.PortID, want.Address) {
			a.release = append(a.release, release(held, wanted, owner)...)
		}
		// Otherwise the predecessor's floating IPs are detached by its deletion, and stay.
		return a
	}
	return move(wanted, held[i], observed, ready)
}

// move attaches a floating IP of the predecessor to the new load balancer, with one call, so that it is never
// unattached. If the cloud rejects this, the predecessor keeps the floating IP until the next attempt is due.
func move(wanted lb.Wanted, f lb.FloatingIP, observed lb.Observed, ready bool) addresses {
	a := addresses{waits: true}
	if !ready {
		return a
	}
	port := observed.LoadBalancer.VIP.PortID
	if rejected, is := wanted.Addresses.RejectionOf(f, port); is {
		a.refused = []Refusal{{ReasonFloatingIPNotAttachable, rejected.Message}}
		return a
	}
	a.attach = []Op{AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: port}}
	return a
}

// predecessorFloatingIPs returns the floating IPs of the predecessor.
func predecessorFloatingIPs(observed lb.Observed) []lb.FloatingIP {
	return slices.DeleteFunc(slices.Clone(observed.FloatingIPs), func(f lb.FloatingIP) bool {
		return observed.Predecessor == nil || f.PortID == "" || f.PortID != observed.Predecessor.VIP.PortID
	})
}

// hasFloatingIP reports whether the port has a floating IP with the address or, if the address is empty, any floating
// IP.
func hasFloatingIP(o lb.Observed, port, address string) bool {
	return slices.ContainsFunc(o.FloatingIPs, func(f lb.FloatingIP) bool {
		return f.PortID != "" && f.PortID == port && (address == "" || address == f.Address)
	})
}

// deletePredecessor deletes the replaced load balancer once the new one is ready, or if nothing is wanted any more.
func deletePredecessor(wanted lb.Wanted, observed lb.Observed, a addresses, ready bool) []Op {
	old := observed.Predecessor
	if old == nil || old.ProvisioningStatus.Pending() || wanted.KeepAddress {
		return nil
	}
	if wanted.LoadBalancer != nil && (!ready || a.waits) {
		return nil
	}
	return []Op{DeleteLoadBalancer{ID: old.ID}}
}
