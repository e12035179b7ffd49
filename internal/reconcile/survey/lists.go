// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"sync"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Lists are complete lists of the project, which a command has read just now. They stand for the clients of Octavia and
// Neutron while the command plans for many Services: what they do not show does not exist. Members are read when they are
// asked for, once for each load balancer. Lists are safe for concurrent use.
type Lists struct {
	*Snapshot
	client *octavia.Client

	mu   sync.Mutex
	full map[string]func() (lb.LoadBalancer, error)
}

// NewLists returns the lists. The client reads what they lack.
func NewLists(client *octavia.Client, balancers []octavia.Listed, floating []lb.FloatingIP) *Lists {
	return &Lists{Snapshot: NewSnapshot(balancers, floating), client: client, full: map[string]func() (lb.LoadBalancer, error){}}
}

// FindByName returns the load balancers of the name.
func (l *Lists) FindByName(_ context.Context, name string) ([]lb.LoadBalancer, error) {
	return l.byName[name], nil
}

// Get returns a load balancer without children. If it does not exist, the error is of class Gone.
func (l *Lists) Get(ctx context.Context, id string) (lb.LoadBalancer, error) {
	found, err := l.Snapshot.Get(ctx, id)
	if err != nil {
		return lb.LoadBalancer{}, &openstack.Error{Op: "read load balancer " + id, Class: openstack.Gone, Message: "the project does not have it"}
	}
	return found, nil
}

// Observe returns the load balancer with its children. It reads the members of each pool that has any and, if the lists
// lack other children, these too.
func (l *Lists) Observe(ctx context.Context, head lb.LoadBalancer) (lb.LoadBalancer, error) {
	l.mu.Lock()
	read := l.full[head.ID]
	if read == nil {
		read = sync.OnceValues(func() (lb.LoadBalancer, error) {
			if listed := l.Listed(head.ID); listed.Complete {
				return l.client.ReadMembers(ctx, listed)
			}
			return l.client.Observe(ctx, head)
		})
		l.full[head.ID] = read
	}
	l.mu.Unlock()
	return read()
}
