// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// RequestedAddresses returns the addresses and ids of floating IPs that the Service requests, whether it gets them or
// not.
func (p *Planner) RequestedAddresses(service *corev1.Service) []string {
	if !p.Serves(service) {
		return nil
	}
	options, _ := annotation.Parse(service.Annotations, p.Settings(service))
	var requested []string
	for _, address := range []string{options.FloatingIP, service.Spec.LoadBalancerIP} {
		if address != "" && !options.Internal {
			requested = append(requested, address)
		}
	}
	return requested
}

// requestedElsewhere returns what other Services request.
func (p *Planner) requestedElsewhere(ctx context.Context, service *corev1.Service) (requested []string, err error) {
	err = p.eachRequest(ctx, func(s *corev1.Service, address string) {
		if s.UID != service.UID {
			requested = append(requested, address)
		}
	})
	return requested, err
}

// abandoned returns the ids of the floating IPs in found whose Services, of this cluster, do not exist any more. This
// happens when a backup is restored. A Service that requests such a floating IP by its address gets it.
func (p *Planner) abandoned(ctx context.Context, found []lb.FloatingIP) ([]string, error) {
	made := map[string]string{}
	for _, f := range found {
		if mark, kept, marked := lb.MarkOfFloatingIP(f); marked && !kept && mark.ClusterUID == p.ClusterUID {
			made[f.ID] = mark.ServiceUID
		}
	}
	if len(made) == 0 {
		return nil, nil
	}
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list Services: %w", err)
	}
	exists := map[string]bool{}
	for i := range all.Items {
		exists[p.Owner(&all.Items[i]).ServiceUID] = true
		exists[string(all.Items[i].UID)] = true
	}
	maps.DeleteFunc(made, func(_, uid string) bool { return exists[uid] })
	return slices.Sorted(maps.Keys(made)), nil
}

// WaitingFor returns the Services that request the floating IP with the address and id.
func (p *Planner) WaitingFor(ctx context.Context, address, id string) (waiting []owner.Key, err error) {
	err = p.eachRequest(ctx, func(s *corev1.Service, requested string) {
		if requested == address || requested == id {
			waiting = append(waiting, owner.ServiceKey(s.Namespace, s.Name))
		}
	})
	return waiting, err
}

func (p *Planner) eachRequest(ctx context.Context, do func(s *corev1.Service, address string)) error {
	var all corev1.ServiceList
	if err := p.Reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	for i := range all.Items {
		for _, address := range p.RequestedAddresses(&all.Items[i]) {
			do(&all.Items[i], address)
		}
	}
	return nil
}
