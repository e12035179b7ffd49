// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// poolsOf are the pool protocols that fit a listener protocol, as far as the tests use them.
var poolsOf = map[lb.ListenerProtocol][]lb.PoolProtocol{
	lb.ListenerTCP:             {lb.PoolTCP, lb.PoolHTTP, lb.PoolProxy, lb.PoolProxyV2},
	lb.ListenerUDP:             {lb.PoolUDP},
	lb.ListenerSCTP:            {lb.PoolSCTP},
	lb.ListenerHTTP:            {lb.PoolHTTP, lb.PoolProxy, lb.PoolProxyV2},
	lb.ListenerHTTPS:           {"HTTPS", lb.PoolProxy, lb.PoolProxyV2, lb.PoolTCP},
	lb.ListenerTerminatedHTTPS: {lb.PoolHTTP, lb.PoolProxy, lb.PoolProxyV2},
}

func (c *cloud) applyListener(op Op) (Created, error) {
	switch op := op.(type) {
	case UpdateLoadBalancer:
		if op.ID != c.balancer.ID || op.Tags == nil && op.AdminDown == nil {
			return Created{}, fmt.Errorf("an update of %q with nothing in it", op.ID)
		}
		if op.Tags != nil {
			c.balancer.Tags = slices.Clone(*op.Tags)
		}
		if op.AdminDown != nil {
			c.balancer.AdminDown = *op.AdminDown
		}
		return Created{}, nil
	case SetVIPSecurityGroups:
		return Created{}, c.setVIPGroups(op)
	case CreateListener:
		return c.createListener(op)
	case UpdateListener:
		return Created{}, c.updateListener(op)
	case SetTags:
		return Created{}, c.setTags(op)
	case DeleteListener:
		if _, there := c.listeners[op.ID]; !there {
			return Created{}, fmt.Errorf("no listener %s", op.ID)
		}
		delete(c.listeners, op.ID)
		return Created{}, nil
	default:
		return c.applyPool(op)
	}
}

// setVIPGroups takes groups also while listeners have source ranges.
func (c *cloud) setVIPGroups(op SetVIPSecurityGroups) error {
	if op.ID != c.balancer.ID || lb.SameVIPGroups(op.Groups, c.balancer.VIPSecurityGroups) {
		return fmt.Errorf("security groups %v of %q, which has them", op.Groups, op.ID)
	}
	c.balancer.VIPSecurityGroups, c.balancer.Tags = slices.Clone(op.Groups), slices.Clone(op.Tags)
	return nil
}

func (c *cloud) createListener(op CreateListener) (Created, error) {
	if op.LoadBalancerID != c.balancer.ID || op.Listener.Pool != nil {
		return Created{}, fmt.Errorf("a listener for %q with pool %v inside", op.LoadBalancerID, op.Listener.Pool)
	}
	for _, l := range c.listeners {
		if l.Key() == op.Listener.Key() || !c.sharedPorts && l.Port == op.Listener.Port {
			return Created{}, fmt.Errorf("listener %s has port %d already", l.ID, l.Port)
		}
	}
	if err := c.enforces(op.Listener.AllowedCIDRs); err != nil {
		return Created{}, err
	}
	if metrics := op.Listener.Protocol == lb.ListenerPrometheus; metrics && op.PoolID != "" {
		return Created{}, fmt.Errorf("a listener for metrics with pool %s", op.PoolID)
	} else if !metrics {
		if err := c.fits(op.Listener.Protocol, op.PoolID); err != nil {
			return Created{}, err
		}
	}
	if err := reads(op.Listener); err != nil {
		return Created{}, err
	}
	return Created{ID: c.addListener(op.Listener, op.PoolID)}, nil
}

func (c *cloud) updateListener(op UpdateListener) error {
	row, there := c.listeners[op.ID]
	if !there || row.Key() != op.Key {
		return fmt.Errorf("no listener %s with %v", op.ID, op.Key)
	}
	if op.ConnectionLimit == nil && op.AllowedCIDRs == nil && op.Timeouts == nil && op.InsertHeaders == nil && op.TLS == nil && op.HSTS == nil && op.PoolID == nil && op.AdminDown == nil {
		return fmt.Errorf("an update of %s with nothing in it", op.ID)
	}
	if op.ConnectionLimit != nil {
		row.ConnectionLimit = *op.ConnectionLimit
	}
	if op.AllowedCIDRs != nil {
		if err := c.enforces(*op.AllowedCIDRs); err != nil {
			return err
		}
		row.AllowedCIDRs = slices.Clone(*op.AllowedCIDRs)
	}
	if op.Timeouts != nil {
		row.Timeouts = op.Timeouts
	}
	if op.AdminDown != nil {
		row.AdminDown = *op.AdminDown
	}
	if op.PoolID != nil {
		if err := c.fits(row.Protocol, *op.PoolID); err != nil {
			return err
		}
		row.pool = *op.PoolID
	}
	if op.InsertHeaders != nil {
		row.InsertHeaders = slices.Clone(*op.InsertHeaders)
	}
	if op.TLS != nil {
		row.TLS = &lb.TLS{Certificate: op.TLS.Certificate, SNI: slices.Clone(op.TLS.SNI)}
	}
	if op.HSTS != nil {
		row.HSTS = *op.HSTS
	}
	if err := reads(row.Listener); err != nil {
		return err
	}
	if row.ProvisioningStatus.Pending() {
		row.ProvisioningStatus = lb.Active
	}
	c.listeners[op.ID] = row
	return nil
}

