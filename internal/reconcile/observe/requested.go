// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"context"
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// requestedAddresses returns the addresses and ids of floating IPs that the Service requests, whether it gets them or
// not.
func requestedAddresses(of claim.Owner) []string {
	if !of.Serves {
		return nil
	}
	var requested []string
	for _, address := range []string{of.Spec.Options.FloatingIP, of.Spec.LoadBalancerIP} {
		if address != "" && !of.Spec.Options.Internal {
			requested = append(requested, address)
		}
	}
	return requested
}

// RequestedElsewhere returns what other Services request.
func (ob *Observer) RequestedElsewhere(ctx context.Context, of claim.Owner) (requested []string, err error) {
	err = ob.eachRequest(ctx, func(other claim.Owner, address string) {
		if other.UID != of.UID {
			requested = append(requested, address)
		}
	})
	return requested, err
}

// Abandoned returns the ids of the floating IPs in found whose Services, of this cluster, do not exist any more. This
// happens when a backup is restored. A Service that requests such a floating IP by its address gets it.
func (ob *Observer) Abandoned(ctx context.Context, found []lb.FloatingIP) ([]string, error) {
	made := map[string]string{}
	for _, f := range found {
		if mark, kept, marked := lb.MarkOfFloatingIP(f); marked && !kept && mark.ClusterUID == ob.Policy.ClusterUID {
			made[f.ID] = mark.ServiceUID
		}
	}
	if len(made) == 0 {
		return nil, nil
	}
	all, err := ob.Owners.List(ctx)
	if err != nil {
		return nil, err
	}
	exists := map[string]bool{}
	for _, of := range all {
		exists[of.Identity.ServiceUID] = true
		exists[string(of.UID)] = true
	}
	maps.DeleteFunc(made, func(_, uid string) bool { return exists[uid] })
	return slices.Sorted(maps.Keys(made)), nil
}

// WaitingFor returns the Services that request the floating IP with the address and id.
func (ob *Observer) WaitingFor(ctx context.Context, address, id string) (waiting []owner.Key, err error) {
	err = ob.eachRequest(ctx, func(other claim.Owner, requested string) {
		if requested == address || requested == id {
			waiting = append(waiting, other.Key)
		}
	})
	return waiting, err
}

func (ob *Observer) eachRequest(ctx context.Context, do func(of claim.Owner, address string)) error {
	all, err := ob.Owners.List(ctx)
	if err != nil {
		return err
	}
	for _, of := range all {
		for _, address := range requestedAddresses(of) {
			do(of, address)
		}
	}
	return nil
}
