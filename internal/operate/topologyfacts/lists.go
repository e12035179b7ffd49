// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topologyfacts

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

// lists are all load balancers and floating IPs of the project, and details of load balancers. It implements
// observe.Lists.
type lists struct {
	readAt    time.Time
	balancers []octavia.Listed
	floating  []lb.FloatingIP
	details   map[string]detail
}

// detail has what lists do not show about a load balancer.
type detail struct {
	// version is the version of the load balancer when its members were read; members are by pool id.
	version string
	members map[string][]lb.Member
	// health is the operating status of the load balancer when the statuses were read.
	health   string
	statuses map[string]octavia.Status
	statusAt time.Time
}

var (
	errMembersNotRead = errors.New("the members were not read yet")
	errIncomplete     = errors.New("the load balancer changed while it was listed; the next lists show it")
)

// version returns a text that changes when a load balancer or one of its children is changed
// through the API.
func version(l octavia.Listed) string {
	return l.Bare.UpdatedAt + " " + string(l.Bare.ProvisioningStatus)
}

// find returns the listed load balancer with the id, or nil.
func (l *lists) find(id string) *octavia.Listed {
	i := slices.IndexFunc(l.balancers, func(b octavia.Listed) bool { return b.Bare.ID == id })
	if i < 0 {
		return nil
	}
	return &l.balancers[i]
}

// current reports whether the known members of the load balancer are up to date.
func (l *lists) current(b octavia.Listed) bool {
	d, known := l.details[b.Bare.ID]
	if !known || d.version != version(b) {
		return false
	}
	for pool, n := range b.Members {
		if len(d.members[pool]) != n {
			return false
		}
	}
	return true
}

// detailsOf returns the details of a load balancer for the page.
func (l *lists) detailsOf(id string) topology.Details {
	b := l.find(id)
	if b == nil {
		return topology.Details{}
	}
	d := l.details[id]
	return topology.Details{MembersRead: l.current(*b), Statuses: d.statuses, StatusAt: d.statusAt}
}

func head(b octavia.Listed) lb.LoadBalancer {
	l := b.Bare
	l.Listeners, l.DetachedPools = nil, nil
	return l
}

// FindByName implements observe.Lists.
func (l *lists) FindByName(_ context.Context, name string) (found []lb.LoadBalancer, _ error) {
	for _, b := range l.balancers {
		if b.Bare.Name == name {
			found = append(found, head(b))
		}
	}
	return found, nil
}

// Get implements observe.Lists.
func (l *lists) Get(_ context.Context, id string) (lb.LoadBalancer, error) {
	if b := l.find(id); b != nil {
		return head(*b), nil
	}
	return lb.LoadBalancer{}, &openstack.Error{Op: "find load balancer " + id, Class: openstack.Gone, Message: "the project does not have it"}
}

// Observe implements observe.Lists.
func (l *lists) Observe(_ context.Context, of lb.LoadBalancer) (lb.LoadBalancer, error) {
	b := l.find(of.ID)
	switch {
	case b == nil || !b.Complete:
		return of, errIncomplete
	case !l.current(*b):
		return b.Bare, errMembersNotRead
	}
	return b.WithMembers(func(pool lb.Pool, _ *lb.Listener) ([]lb.Member, error) {
		return l.details[of.ID].members[pool.ID], nil
	})
}

// FloatingIPsOn implements observe.Lists.
func (l *lists) FloatingIPsOn(_ context.Context, portID string) ([]lb.FloatingIP, error) {
	return l.floatingIPs(func(f lb.FloatingIP) bool { return f.PortID == portID }), nil
}

// FloatingIPsWithAddress implements observe.Lists.
func (l *lists) FloatingIPsWithAddress(_ context.Context, address string) ([]lb.FloatingIP, error) {
	return l.floatingIPs(func(f lb.FloatingIP) bool { return f.Address == address }), nil
}

func (l *lists) floatingIPs(is func(lb.FloatingIP) bool) []lb.FloatingIP {
	var found []lb.FloatingIP
	for _, f := range l.floating {
		if is(f) {
			found = append(found, f)
		}
	}
	return found
}
