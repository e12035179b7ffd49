// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// addresses is the plan for floating IPs: the ops before the Octavia ops, and those after them, when the VIP
// port exists.
type addresses struct {
	release, attach []Op
	refused         []Refusal
	// waits means that the predecessor still has the address.
	waits bool
}

// found are the observed floating IPs, by what the Service may do with them. Floating IPs that are in none of the lists
// do not belong to the Service.
type found struct {
	attached  []lb.FloatingIP // to the VIP port
	detached  []lb.FloatingIP // ours, detached when their load balancer was deleted, or for another address
	kept      []lb.FloatingIP // left to the project by the Service, and detached
	elsewhere []lb.FloatingIP // ours, attached to another port by another client
}

func sortOut(all []lb.FloatingIP, port string, owner lb.Owner) (s found) {
	for _, f := range all {
		switch {
		case f.PortID != "" && f.PortID == port:
			s.attached = append(s.attached, f)
		case f.PortID == "" && owner.MadeFloatingIP(f):
			s.detached = append(s.detached, f)
		case f.PortID == "" && owner.KeptFloatingIP(f):
			s.kept = append(s.kept, f)
		case owner.MadeFloatingIP(f):
			s.elsewhere = append(s.elsewhere, f)
		}
	}
	return s
}

// planFloatingIPs plans in an order in which the Service always has an address:
//   - A floating IP of another network is attached beside the present one. The present one is released in a later plan.
//   - Neutron attaches only one floating IP of each network to an address of a port. So the present one is detached,
//     but not released. It is attached again if the cloud does not attach the new one.
//   - A detached floating IP is released in a later plan, when the new one is attached.
func planFloatingIPs(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) addresses {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	have, want := sortOut(observed.FloatingIPs, port, owner), wanted.FloatingIP
	if want == nil {
		attached := have.attached
		if observed.LoadBalancer != nil && wanted.LoadBalancer == nil {
			attached = inherited(*observed.LoadBalancer, attached, owner)
		}
		return addresses{release: append(release(attached, wanted, owner), releaseDetached(have.detached, wanted, owner)...)}
	}
	for i, f := range have.attached {
		if want.Address == "" {
			// Any address is fine, so a floating IP that a user provided is not detached.
			return addresses{release: releaseDetached(have.detached, wanted, owner), attach: retagged(f, want.Tags)}
		}
		if want.Address == f.Address {
			others := slices.Concat(have.attached[:i], have.attached[i+1:])
			return addresses{
				release: slices.Concat(release(others, wanted, owner), releaseDetached(have.detached, wanted, owner)),
				attach:  slices.Concat(retagged(f, want.Tags), untagged(observed.FloatingIPs, owner)),
			}
		}
	}
	attach, refused := acquire(wanted, observed.FloatingIPs, have, port, owner)
	former, served := formerAddress(wanted, observed.FloatingIPs, have, owner)
	if _, creates := attach.(CreateFloatingIP); creates && served && want.Address != "" {
		refused = &Refusal{ReasonFloatingIPNotFound, fmt.Sprintf(
			"the project has no floating IP %s; create it first: %s serves until then", want.Address, former.Address)}
	}
	_, rejected := wanted.Addresses.RejectionOf(former, port)
	switch {
	case refused != nil && served && former.PortID == "" && !rejected:
		return addresses{attach: []Op{AssociateFloatingIP{ID: former.ID, Address: former.Address, PortID: port}}, refused: []Refusal{*refused}}
	case refused != nil:
		// The present address stays.
		return addresses{refused: []Refusal{*refused}}
	}
	return addresses{attach: inPlaceOf(have.attached, attach, observed.FloatingIPs)}
}

// formerAddresses returns the plan for the floating IPs of a sharer whose own load balancer is gone. If the sharer
// published such a floating IP, users may have noted its address. So it stays: it is left to the project before another
// address is published. Others are released when the sharer is served.
func formerAddresses(wanted lb.Wanted, observed lb.Observed, owner lb.Owner, ready bool) (a addresses) {
	if wanted.KeepFloatingIP {
		return a // the Service keeps what it has, or is refused
	}
	for _, f := range sortOut(observed.FloatingIPs, observed.LoadBalancer.VIP.PortID, owner).detached {
		published := f.Address == wanted.Addresses.Published
		if !published && !ready {
			continue
		}
		now := wanted
		now.KeepFloatingIP = published
		a.release = append(a.release, releaseDetached([]lb.FloatingIP{f}, now, owner)...)
	}
	return a
}

