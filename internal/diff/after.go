// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Created is what the cloud said of the object that an op made; the zero value
// for ops that make none.
type Created struct {
	// ID is the id of the object.
	ID string
	// VIP, AdditionalVIPs and ProjectID are those of a load balancer.
	VIP            lb.VIP
	AdditionalVIPs []lb.VIP
	ProjectID      string
	// Address is that of a floating IP.
	Address string
	// Missing is set by an op that was to end something which, the cloud says, is
	// not there. It may be wrong about that, so it is better looked at again.
	Missing bool
}

// After returns what will be observed when the cloud has carried out the op:
// the same as observed, with the op's change made. Observed is not touched. So
// the next op can be planned without reading the load balancer again. It does
// not set statuses, except that a new load balancer is PENDING_CREATE and that a
// listener which was PENDING is ACTIVE once it is written to, and the ids of what was made below a new load balancer are empty.
func After(observed lb.Observed, op Op, made Created) lb.Observed {
	next := Clone(observed)
	switch op := op.(type) {
	case CreateFloatingIP, AssociateFloatingIP, DisassociateFloatingIP, DeleteFloatingIP, SetFloatingIPTags:
		next.FloatingIPs = afterFloatingIP(next, op, made)
	case CreateLoadBalancer:
		l := cloneLoadBalancer(op.LoadBalancer)
		l.ID, l.VIP, l.AdditionalVIPs, l.ProjectID = made.ID, made.VIP, made.AdditionalVIPs, made.ProjectID
		l.ProvisioningStatus = lb.PendingCreate
		// One that is there already is what the new one takes the place of.
		next.LoadBalancer, next.Predecessor, next.Sharer = &l, next.LoadBalancer, false
	case DeleteLoadBalancer:
		if next.Predecessor != nil && next.Predecessor.ID == op.ID {
			next.Predecessor = nil
			break
		}
		if next.LoadBalancer == nil || next.LoadBalancer.ID != op.ID {
			next.Duplicates = slices.DeleteFunc(next.Duplicates, func(id string) bool { return id == op.ID })
			break
		}
		next.LoadBalancer, next.Sharer = nil, false
		for i := range next.FloatingIPs {
			if next.FloatingIPs[i].PortID == observed.LoadBalancer.VIP.PortID {
				next.FloatingIPs[i].PortID = ""
			}
		}
	default:
		switch {
		case next.Predecessor != nil && Within(op, *next.Predecessor):
			afterTree(next.Predecessor, op, made)
		case next.LoadBalancer != nil:
			afterTree(next.LoadBalancer, op, made)
		}
	}
	return next
}

func afterTree(l *lb.LoadBalancer, op Op, made Created) {
	switch op := op.(type) {
	case UpdateLoadBalancer:
		set(&l.Tags, op.Tags)
		set(&l.AdminDown, op.AdminDown)
	case CreateListener:
		added := op.Listener
		added.ID = made.ID
		if added.Pool = nil; op.Listener.Protocol != lb.ListenerPrometheus {
			added.Pool = takeDetached(l, op.PoolID)
		}
		l.Listeners = append(l.Listeners, added)
	case UpdateListener:
		if i := slices.IndexFunc(l.Listeners, func(o lb.Listener) bool { return o.ID == op.ID }); i >= 0 {
			afterListener(l, &l.Listeners[i], op)
		}
	case SetTags:
		afterTags(l, op)
	case DeleteListener:
		if i := slices.IndexFunc(l.Listeners, func(o lb.Listener) bool { return o.ID == op.ID }); i >= 0 {
			old := l.Listeners[i].Pool
			l.Listeners = slices.Delete(l.Listeners, i, i+1)
			detach(l, old)
		}
	case CreatePool:
		added := op.Pool
		added.ID = made.ID
		l.DetachedPools = append(l.DetachedPools, added)
	default:
		afterPool(l, op, made)
	}
}

func afterListener(l *lb.LoadBalancer, listener *lb.Listener, op UpdateListener) {
	set(&listener.ConnectionLimit, op.ConnectionLimit)
	set(&listener.AllowedCIDRs, op.AllowedCIDRs)
	set(&listener.AdminDown, op.AdminDown)
	set(&listener.InsertHeaders, op.InsertHeaders)
	if op.Timeouts != nil {
		listener.Timeouts = op.Timeouts
	}
	if op.TLS != nil {
		listener.TLS = op.TLS
	}
	if listener.ProvisioningStatus.Pending() {
		listener.ProvisioningStatus = lb.Active
	}
	if op.PoolID != nil {
		old := listener.Pool
		listener.Pool = takeDetached(l, *op.PoolID)
		detach(l, old)
	}
}

func afterTags(l *lb.LoadBalancer, op SetTags) {
	for i := range l.Listeners {
		if listener := &l.Listeners[i]; listener.ID == op.ID {
			listener.Tags = op.Tags
			if listener.ProvisioningStatus.Pending() {
				listener.ProvisioningStatus = lb.Active
			}
		}
	}
	onPool(l, op.ID, func(p *lb.Pool) { p.Tags = op.Tags })
}

