// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// addresses is the plan for floating IPs: what goes before the Octavia ops and
// what comes after, when the VIP port is sure to be there.
type addresses struct {
	release, attach []Op
	refused         []Refusal
	// waits is whether a predecessor has the address still.
	waits bool
}

func floatingIPs(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) addresses {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	// on are those that lead to the VIP port now, strays those that we made
	// and that lead nowhere since their load balancer vanished, kept those that
	// the Service left to the project, and elsewhere those that we made and that
	// somebody let lead to something else.
	var on, strays, kept, elsewhere []lb.FloatingIP
	for _, f := range observed.FloatingIPs {
		switch {
		case f.PortID != "" && f.PortID == port:
			on = append(on, f)
		case f.PortID == "" && owner.MadeFloatingIP(f):
			strays = append(strays, f)
		case f.PortID == "" && owner.KeptFloatingIP(f):
			kept = append(kept, f)
		case owner.MadeFloatingIP(f):
			elsewhere = append(elsewhere, f)
		}
	}
	keep, want := wanted.KeepFloatingIP, wanted.FloatingIP
	if want == nil {
		return addresses{release: append(release(on, keep, owner), discard(strays, keep, owner)...)}
	}
	for i, f := range on {
		if want.Address == "" {
			// Any will do, so none of a person's is taken away.
			return addresses{release: discard(strays, keep, owner), attach: retagged(f, want.Tags)}
		}
		if want.Address == f.Address {
			others := append(append([]lb.FloatingIP{}, on[:i]...), on[i+1:]...)
			return addresses{release: append(release(others, keep, owner), discard(strays, keep, owner)...), attach: retagged(f, want.Tags)}
		}
	}
	candidates := observed.FloatingIPs
	if want.Address == "" {
		candidates = append(slices.Concat(strays, kept), elsewhere...)
	}
	attach, refused := acquire(*want, candidates, port, owner)
	if _, creates := attach.(CreateFloatingIP); creates && len(on) > 0 {
		refused = &Refusal{ReasonFloatingIPNotFound, fmt.Sprintf(
			"the project has no floating IP %s; create it first: %s serves until then", want.Address, on[0].Address)}
	}
	if refused != nil {
		// What serves now goes on serving.
		return addresses{refused: []Refusal{*refused}}
	}
	return addresses{release: release(on, keep, owner), attach: []Op{attach}}
}

// acquire plans how the wanted floating IP comes to the port: one of the
// candidates that fits is attached unless it serves something else, otherwise
// one is made. The Service's own one that somebody attached elsewhere is neither
// taken back nor replaced: either might be what nobody meant.
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
	want.PortID, want.Tags = port, nil // Neutron takes none in this call
	return CreateFloatingIP{FloatingIP: want}, nil
}

// madeForAnother reports whether the floating IP bears the mark of another Service,
// of this cluster or another. It may lead nowhere for a while, as when that one's
// load balancer is replaced. One that was kept is free for every Service of the project.
func madeForAnother(f lb.FloatingIP, owner lb.Owner) bool {
	_, kept, marked := lb.MarkOfFloatingIP(f)
	return marked && !kept && !owner.MadeFloatingIP(f)
}

// release lets go of floating IPs on the VIP port: ours are deleted unless they
// are to be kept, those that a person gave are only detached.
func release(on []lb.FloatingIP, keep bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range on {
		if owner.MadeFloatingIP(f) && !keep {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else {
			ops = append(ops, append(retagged(f, nil), leave(f, owner))...)
		}
	}
	return ops
}

// discard deletes floating IPs of ours that lead nowhere, or says of them that
// they are kept.
func discard(strays []lb.FloatingIP, keep bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range strays {
		if !keep {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else if op := leave(f, owner); op.Description != "" {
			ops = append(ops, append(retagged(f, nil), op)...)
		}
	}
	return ops
}

// retagged gives a floating IP the custom tags that it is to have. Those of one that is let
// go of are taken off.
func retagged(f lb.FloatingIP, want []string) []Op {
	if !lb.CustomDiffer(f.Tags, want) {
		return nil
	}
	return []Op{SetFloatingIPTags{ID: f.ID, Address: f.Address, Tags: lb.Retag(f.Tags, want)}}
}

// leave detaches a floating IP and keeps it. One that bears our mark is described
// as kept; one that openstack-cloud-controller-manager made stays as that knows it.
func leave(f lb.FloatingIP, owner lb.Owner) DisassociateFloatingIP {
	op := DisassociateFloatingIP{ID: f.ID, Address: f.Address}
	if _, _, marked := lb.MarkOfFloatingIP(f); marked && owner.MadeFloatingIP(f) {
		op.Description = owner.KeptFloatingIPDescription()
	}
	return op
}
