// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// addresses is the plan for floating IPs: what goes before the Octavia ops and
// what comes after, when the VIP port is sure to be there.
type addresses struct {
	release, attach []Op
	refused         []Refusal
}

func floatingIPs(wanted lb.Wanted, observed lb.Observed, owner lb.Owner) addresses {
	var port string
	if observed.LoadBalancer != nil {
		port = observed.LoadBalancer.VIP.PortID
	}
	// on are those that lead to the VIP port now.
	var on []lb.FloatingIP
	for _, f := range observed.FloatingIPs {
		if port != "" && f.PortID == port {
			on = append(on, f)
		}
	}
	want := wanted.FloatingIP
	if want == nil {
		return addresses{release: releaseAll(on, wanted.KeepFloatingIP, owner)}
	}
	for i, f := range on {
		if want.Address == "" || want.Address == f.Address {
			others := append(append([]lb.FloatingIP{}, on[:i]...), on[i+1:]...)
			if want.Address == "" {
				// Any will do, so none of a person's is taken away.
				others = nil
			}
			return addresses{release: releaseAll(others, wanted.KeepFloatingIP, owner)}
		}
	}
	attach, refused := acquire(*want, observed, port)
	if refused != nil {
		// What serves now goes on serving.
		return addresses{refused: []Refusal{*refused}}
	}
	return addresses{release: releaseAll(on, wanted.KeepFloatingIP, owner), attach: []Op{attach}}
}

// acquire plans how the wanted floating IP comes to the port: one that exists
// is attached unless it serves something else, otherwise it is made.
func acquire(want lb.FloatingIP, observed lb.Observed, port string) (Op, *Refusal) {
	for _, f := range observed.FloatingIPs {
		if want.Address == "" || f.Address != want.Address {
			continue
		}
		if f.PortID != "" {
			return nil, &Refusal{ReasonFloatingIPInUse, fmt.Sprintf(
				"floating IP %s (%s) is attached to port %s, which is not this Service's; detach it there or ask for another address",
				f.Address, f.ID, f.PortID)}
		}
		return AssociateFloatingIP{ID: f.ID, Address: f.Address, PortID: port}, nil
	}
	want.PortID = port
	return CreateFloatingIP{FloatingIP: want}, nil
}

// releaseAll lets go of floating IPs: ours are deleted unless they are to be
// kept, those that a person gave are only detached.
func releaseAll(all []lb.FloatingIP, keep bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range all {
		if owner.MadeFloatingIP(f) && !keep {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else {
			ops = append(ops, DisassociateFloatingIP{ID: f.ID, Address: f.Address})
		}
	}
	return ops
}
