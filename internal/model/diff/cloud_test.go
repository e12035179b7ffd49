// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// cloud is a model of Octavia and Neutron: one Service's load balancer and floating IPs. It carries out one op. It
// refuses what the real services refuse, and also useless ops, and ops that take something from others. It shares
// no code with After, which is checked against it.
type cloud struct {
	owner lb.Owner
	// sharedPorts means that TCP and UDP may share a port number (API 2.13).
	sharedPorts bool

	balancer   *lb.LoadBalancer // without listeners and pools
	listeners  map[string]listenerRow
	pools      map[string]poolRow
	floating   map[string]lb.FloatingIP
	duplicates []string
	made       int
}

type listenerRow struct {
	born int
	lb.Listener
	pool string
}

type poolRow struct {
	born int
	lb.Pool
}

func newCloud(owner lb.Owner) *cloud {
	return &cloud{owner: owner, sharedPorts: true, listeners: map[string]listenerRow{}, pools: map[string]poolRow{}, floating: map[string]lb.FloatingIP{}}
}

func (c *cloud) id(kind string) (string, int) {
	c.made++
	return fmt.Sprintf("%s-%d", kind, c.made), c.made
}

// observe returns the state of the cloud, with listeners and pools in the order of their creation.
func (c *cloud) observe() lb.Observed {
	o := lb.Observed{Duplicates: slices.Clone(c.duplicates)}
	for _, id := range slices.Sorted(maps.Keys(c.floating)) {
		o.FloatingIPs = append(o.FloatingIPs, c.floating[id])
	}
	if c.balancer == nil {
		return o
	}
	l := *c.balancer
	l.Tags = slices.Clone(l.Tags)
	o.Sharer = !c.owner.Owns(l)
	used := map[string]bool{}
	for _, row := range slices.SortedFunc(maps.Values(c.listeners), func(a, b listenerRow) int { return a.born - b.born }) {
		listener := row.Listener
		listener.AllowedCIDRs = slices.Clone(listener.AllowedCIDRs)
		listener.InsertHeaders = slices.Clone(listener.InsertHeaders)
		if listener.TLS != nil {
			listener.TLS = &lb.TLS{Certificate: listener.TLS.Certificate, SNI: slices.Clone(listener.TLS.SNI)}
		}
		if row.pool != "" {
			used[row.pool] = true
			p := c.pool(row.pool)
			listener.Pool = &p
		}
		l.Listeners = append(l.Listeners, listener)
	}
	for _, row := range slices.SortedFunc(maps.Values(c.pools), func(a, b poolRow) int { return a.born - b.born }) {
		if !used[row.ID] {
			l.DetachedPools = append(l.DetachedPools, c.pool(row.ID))
		}
	}
	o.LoadBalancer = &l
	return o
}

func (c *cloud) pool(id string) lb.Pool {
	p := c.pools[id].Pool
	p.Members = slices.Clone(p.Members)
	if p.Monitor != nil {
		m := *p.Monitor
		p.Monitor = &m
	}
	if p.Persistence != nil {
		s := *p.Persistence
		p.Persistence = &s
	}
	return p
}

// settle completes the work of Octavia.
func (c *cloud) settle() {
	if c.balancer == nil {
		return
	}
	switch c.balancer.ProvisioningStatus {
	case lb.PendingDelete:
		for id, f := range c.floating {
			if f.PortID == c.balancer.VIP.PortID {
				f.PortID = ""
				c.floating[id] = f
			}
		}
		c.balancer = nil
		clear(c.listeners)
		clear(c.pools)
	case lb.PendingCreate, lb.PendingUpdate:
		c.balancer.ProvisioningStatus = lb.Active
	}
}

