// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Listed is a load balancer with its listeners, pools and health monitors, as in lists of the whole project. No list
// shows members, so it is not an observed load balancer: WithMembers turns it into one.
type Listed struct {
	// Bare is the load balancer without the members of its pools.
	Bare lb.LoadBalancer
	// Complete is true if all its children are in the lists.
	Complete bool
	// Members is the number of members of each pool, by the pool's id.
	Members map[string]int
}

// listedDocument also has the ids of the children, which show whether the lists are complete.
type listedDocument struct {
	loadBalancerDocument
	Listeners []reference `json:"listeners"`
	Pools     []reference `json:"pools"`
}

// Listed lists all load balancers of the project, with their children except members, with four calls per thousand
// objects.
func (c *Client) Listed(ctx context.Context) ([]Listed, error) {
	// The load balancers are read first: later changes show in updated_at.
	balancers, err := list[listedDocument](ctx, c, "loadbalancers", c.ofProject())
	if err != nil {
		return nil, err
	}
	listeners, err := list[listenerDocument](ctx, c, "listeners", c.ofProject())
	if err != nil {
		return nil, err
	}
	pools, err := list[poolDocument](ctx, c, "pools", c.ofProject())
	if err != nil {
		return nil, err
	}
	monitors, err := list[monitorDocument](ctx, c, "healthmonitors", c.ofProject())
	if err != nil {
		return nil, err
	}
	return join(balancers, listeners, pools, monitors), nil
}

// children are the listed children of one load balancer, in the order of the lists.
type children struct {
	listeners []listenerDocument
	pools     []poolDocument
}

// join combines load balancers and children. It omits deleted load balancers.
func join(balancers []listedDocument, listeners []listenerDocument, pools []poolDocument, monitors []monitorDocument) []Listed {
	parents, of := map[string]string{}, map[string]*children{}
	for _, d := range balancers {
		of[d.ID] = &children{}
		for _, child := range append(append([]reference{}, d.Listeners...), d.Pools...) {
			parents[child.ID] = d.ID
		}
	}
	for _, d := range listeners {
		if c := of[parents[d.ID]]; c != nil {
			c.listeners = append(c.listeners, d)
		}
	}
	for _, d := range pools {
		if c := of[parents[d.ID]]; c != nil {
			c.pools = append(c.pools, d)
		}
	}
	byID := make(map[string]lb.HealthMonitor, len(monitors))
	for _, d := range monitors {
		byID[d.ID] = d.model()
	}
	var all []Listed
	for _, d := range balancers {
		if d.ProvisioningStatus != lb.Deleted {
			all = append(all, joinOne(d, *of[d.ID], byID))
		}
	}
	return all
}

func joinOne(d listedDocument, c children, monitors map[string]lb.HealthMonitor) Listed {
	complete := len(c.listeners) == len(d.Listeners) && len(c.pools) == len(d.Pools)
	l := Listed{Bare: d.model(), Members: map[string]int{}}
	pools := map[string]*lb.Pool{}
	for _, d := range c.pools {
		pool := d.model()
		if id := value(d.MonitorID); id != "" {
			monitor, found := monitors[id]
			pool.Monitor, complete = &monitor, complete && found
		}
		pools[d.ID], l.Members[d.ID] = &pool, len(d.Members)
	}
	for _, d := range c.listeners {
		id := value(d.DefaultPoolID)
		complete = complete && (id == "" || pools[id] != nil)
	}
	attachPools(&l.Bare, c.listeners, c.pools, pools)
	l.Complete = complete
	return l
}

// WithMembers returns the load balancer with the members that the function returns for each of its pools. listener is
// the one whose default pool it is, or nil.
func (l Listed) WithMembers(members func(pool lb.Pool, listener *lb.Listener) ([]lb.Member, error)) (lb.LoadBalancer, error) {
	full, err := l.Bare, error(nil)
	full.Listeners = append([]lb.Listener(nil), full.Listeners...)
	for i := range full.Listeners {
		listener := &full.Listeners[i]
		if listener.Pool == nil {
			continue
		}
		pool := *listener.Pool
		pool.Members, err = members(pool, listener)
		if err != nil {
			return lb.LoadBalancer{}, err
		}
		listener.Pool = &pool
	}
	full.DetachedPools = append([]lb.Pool(nil), full.DetachedPools...)
	for i := range full.DetachedPools {
		pool := &full.DetachedPools[i]
		pool.Members, err = members(*pool, nil)
		if err != nil {
			return lb.LoadBalancer{}, err
		}
	}
	return full, nil
}

// ReadMembers reads the members of the load balancer, with one call for each pool that has any.
func (c *Client) ReadMembers(ctx context.Context, l Listed) (lb.LoadBalancer, error) {
	read := map[string][]lb.Member{} // several listeners may have one pool
	return l.WithMembers(func(pool lb.Pool, _ *lb.Listener) ([]lb.Member, error) {
		members, done := read[pool.ID]
		if done || l.Members[pool.ID] == 0 {
			return members, nil
		}
		members, err := c.membersOf(ctx, pool.ID)
		read[pool.ID] = members
		return members, err
	})
}

// Members returns the members of a pool, without settings. It returns false if the tree does not show the
// pool.
func (t Tree) Members(poolID string) ([]lb.Member, bool) {
	for _, listener := range t.Listeners {
		for _, pool := range listener.Pools {
			if pool.ID != poolID {
				continue
			}
			var members []lb.Member
			for _, m := range pool.Members {
				members = append(members, lb.Member{
					ID: m.ID, Name: m.Name, Address: m.Address, Port: m.ProtocolPort,
					ProvisioningStatus: m.ProvisioningStatus, OperatingStatus: m.OperatingStatus,
				})
			}
			return members, true
		}
	}
	return nil, false
}
