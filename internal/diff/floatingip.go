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
	// on are those that lead to the VIP port now, strays those that we made
	// and that lead nowhere since their load balancer vanished.
	var on, strays []lb.FloatingIP
	for _, f := range observed.FloatingIPs {
		switch {
		case f.PortID != "" && f.PortID == port:
			on = append(on, f)
		case f.PortID == "" && owner.MadeFloatingIP(f):
			strays = append(strays, f)
		}
	}
	keep, want := wanted.KeepFloatingIP, wanted.FloatingIP
	if want == nil {
		return addresses{release: append(release(on, keep, owner), discard(strays, keep)...)}
	}
	for i, f := range on {
		if want.Address == "" {
			// Any will do, so none of a person's is taken away.
			return addresses{release: discard(strays, keep)}
		}
		if want.Address == f.Address {
			others := append(append([]lb.FloatingIP{}, on[:i]...), on[i+1:]...)
			return addresses{release: append(release(others, keep, owner), discard(strays, keep)...)}
		}
	}
	candidates := observed.FloatingIPs
	if want.Address == "" {
		candidates = strays
	}
	attach, refused := acquire(*want, candidates, port)
	if _, creates := attach.(CreateFloatingIP); creates && len(on) > 0 {
		refused = &Refusal{ReasonFloatingIPNotFound, fmt.Sprintf(
			"there is no floating IP %s in the project; make it there first: %s serves until then", want.Address, on[0].Address)}
	}
	if refused != nil {
		// What serves now goes on serving.
		return addresses{refused: []Refusal{*refused}}
	}
	return addresses{release: release(on, keep, owner), attach: []Op{attach}}
}

// acquire plans how the wanted floating IP comes to the port: one of the
// candidates that fits is attached unless it serves something else, otherwise
// one is made.
func acquire(want lb.FloatingIP, candidates []lb.FloatingIP, port string) (Op, *Refusal) {
	for _, f := range candidates {
		if want.Address != "" && f.Address != want.Address {
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

// release lets go of floating IPs on the VIP port: ours are deleted unless they
// are to be kept, those that a person gave are only detached.
func release(on []lb.FloatingIP, keep bool, owner lb.Owner) []Op {
	var ops []Op
	for _, f := range on {
		if owner.MadeFloatingIP(f) && !keep {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		} else {
			ops = append(ops, DisassociateFloatingIP{ID: f.ID, Address: f.Address})
		}
	}
	return ops
}

// discard deletes floating IPs of ours that lead nowhere.
func discard(strays []lb.FloatingIP, keep bool) []Op {
	var ops []Op
	for _, f := range strays {
		if !keep {
			ops = append(ops, DeleteFloatingIP{ID: f.ID, Address: f.Address})
		}
	}
	return ops
}