// apply carries out one op, or says why the cloud refuses it.
func (c *cloud) apply(op Op) (Created, error) {
	switch op := op.(type) {
	case CreateFloatingIP, AssociateFloatingIP, DisassociateFloatingIP, DeleteFloatingIP, SetFloatingIPTags:
		return c.applyFloating(op)
	case CreateLoadBalancer:
		if c.balancer != nil {
			return Created{}, fmt.Errorf("there is a load balancer already: %s", c.balancer.ID)
		}
		made := c.create(op.LoadBalancer, lb.PendingCreate)
		for _, l := range op.LoadBalancer.Listeners {
			if err := c.enforces(l.AllowedCIDRs); err != nil {
				return Created{}, err
			}
		}
		return made, nil
	case DeleteLoadBalancer:
		return Created{}, c.deleteBalancer(op.ID)
	}
	if c.balancer == nil {
		return Created{}, fmt.Errorf("%T without a load balancer", op)
	}
	if s := c.balancer.ProvisioningStatus; s != lb.Active {
		return Created{}, fmt.Errorf("load balancer %s is immutable: %s", c.balancer.ID, s)
	}
	made, err := c.applyListener(op)
	c.balancer.ProvisioningStatus = lb.PendingUpdate
	return made, err
}

// create creates a load balancer with all its children, as the one call does.
func (c *cloud) create(l lb.LoadBalancer, status lb.ProvisioningStatus) Created {
	listeners := l.Listeners
	l.ID, _ = c.id("lb")
	l.ProjectID, l.ProvisioningStatus, l.Listeners, l.DetachedPools = "project-1", status, nil, nil
	l.Tags = slices.Clone(l.Tags)
	l.VIP.PortID, l.VIP.Address = "port-"+l.ID, cmp.Or(l.VIP.Address, "10.0.0.100")
	c.balancer = &l
	for _, listener := range listeners {
		pool := ""
		if listener.Pool != nil {
			pool = c.addPool(*listener.Pool)
		}
		c.addListener(listener, pool)
	}
	l.AdditionalVIPs = slices.Clone(l.AdditionalVIPs)
	for i := range l.AdditionalVIPs {
		l.AdditionalVIPs[i].Address = cmp.Or(l.AdditionalVIPs[i].Address, "2001:db8::100")
	}
	return Created{ID: l.ID, VIP: l.VIP, AdditionalVIPs: l.AdditionalVIPs, ProjectID: l.ProjectID}
}

// enforces reports whether Octavia can create the rules of the security group.
func (c *cloud) enforces(sources []string) error {
	if len(sources) > 0 && len(c.balancer.VIPSecurityGroups) > 0 {
		return fmt.Errorf("source ranges %v on a load balancer with security groups", sources)
	}
	if len(sources) > 0 && c.balancer.DualStack() {
		return fmt.Errorf("source ranges %v on a load balancer with VIPs of both families", sources)
	}
	return nil
}

func (c *cloud) addListener(l lb.Listener, pool string) string {
	id, born := c.id("listener")
	l.ID, l.Pool = id, nil
	l.Tags, l.AllowedCIDRs, l.InsertHeaders = slices.Clone(l.Tags), slices.Clone(l.AllowedCIDRs), slices.Clone(l.InsertHeaders)
	if l.TLS != nil {
		l.TLS = &lb.TLS{Certificate: l.TLS.Certificate, SNI: slices.Clone(l.TLS.SNI)}
	}
	c.listeners[id] = listenerRow{born, l, pool}
	return id
}

func (c *cloud) addPool(p lb.Pool) string {
	id, born := c.id("pool")
	p.ID, p.Tags = id, slices.Clone(p.Tags)
	members := p.Members
	p.Members = nil
	for _, m := range members {
		m.ID, _ = c.id("member")
		p.Members = append(p.Members, m)
	}
	if p.Monitor != nil {
		m := *p.Monitor
		m.ID, _ = c.id("monitor")
		p.Monitor = &m
	}
	if p.Persistence != nil {
		s := *p.Persistence
		p.Persistence = &s
	}
	c.pools[id] = poolRow{born, p}
	return id
}

