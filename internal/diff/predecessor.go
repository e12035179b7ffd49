// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Beside plans another load balancer in the place of one that may still carry
// traffic: that failed, or that works, has this id and cannot be changed. What New
// plans from then on completes the new one, lets the floating IP lead to it, and
// ends the old one, in this order.
func Replacement(wanted lb.Wanted, replaces string) Plan {
	op := create(wanted)
	if replaces != "" {
		op.LoadBalancer.Tags = append(slices.Clone(op.LoadBalancer.Tags), lb.ReplacesTag(replaces))
	}
	return Plan{Ops: []Op{op}}
}

// Within reports whether the op changes a part of the load balancer: its source ranges
// or members, which is all that changes in one that is replaced.
func Within(op Op, l lb.LoadBalancer) bool {
	switch op := op.(type) {
	case UpdateListener:
		return slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.ID == op.ID })
	case SetMembers:
		return slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.Pool != nil && o.Pool.ID == op.PoolID })
	}
	return false
}

// whole reports whether no part of the load balancer is unfinished or failed, so
// that it can serve in the place of another one.
func whole(l lb.LoadBalancer) bool {
	bad := func(s lb.ProvisioningStatus) bool { return s != "" && s != lb.Active }
	return !slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool {
		return bad(o.ProvisioningStatus) || o.Pool != nil && o.Pool.Any(bad)
	})
}

// addressPlan is floatingIPs for a load balancer that may have a predecessor,
// which has the Service's address until the new one takes over, or that is adopted.
func addressPlan(wanted lb.Wanted, observed lb.Observed, owner lb.Owner, takesOver bool) addresses {
	if wanted.KeepAddress {
		return addresses{}
	}
	if unmarked(wanted, observed, owner) {
		// It is known by its address until it bears the mark.
		return addresses{waits: true}
	}
	held := heldBy(observed)
	if len(held) == 0 || observed.LoadBalancer == nil {
		return floatingIPs(wanted, observed, owner)
	}
	rest := observed
	rest.FloatingIPs = slices.DeleteFunc(slices.Clone(observed.FloatingIPs), func(f lb.FloatingIP) bool {
		return slices.ContainsFunc(held, func(h lb.FloatingIP) bool { return h.ID == f.ID })
	})
	want := wanted.FloatingIP
	if want == nil {
		a := floatingIPs(wanted, rest, owner)
		a.release = append(a.release, release(held, wanted.KeepFloatingIP, owner)...)
		return a
	}
	i := slices.IndexFunc(held, func(f lb.FloatingIP) bool { return want.Address == "" || want.Address == f.Address })
	if i < 0 || leadsTo(rest, observed.LoadBalancer.VIP.PortID, want.Address) {
		a := floatingIPs(wanted, rest, owner)
		if i < 0 && len(a.refused) > 0 {
			// What serves goes on serving, on the one that takes over.
			return addresses{attach: moved(held[0], observed, takesOver), refused: a.refused, waits: true}
		}
		if i < 0 && takesOver && leadsTo(rest, observed.LoadBalancer.VIP.PortID, want.Address) {
			a.release = append(a.release, release(held, wanted.KeepFloatingIP, owner)...)
		}
		// Otherwise what the old one has is detached when it ends, and stays.
		return a
	}
	return addresses{attach: moved(held[i], observed, takesOver), waits: true}
}

// moved lets a floating IP of the predecessor lead to the load balancer that takes over,
// by one call, so that nobody finds it leading nowhere.
func moved(f lb.FloatingIP, observed lb.Observed, takesOver bool) []Op {
	if !takesOver {
		return nil
	}
	return []Op{AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: observed.LoadBalancer.VIP.PortID}}
}

// heldBy returns the floating IPs that the predecessor has.
func heldBy(observed lb.Observed) []lb.FloatingIP {
	if observed.Predecessor == nil {
		return nil
	}
	var held []lb.FloatingIP
	for _, f := range observed.FloatingIPs {
		if f.PortID != "" && f.PortID == observed.Predecessor.VIP.PortID {
			held = append(held, f)
		}
	}
	return held
}

// leadsTo reports whether a floating IP with the address, or any if that is empty,
// is on the port.
func leadsTo(o lb.Observed, port, address string) bool {
	return slices.ContainsFunc(o.FloatingIPs, func(f lb.FloatingIP) bool {
		return f.PortID != "" && f.PortID == port && (address == "" || address == f.Address)
	})
}

// endOfPredecessor deletes the load balancer that was replaced when the other one has
// taken over, or when nothing is wanted any more.
func endOfPredecessor(wanted lb.Wanted, observed lb.Observed, a addresses, takesOver bool) []Op {
	old := observed.Predecessor
	if old == nil || old.ProvisioningStatus.Pending() || wanted.KeepAddress {
		return nil
	}
	if wanted.LoadBalancer != nil && (!takesOver || a.waits) {
		return nil
	}
	return []Op{DeleteLoadBalancer{ID: old.ID}}
}