// inherited returns the attached floating IPs with changed descriptions, for the plan only: those that are deleted with
// the load balancer are described as the owner's.
func inherited(l lb.LoadBalancer, attached []lb.FloatingIP, owner lb.Owner) []lb.FloatingIP {
	attached = slices.Clone(attached)
	for i, f := range attached {
		if owner.Inherits(l, f) {
			attached[i].Description = owner.FloatingIPDescription()
		}
	}
	return attached
}

// acquire attaches the first fitting candidate, unless it is attached to something else or was rejected by the cloud,
// or else creates a floating IP. If another client attached a floating IP of the Service elsewhere, acquire neither
// takes it back nor replaces it: either could be wrong.
func acquire(wanted lb.Wanted, all []lb.FloatingIP, have found, port string, owner lb.Owner) (Op, *Refusal) {
	want, facts := *wanted.FloatingIP, wanted.Addresses
	candidates := all
	if want.Address == "" {
		free := slices.DeleteFunc(slices.Clone(have.kept), facts.RequestedElsewhere)
		candidates = slices.Concat(publishedFirst(have.detached, facts.Published), free, have.elsewhere)
	}
	for _, f := range candidates {
		if want.Address != "" && f.Address != want.Address {
			continue
		}
		if refused := unavailable(f, want, facts, port, owner); refused != nil {
			return nil, refused
		}
		op := AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: port}
		switch {
		case want.Address == "" && owner.KeptFloatingIP(f):
			op.Description = owner.FloatingIPDescription()
		case madeForAnother(f, owner):
			// The other Service does not exist any more: like any address that a user requests, it stays from now on.
			op.Description = owner.KeptFloatingIPDescription()
		}
		return op, nil
	}
	want.PortID, want.Tags = port, nil // Neutron sets no tags in this call
	return CreateFloatingIP{FloatingIP: want}, nil
}

// unavailable returns why the floating IP cannot be attached to the port, as far as that is known before an
// attempt.
func unavailable(f, want lb.FloatingIP, facts lb.AddressFacts, port string, owner lb.Owner) *Refusal {
	inUse := func(format string, args ...any) *Refusal {
		return &Refusal{ReasonFloatingIPInUse, fmt.Sprintf("floating IP %s (%s) ", f.Address, f.ID) + fmt.Sprintf(format, args...)}
	}
	switch {
	case f.PortID != "" && want.Address == "":
		return inUse("was created for this Service but is attached to port %s; detach it there, or change its description to give it up and get another one", f.PortID)
	case f.PortID != "":
		return inUse("is attached to port %s, which does not belong to this Service; detach it there, or request another address", f.PortID)
	case madeForAnother(f, owner) && !slices.Contains(facts.Abandoned, f.ID):
		return inUse("was created for another Service, which may use it again; request another address, or change the description of the floating IP")
	case f.ForwardingRouterID != "":
		return inUse("has port forwardings on router %s; delete them, or request another address", f.ForwardingRouterID)
	}
	if rejected, is := facts.RejectionOf(f, port); is {
		return &Refusal{ReasonFloatingIPNotAttachable, rejected.Message}
	}
	return nil
}

// formerAddress returns the floating IP that the Service has, or the one that it had last and that is detached now.
func formerAddress(wanted lb.Wanted, all []lb.FloatingIP, have found, owner lb.Owner) (_ lb.FloatingIP, ok bool) {
	if len(have.attached) > 0 {
		return have.attached[0], true
	}
	for _, f := range all {
		if f.Address == wanted.Addresses.Published && f.Address != wanted.FloatingIP.Address && f.PortID == "" && f.ForwardingRouterID == "" && !madeForAnother(f, owner) {
			return f, true
		}
	}
	return lb.FloatingIP{}, false
}

// inPlaceOf attaches a floating IP to a port that has others. If one of them is of the same network, it is detached
// first.
func inPlaceOf(attached []lb.FloatingIP, attach Op, all []lb.FloatingIP) []Op {
	op, ok := attach.(AssociateFloatingIP)
	next := slices.IndexFunc(all, func(f lb.FloatingIP) bool { return f.ID == op.ID })
	if !ok || next < 0 {
		return []Op{attach}
	}
	var ops []Op
	for _, f := range attached {
		if !sameNetwork(f, all[next]) {
			continue
		}
		ops = append(ops, DisassociateFloatingIP{ID: f.ID, Address: f.Address, For: op.Address})
		op.Former = &AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: f.PortID}
	}
	return append(ops, op)
}