func (c *cloud) deleteBalancer(id string) error {
	if i := slices.Index(c.duplicates, id); i >= 0 {
		c.duplicates = slices.Delete(c.duplicates, i, i+1)
		return nil
	}
	if c.balancer == nil || c.balancer.ID != id {
		return fmt.Errorf("no load balancer %s", id)
	}
	if s := c.balancer.ProvisioningStatus; s != lb.Active && s != lb.Error {
		return fmt.Errorf("load balancer %s is immutable: %s", id, s)
	}
	c.balancer.ProvisioningStatus = lb.PendingDelete
	return nil
}

func (c *cloud) applyFloating(op Op) (Created, error) {
	onPort := func(port, network string) error {
		if c.balancer == nil || port == "" || port != c.balancer.VIP.PortID {
			return fmt.Errorf("%q is not the VIP port", port)
		}
		for _, f := range c.floating {
			if f.PortID == port && f.NetworkID == network {
				return fmt.Errorf("port %s has floating IP %s of network %s already", port, f.ID, network)
			}
		}
		return nil
	}
	ours := func(id string, attached bool) (lb.FloatingIP, error) {
		f, there := c.floating[id]
		onVIP := c.balancer != nil && f.PortID == c.balancer.VIP.PortID && f.PortID != ""
		switch {
		case !there:
			return f, fmt.Errorf("no floating IP %s", id)
		case f.PortID != "" && !onVIP:
			return f, fmt.Errorf("floating IP %s is attached to another port, %s", id, f.PortID)
		case f.Description == api.FloatingIPDescription() && !onVIP:
			return f, fmt.Errorf("floating IP %s is another Service's: %q", id, f.Description)
		case attached && !onVIP:
			return f, fmt.Errorf("floating IP %s is not attached", id)
		}
		return f, nil
	}
	switch op := op.(type) {
	case CreateFloatingIP:
		return c.createFloating(op.FloatingIP, onPort(op.FloatingIP.PortID, op.FloatingIP.NetworkID))
	case AssociateFloatingIP:
		f, err := ours(op.ID, false)
		if err == nil && f.PortID != op.PortID {
			err = onPort(op.PortID, f.NetworkID)
		}
		if err != nil {
			return Created{}, err
		}
		f.PortID, f.Description = op.PortID, cmp.Or(op.Description, f.Description)
		c.floating[op.ID] = f
	case DisassociateFloatingIP:
		f, err := ours(op.ID, op.Description == "")
		if err != nil {
			return Created{}, err
		}
		f.PortID, f.Description = "", cmp.Or(op.Description, f.Description)
		c.floating[op.ID] = f
	case SetFloatingIPTags:
		f, there := c.floating[op.ID]
		if !there || f.Address != op.Address {
			return Created{}, fmt.Errorf("no floating IP %s with address %s", op.ID, op.Address)
		}
		f.Tags = slices.Clone(op.Tags)
		c.floating[op.ID] = f
	case DeleteFloatingIP:
		f, err := ours(op.ID, false)
		if err != nil {
			return Created{}, err
		}
		if f.Description != c.owner.FloatingIPDescription() && f.Description != cloudControllerFloating {
			return Created{}, fmt.Errorf("floating IP %s is a person's: %q", op.ID, f.Description)
		}
		delete(c.floating, op.ID)
	}
	return Created{}, nil
}

func (c *cloud) createFloating(f lb.FloatingIP, err error) (Created, error) {
	if err != nil {
		return Created{}, err
	}
	if len(f.Tags) > 0 {
		return Created{}, fmt.Errorf("a floating IP to be made with tags %q", f.Tags)
	}
	for _, other := range c.floating {
		if f.Address == other.Address {
			return Created{}, fmt.Errorf("address %s is in use", f.Address)
		}
	}
	id, n := c.id("fip")
	f.ID, f.Address = id, cmp.Or(f.Address, fmt.Sprintf("203.0.113.%d", n%250+1))
	c.floating[id] = f
	return Created{ID: id, Address: f.Address}, nil
}
