// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// ErrNotListed is the error for what the lists do not show. It has to be read from the cloud.
var ErrNotListed = errors.New("it is not in the lists")

// Snapshot is what the lists show, in place of calls. Its methods are those of the clients of Octavia
// and Neutron, but make no call.
type Snapshot struct {
	balancers map[string]octavia.Listed
	byName    map[string][]lb.LoadBalancer
	byPort    map[string][]lb.FloatingIP
	byAddress map[string][]lb.FloatingIP
}

// NewSnapshot returns the snapshot of complete lists.
func NewSnapshot(balancers []octavia.Listed, floating []lb.FloatingIP) *Snapshot {
	s := &Snapshot{map[string]octavia.Listed{}, map[string][]lb.LoadBalancer{}, map[string][]lb.FloatingIP{}, map[string][]lb.FloatingIP{}}
	for _, l := range balancers {
		bare := l.Bare
		s.balancers[bare.ID] = l
		s.byName[bare.Name] = append(s.byName[bare.Name], head(bare))
	}
	for _, f := range floating {
		s.byAddress[f.Address] = append(s.byAddress[f.Address], f)
		if f.PortID != "" {
			s.byPort[f.PortID] = append(s.byPort[f.PortID], f)
		}
	}
	return s
}

func head(l lb.LoadBalancer) lb.LoadBalancer {
	l.Listeners, l.DetachedPools = nil, nil
	return l
}

// FindByName returns the load balancers of the name, of which there must be one.
func (s *Snapshot) FindByName(_ context.Context, name string) ([]lb.LoadBalancer, error) {
	if len(s.byName[name]) == 0 {
		return nil, ErrNotListed
	}
	return s.byName[name], nil
}

// Get returns a load balancer without children.
func (s *Snapshot) Get(_ context.Context, id string) (lb.LoadBalancer, error) {
	l, found := s.balancers[id]
	if !found {
		return lb.LoadBalancer{}, ErrNotListed
	}
	return head(l.Bare), nil
}

// Observe returns the load balancer with its children. Its members are not known: see Listed.
func (s *Snapshot) Observe(_ context.Context, l lb.LoadBalancer) (lb.LoadBalancer, error) {
	listed, found := s.balancers[l.ID]
	if !found || !listed.Complete {
		return l, ErrNotListed
	}
	return listed.Bare, nil
}

// Listed returns the load balancer, which is empty if it is not in the lists.
func (s *Snapshot) Listed(id string) octavia.Listed { return s.balancers[id] }

// FloatingIPsOn returns the floating IPs on the port.
func (s *Snapshot) FloatingIPsOn(_ context.Context, portID string) ([]lb.FloatingIP, error) {
	return s.byPort[portID], nil
}

// FloatingIPsWithAddress returns the floating IP with the address.
func (s *Snapshot) FloatingIPsWithAddress(_ context.Context, address string) ([]lb.FloatingIP, error) {
	return s.byAddress[address], nil
}