// sameNetwork reports whether both floating IPs are, or may be, of the same external network.
func sameNetwork(a, b lb.FloatingIP) bool {
	return a.NetworkID == b.NetworkID || a.NetworkID == "" || b.NetworkID == ""
}

// publishedFirst returns the floating IPs, the one that the Service published last first.
func publishedFirst(all []lb.FloatingIP, published string) []lb.FloatingIP {
	i := slices.IndexFunc(all, func(f lb.FloatingIP) bool { return f.Address == published })
	if i < 0 {
		return all
	}
	return slices.Concat(all[i:i+1], all[:i], all[i+1:])
}

// PortIsTaken reports whether the op cannot be carried out yet, because another floating IP of the same network is
// attached to the port.
func PortIsTaken(op AssociateFloatingIP, observed lb.Observed) bool {
	all := observed.FloatingIPs
	i := slices.IndexFunc(all, func(f lb.FloatingIP) bool { return f.ID == op.ID })
	return i >= 0 && slices.ContainsFunc(all, func(f lb.FloatingIP) bool {
		return f.ID != op.ID && f.PortID != "" && f.PortID == op.PortID && sameNetwork(f, all[i])
	})
}

// Releases returns the address that the Service gives up by the op, or "".
func Releases(op Op) string {
	switch op := op.(type) {
	case DeleteFloatingIP:
		return op.Address
	case DisassociateFloatingIP:
		if op.For == "" {
			return op.Address
		}
	}
	return ""
}

// madeForAnother reports whether the floating IP has the mark of another Service, of this cluster or another one. Such
// a floating IP may be detached for a while, for example when a load balancer is replaced. A kept floating IP does not
// count: any Service of the project may use it.
func madeForAnother(f lb.FloatingIP, owner lb.Owner) bool {
	_, kept, marked := lb.MarkOfFloatingIP(f)
	return marked && !kept && !owner.MadeFloatingIP(f)
}

// releases reports whether the floating IP is deleted when it is released. It is not deleted if a user provided it, if
// it is to be kept, or if another Service requests it.
func releases(f lb.FloatingIP, wanted lb.Wanted, owner lb.Owner) bool {
	return owner.MadeFloatingIP(f) && !wanted.KeepFloatingIP && !wanted.Addresses.RequestedElsewhere(f)
}

// release releases floating IPs of the VIP port: they are deleted or detached.
func release(attached []lb.FloatingIP, wanted lb.Wanted, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range attached {
		if releases(f, wanted, owner) {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else {
			ops = append(ops, append(retagged(f, nil), keep(f, owner))...)
		}
	}
	return ops
}

// releaseDetached deletes detached floating IPs of ours, or describes them as kept.
func releaseDetached(detached []lb.FloatingIP, wanted lb.Wanted, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range detached {
		if releases(f, wanted, owner) {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else if op := keep(f, owner); op.Description != "" {
			ops = append(ops, append(retagged(f, nil), op)...)
		}
	}
	return ops
}

// untagged removes our custom tags from floating IPs that users provided and that were detached to make room for
// another one.
func untagged(all []lb.FloatingIP, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range all {
		if f.PortID == "" && !owner.MadeFloatingIP(f) && !madeForAnother(f, owner) {
			ops = append(ops, retagged(f, nil)...)
		}
	}
	return ops
}

// retagged sets the custom tags of a floating IP. When a floating IP is released, its custom tags are removed.
func retagged(f lb.FloatingIP, want []string) []Op {
	if !lb.CustomDiffer(f.Tags, want) {
		return nil
	}
	return []Op{SetFloatingIPTags{ID: f.ID, Address: f.Address, Tags: lb.Retag(f.Tags, want)}}
}

// keep detaches a floating IP and keeps it. If it has our mark, its description is changed to contain "kept". A
// floating IP of openstack-cloud-controller-manager keeps its description.
func keep(f lb.FloatingIP, owner lb.Owner) DisassociateFloatingIP {
	op := DisassociateFloatingIP{ID: f.ID, Address: f.Address}
	if _, _, marked := lb.MarkOfFloatingIP(f); marked && owner.MadeFloatingIP(f) {
		op.Description = owner.KeptFloatingIPDescription()
	}
	return op
}
