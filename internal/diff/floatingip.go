// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// addresses is the plan for floating IPs: what comes before the Octavia ops, and what comes after them, when the
// VIP port exists.
type addresses struct {
	release, attach []Op
	refused         []Refusal
	// waits means that the predecessor still has the address.
	waits bool
}

func planFloatingIPs(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) addresses {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	var (
		attached  []lb.FloatingIP // to the VIP port
		detached  []lb.FloatingIP // ours, detached when their load balancer was deleted
		kept      []lb.FloatingIP // left to the project by the Service, and detached
		elsewhere []lb.FloatingIP // ours, attached to another port by somebody
	)
	for _, f := range observed.FloatingIPs {
		switch {
		case f.PortID != "" && f.PortID == port:
			attached = append(attached, f)
		case f.PortID == "" && owner.MadeFloatingIP(f):
			detached = append(detached, f)
		case f.PortID == "" && owner.KeptFloatingIP(f):
			kept = append(kept, f)
		case owner.MadeFloatingIP(f):
			elsewhere = append(elsewhere, f)
		}
	}
	keepAll, want := wanted.KeepFloatingIP, wanted.FloatingIP
	if want == nil {
		if observed.LoadBalancer != nil && wanted.LoadBalancer == nil {
			attached = inherited(*observed.LoadBalancer, attached, owner)
		}
		return addresses{release: append(release(attached, keepAll, owner), releaseDetached(detached, keepAll, owner)...)}
	}
	for i, f := range attached {
		if want.Address == "" {
			// Any address is fine, so a person's is not detached.
			return addresses{release: releaseDetached(detached, keepAll, owner), attach: retagged(f, want.Tags)}
		}
		if want.Address == f.Address {
			others := slices.Concat(attached[:i], attached[i+1:])
			return addresses{release: append(release(others, keepAll, owner), releaseDetached(detached, keepAll, owner)...), attach: retagged(f, want.Tags)}
		}
	}
	candidates := observed.FloatingIPs
	if want.Address == "" {
		candidates = slices.Concat(detached, kept, elsewhere)
	}
	attach, refused := acquire(*want, candidates, port, owner)
	if _, creates := attach.(CreateFloatingIP); creates && len(attached) > 0 {
		refused = &Refusal{ReasonFloatingIPNotFound, fmt.Sprintf(
			"the project has no floating IP %s; create it first: %s serves until then", want.Address, attached[0].Address)}
	}
	if refused != nil {
		// The present address stays.
		return addresses{refused: []Refusal{*refused}}
	}
	return addresses{release: release(attached, keepAll, owner), attach: []Op{attach}}
}

// inherited describes, in the plan only, floating IPs as the owner's that are deleted with the load balancer.
func inherited(l lb.LoadBalancer, attached []lb.FloatingIP, owner lb.Owner) []lb.FloatingIP {
	attached = slices.Clone(attached)
	for i, f := range attached {
		if owner.Inherits(l, f) {
			attached[i].Description = owner.FloatingIPDescription()
		}
	}
	return attached
}

// acquire attaches the first fitting candidate, unless it is attached to something else, or else creates a floating
// IP. One of the Service that somebody attached elsewhere is neither taken back nor replaced: either could be a
// mistake.
func acquire(want lb.FloatingIP, candidates []lb.FloatingIP, port string, owner lb.Owner) (Op, *Refusal) {
	for _, f := range candidates {
		switch {
		case want.Address != "" && f.Address != want.Address:
			continue
		case f.PortID != "" && want.Address == "":
			return nil, &Refusal{ReasonFloatingIPInUse, fmt.Sprintf(
				"floating IP %s (%s) was created for this Service but is attached to port %s; detach it there, or change its description to give it up and get another one",
				f.Address, f.ID, f.PortID)}
		case f.PortID != "":
			return nil, &Refusal{ReasonFloatingIPInUse, fmt.Sprintf(
				"floating IP %s (%s) is attached to port %s, which does not belong to this Service; detach it there, or request another address",
				f.Address, f.ID, f.PortID)}
		case madeForAnother(f, owner):
			return nil, &Refusal{ReasonFloatingIPInUse, fmt.Sprintf(
				"floating IP %s (%s) was created for another Service, which may use it again; request another address, or change the description of the floating IP",
				f.Address, f.ID)}
		}
		op := AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: port}
		if want.Address == "" && owner.KeptFloatingIP(f) {
			op.Description = owner.FloatingIPDescription()
		}
		return op, nil
	}
	want.PortID, want.Tags = port, nil // Neutron sets no tags in this call
	return CreateFloatingIP{FloatingIP: want}, nil
}

// madeForAnother reports whether the floating IP has the mark of another Service, of this cluster or another one.
// It may be detached for a while, as when a load balancer is replaced. Any Service of the project may use a kept
// one.
func madeForAnother(f lb.FloatingIP, owner lb.Owner) bool {
	_, kept, marked := lb.MarkOfFloatingIP(f)
	return marked && !kept && !owner.MadeFloatingIP(f)
}

// release releases floating IPs of the VIP port: ours are deleted unless they are to be kept; a person's are
// detached.
func release(attached []lb.FloatingIP, keepAll bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range attached {
		if owner.MadeFloatingIP(f) && !keepAll {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else {
			ops = append(ops, append(retagged(f, nil), keep(f, owner))...)
		}
	}
	return ops
}

// releaseDetached deletes detached floating IPs of ours, or describes them as kept.
func releaseDetached(detached []lb.FloatingIP, keepAll bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range detached {
		if !keepAll {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else if op := keep(f, owner); op.Description != "" {
			ops = append(ops, append(retagged(f, nil), op)...)
		}
	}
	return ops
}

// retagged sets the custom tags of a floating IP. Those of a released one are removed.
func retagged(f lb.FloatingIP, want []string) []Op {
	if !lb.CustomDiffer(f.Tags, want) {
		return nil
	}
	return []Op{SetFloatingIPTags{ID: f.ID, Address: f.Address, Tags: lb.Retag(f.Tags, want)}}
}

// keep detaches a floating IP and keeps it. If it has our mark, its description changes to kept; one of
// openstack-cloud-controller-manager keeps its own.
func keep(f lb.FloatingIP, owner lb.Owner) DisassociateFloatingIP {
	op := DisassociateFloatingIP{ID: f.ID, Address: f.Address}
	if _, _, marked := lb.MarkOfFloatingIP(f); marked && owner.MadeFloatingIP(f) {
		op.Description = owner.KeptFloatingIPDescription()
	}
	return op
}