func (c *cloud) setTags(op SetTags) error {
	if op.Of == "pool" {
		return c.withPool(op.ID, func(p *poolRow) error {
			p.Tags = slices.Clone(op.Tags)
			return nil
		})
	}
	row, there := c.listeners[op.ID]
	if !there || op.Of != "listener" {
		return fmt.Errorf("no %s %s", op.Of, op.ID)
	}
	row.Tags = slices.Clone(op.Tags)
	if row.ProvisioningStatus.Pending() {
		row.ProvisioningStatus = lb.Active
	}
	c.listeners[op.ID] = row
	return nil
}

// reads refuses headers for listeners that do not read HTTP, and certificates that are missing or not needed.
func reads(l lb.Listener) error {
	ends := l.Protocol == lb.ListenerTerminatedHTTPS
	switch {
	case l.HSTS.Enabled && !ends:
		return fmt.Errorf("a %s listener cannot have HSTS %+v", l.Protocol, l.HSTS)
	case len(l.InsertHeaders) > 0 && l.Protocol != lb.ListenerHTTP && !ends:
		return fmt.Errorf("a %s listener cannot add headers %v", l.Protocol, l.InsertHeaders)
	case ends != (l.TLS != nil && len(l.TLS.Refs()) > 0):
		return fmt.Errorf("a %s listener with certificates %+v", l.Protocol, l.TLS)
	}
	return nil
}

func (c *cloud) fits(protocol lb.ListenerProtocol, pool string) error {
	row, there := c.pools[pool]
	if !there {
		return fmt.Errorf("no pool %q", pool)
	}
	if !slices.Contains(poolsOf[protocol], row.Protocol) {
		return fmt.Errorf("a %s listener cannot have %s pool %s", protocol, row.Protocol, pool)
	}
	return nil
}

func (c *cloud) applyPool(op Op) (Created, error) {
	switch op := op.(type) {
	case CreatePool:
		if op.LoadBalancerID != c.balancer.ID || len(op.Pool.Members) > 0 || op.Pool.Monitor != nil {
			return Created{}, fmt.Errorf("a pool for %q with %d members and monitor %v inside", op.LoadBalancerID, len(op.Pool.Members), op.Pool.Monitor)
		}
		return Created{ID: c.addPool(op.Pool)}, nil
	case UpdatePool:
		return Created{}, c.withPool(op.ID, func(p *poolRow) error {
			p.Algorithm, p.Persistence, p.AdminDown = op.Algorithm, op.Persistence, op.AdminDown
			return nil
		})
	case DeletePool:
		if _, there := c.pools[op.ID]; !there {
			return Created{}, fmt.Errorf("no pool %q", op.ID)
		}
		for _, l := range c.listeners {
			if l.pool == op.ID {
				return Created{}, fmt.Errorf("pool %s serves listener %s", op.ID, l.ID)
			}
		}
		delete(c.pools, op.ID)
		return Created{}, nil
	case SetMembers:
		return Created{}, c.withPool(op.PoolID, func(p *poolRow) error { return c.setMembers(p, op.Members) })
	}
	return c.applyMonitor(op)
}

func (c *cloud) applyMonitor(op Op) (made Created, err error) {
	switch op := op.(type) {
	case CreateMonitor:
		err = c.withPool(op.PoolID, func(p *poolRow) error {
			if p.Monitor != nil {
				return fmt.Errorf("pool %s has monitor %s already", p.ID, p.Monitor.ID)
			}
			m := op.Monitor
			m.ID, _ = c.id("monitor")
			p.Monitor, made.ID = &m, m.ID
			return nil
		})
	case UpdateMonitor:
		err = c.withMonitor(op.ID, func(p *poolRow) error {
			if p.Monitor.Type != op.Monitor.Type {
				return fmt.Errorf("monitor %s is of type %s, not %s", op.ID, p.Monitor.Type, op.Monitor.Type)
			}
			m := op.Monitor
			m.ID = op.ID
			p.Monitor = &m
			return nil
		})
	case DeleteMonitor:
		err = c.withMonitor(op.ID, func(p *poolRow) error {
			p.Monitor = nil
			return nil
		})
	default:
		err = fmt.Errorf("the model does not know %T", op)
	}
	return made, err
}

// setMembers is the batch write: existing members, by address and port, are updated, except for their subnet.
func (c *cloud) setMembers(p *poolRow, members []lb.Member) error {
	old := map[lb.MemberKey]lb.Member{}
	for _, m := range p.Members {
		old[m.Key()] = m
	}
	seen := map[lb.MemberKey]bool{}
	p.Members = nil
	for _, m := range members {
		if seen[m.Key()] {
			return fmt.Errorf("member %v twice in one write", m.Key())
		}
		seen[m.Key()] = true
		if o, there := old[m.Key()]; there {
			m.ID, m.SubnetID = o.ID, o.SubnetID
		} else {
			m.ID, _ = c.id("member")
		}
		p.Members = append(p.Members, m)
	}
	return nil
}

func (c *cloud) withPool(id string, do func(*poolRow) error) error {
	row, there := c.pools[id]
	if !there {
		return fmt.Errorf("no pool %q", id)
	}
	if row.Unfinished() {
		return fmt.Errorf("pool %s was left behind: whatever is done to it but its deletion may lock all", id)
	}
	err := do(&row)
	c.pools[id] = row
	return err
}

func (c *cloud) withMonitor(id string, do func(*poolRow) error) error {
	for pool, row := range c.pools {
		if row.Monitor != nil && row.Monitor.ID == id {
			return c.withPool(pool, do)
		}
	}
	return fmt.Errorf("no monitor %q", id)
}