func afterPool(l *lb.LoadBalancer, op Op, made Created) {
	switch op := op.(type) {
	case UpdatePool:
		onPool(l, op.ID, func(p *lb.Pool) {
			p.Algorithm, p.Persistence, p.AdminDown = op.Algorithm, op.Persistence, op.AdminDown
		})
	case DeletePool:
		l.DetachedPools = slices.DeleteFunc(l.DetachedPools, func(p lb.Pool) bool { return p.ID == op.ID })
		for i := range l.Listeners {
			if p := l.Listeners[i].Pool; p != nil && p.ID == op.ID {
				l.Listeners[i].Pool = nil
			}
		}
	case SetMembers:
		onPool(l, op.PoolID, func(p *lb.Pool) { p.Members = afterMembers(p.Members, op.Members) })
	case CreateMonitor:
		onPool(l, op.PoolID, func(p *lb.Pool) {
			monitor := op.Monitor
			monitor.ID = made.ID
			p.Monitor = &monitor
		})
	case UpdateMonitor:
		eachPool(l, func(p *lb.Pool) {
			if p.Monitor != nil && p.Monitor.ID == op.ID {
				monitor := op.Monitor
				monitor.ID = op.ID
				p.Monitor = &monitor
			}
		})
	case DeleteMonitor:
		eachPool(l, func(p *lb.Pool) {
			if p.Monitor != nil && p.Monitor.ID == op.ID {
				p.Monitor = nil
			}
		})
	}
}

func afterFloatingIP(o lb.Observed, op Op, made Created) []lb.FloatingIP {
	all := o.FloatingIPs
	lead := func(id, port, description string) {
		for i := range all {
			if all[i].ID == id {
				all[i].PortID = port
				all[i].Description = cmp.Or(description, all[i].Description)
			}
		}
	}
	switch op := op.(type) {
	case CreateFloatingIP:
		f := op.FloatingIP
		f.ID, f.Address = made.ID, made.Address
		all = append(all, f)
	case AssociateFloatingIP:
		lead(op.ID, op.PortID, op.Description)
	case DisassociateFloatingIP:
		lead(op.ID, "", op.Description)
	case SetFloatingIPTags:
		for i := range all {
			if all[i].ID == op.ID {
				all[i].Tags = op.Tags
			}
		}
	case DeleteFloatingIP:
		all = slices.DeleteFunc(all, func(f lb.FloatingIP) bool { return f.ID == op.ID })
	}
	return all
}

// takeDetached takes the pool out of the detached ones.
func takeDetached(l *lb.LoadBalancer, id string) *lb.Pool {
	i := slices.IndexFunc(l.DetachedPools, func(p lb.Pool) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	p := l.DetachedPools[i]
	l.DetachedPools = slices.Delete(l.DetachedPools, i, i+1)
	return &p
}

// detach adds a pool that a listener has no more to the detached ones, unless
// another listener has it still.
func detach(l *lb.LoadBalancer, p *lb.Pool) {
	if p != nil && !slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.Pool != nil && o.Pool.ID == p.ID }) {
		l.DetachedPools = append(l.DetachedPools, *p)
	}
}

// afterMembers is what a batch write makes of the members: those that were
// there keep what it cannot change.
func afterMembers(old, set []lb.Member) []lb.Member {
	members := slices.Clone(set)
	for i := range members {
		j := slices.IndexFunc(old, func(o lb.Member) bool { return o.Key() == members[i].Key() })
		if j >= 0 {
			members[i].ID, members[i].SubnetID = old[j].ID, old[j].SubnetID
		}
	}
	return members
}

// onPool does something to the pool, in each place where it is shown.
func onPool(l *lb.LoadBalancer, id string, do func(*lb.Pool)) {
	eachPool(l, func(p *lb.Pool) {
		if p.ID == id {
			do(p)
		}
	})
}

func eachPool(l *lb.LoadBalancer, do func(*lb.Pool)) {
	for i := range l.Listeners {
		if l.Listeners[i].Pool != nil {
			do(l.Listeners[i].Pool)
		}
	}
	for i := range l.DetachedPools {
		do(&l.DetachedPools[i])
	}
}

func set[T any](field *T, value *T) {
	if value != nil {
		*field = *value
	}
}

// Clone returns a copy that shares nothing which After changes.
func Clone(o lb.Observed) lb.Observed {
	c := o
	c.FloatingIPs, c.Duplicates, c.Unsettled = slices.Clone(o.FloatingIPs), slices.Clone(o.Duplicates), slices.Clone(o.Unsettled)
	if o.LoadBalancer != nil {
		l := cloneLoadBalancer(*o.LoadBalancer)
		c.LoadBalancer = &l
	}
	if o.Predecessor != nil {
		l := cloneLoadBalancer(*o.Predecessor)
		c.Predecessor = &l
	}
	return c
}

func cloneLoadBalancer(l lb.LoadBalancer) lb.LoadBalancer {
	l.Listeners = slices.Clone(l.Listeners)
	for i, listener := range l.Listeners {
		if listener.Pool != nil {
			p := *listener.Pool
			l.Listeners[i].Pool = &p
		}
	}
	l.DetachedPools = slices.Clone(l.DetachedPools)
	return l
}
