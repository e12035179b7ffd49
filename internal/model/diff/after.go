// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"cmp"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// Created is the result of an op that creates an object; the zero value for other ops.
type Created struct {
	// ID is the id of the object.
	ID string
	// VIP, AdditionalVIPs, ProjectID and Provider are those of a load balancer.
	VIP            lb.VIP
	AdditionalVIPs []lb.VIP
	ProjectID      string
	Provider       string
	// Address is that of a floating IP.
	Address string
	// WithoutPool means that a listener was created without the pool of the op.
	WithoutPool bool
	// Missing means that the object to delete or detach did not exist, according to the cloud. That may be wrong,
	// so the state should be read again.
	Missing bool
}

// After returns what will be observed once the cloud has carried out the op. The argument observed is not changed. So
// the next op can be planned without another read. After sets only these statuses: a new load balancer is
// PENDING_CREATE; a listener that was PENDING, and any object that was in ERROR, becomes ACTIVE when it is written. The
// ids of a new load balancer's children are empty.
func After(observed lb.Observed, op Op, made Created) lb.Observed {
	next := Clone(observed)
	switch op := op.(type) {
	case CreateFloatingIP, AssociateFloatingIP, DisassociateFloatingIP, DeleteFloatingIP, SetFloatingIPTags:
		next.FloatingIPs = afterFloatingIP(next, op, made)
	case CreateLoadBalancer:
		l := cloneLoadBalancer(op.LoadBalancer)
		l.ID, l.VIP, l.AdditionalVIPs, l.ProjectID = made.ID, made.VIP, made.AdditionalVIPs, made.ProjectID
		l.Provider = cmp.Or(made.Provider, l.Provider)
		l.ProvisioningStatus = lb.PendingCreate
		// An existing load balancer is replaced by the new one.
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
	case SetVIPSecurityGroups:
		l.VIPSecurityGroups, l.Tags = op.Groups, op.Tags
	case CreateListener:
		added := op.Listener
		added.ID = made.ID
		added.Pool = nil
		if op.Listener.Protocol != lb.ListenerPrometheus && !made.WithoutPool {
			added.Pool = takeDetached(l, op.PoolID)
		}
		l.Listeners = append(l.Listeners, added)
	case UpdateListener:
		if i := listenerIndex(l, op.ID); i >= 0 {
			afterListener(l, &l.Listeners[i], op)
		}
	case SetTags:
		if i := listenerIndex(l, op.ID); i >= 0 {
			l.Listeners[i].Tags = op.Tags
			settled(&l.Listeners[i])
		}
		onPool(l, op.ID, func(p *lb.Pool) { p.Tags = op.Tags })
	case DeleteListener:
		if i := listenerIndex(l, op.ID); i >= 0 {
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
	set(&listener.HSTS, op.HSTS)
	if op.Timeouts != nil {
		listener.Timeouts = op.Timeouts
	}
	if op.TLS != nil {
		listener.TLS = op.TLS
	}
	settled(listener)
	if op.PoolID != nil && (listener.Pool == nil || listener.Pool.ID != *op.PoolID) {
		old := listener.Pool
		listener.Pool = takeDetached(l, *op.PoolID)
		detach(l, old)
	}
}

func listenerIndex(l *lb.LoadBalancer, id string) int {
	return slices.IndexFunc(l.Listeners, func(o lb.Listener) bool { return o.ID == id })
}

// settled makes a listener ACTIVE that was PENDING or in ERROR.
func settled(l *lb.Listener) {
	if l.ProvisioningStatus.Pending() || inError(l.ProvisioningStatus) {
		l.ProvisioningStatus = lb.Active
	}
}

func afterPool(l *lb.LoadBalancer, op Op, made Created) {
	switch op := op.(type) {
	case UpdatePool:
		onPool(l, op.ID, func(p *lb.Pool) {
			p.Algorithm, p.Persistence, p.AdminDown = op.Algorithm, op.Persistence, op.AdminDown
			if inError(p.ProvisioningStatus) {
				p.ProvisioningStatus = lb.Active
			}
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
		monitor := op.Monitor
		monitor.ID = op.ID
		setMonitor(l, op.ID, &monitor)
	case DeleteMonitor:
		setMonitor(l, op.ID, nil)
	}
}

// setMonitor replaces the monitor with the id.
func setMonitor(l *lb.LoadBalancer, id string, monitor *lb.HealthMonitor) {
	eachPool(l, func(p *lb.Pool) {
		if p.Monitor != nil && p.Monitor.ID == id {
			p.Monitor = monitor
		}
	})
}

func afterFloatingIP(o lb.Observed, op Op, made Created) []lb.FloatingIP {
	all := o.FloatingIPs
	change := func(id string, do func(*lb.FloatingIP)) {
		for i := range all {
			if all[i].ID == id {
				do(&all[i])
			}
		}
	}
	switch op := op.(type) {
	case CreateFloatingIP:
		f := op.FloatingIP
		f.ID, f.Address = made.ID, made.Address
		all = append(all, f)
	case AssociateFloatingIP:
		change(op.ID, func(f *lb.FloatingIP) { f.PortID, f.Description = op.PortID, cmp.Or(op.Description, f.Description) })
	case DisassociateFloatingIP:
		change(op.ID, func(f *lb.FloatingIP) {
			f.PortID, f.Description = "", cmp.Or(op.Description, f.Description)
		})
	case SetFloatingIPTags:
		change(op.ID, func(f *lb.FloatingIP) { f.Tags = op.Tags })
	case DeleteFloatingIP:
		all = slices.DeleteFunc(all, func(f lb.FloatingIP) bool { return f.ID == op.ID })
	}
	return all
}

// takeDetached removes the pool from the detached ones and returns it.
func takeDetached(l *lb.LoadBalancer, id string) *lb.Pool {
	i := slices.IndexFunc(l.DetachedPools, func(p lb.Pool) bool { return p.ID == id })
	if i < 0 {
		return nil
	}
	p := l.DetachedPools[i]
	l.DetachedPools = slices.Delete(l.DetachedPools, i, i+1)
	return &p
}

// detach adds a pool that a listener no longer uses to the detached ones, unless another listener uses it.
func detach(l *lb.LoadBalancer, p *lb.Pool) {
	if p != nil && !slices.ContainsFunc(l.Listeners, func(o lb.Listener) bool { return o.Pool != nil && o.Pool.ID == p.ID }) {
		l.DetachedPools = append(l.DetachedPools, *p)
	}
}

// afterMembers returns the members after a batch write: existing members keep the properties that such a write cannot
// change.
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

// onPool calls do for the pool, in each place where it is shown.
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

// Clone returns a copy that shares nothing that After changes.
func Clone(o lb.Observed) lb.Observed {
	c := o
	c.FloatingIPs, c.Duplicates, c.Unsettled = slices.Clone(o.FloatingIPs), slices.Clone(o.Duplicates), slices.Clone(o.Unsettled)
	for _, l := range []**lb.LoadBalancer{&c.LoadBalancer, &c.Predecessor} {
		if *l != nil {
			clone := cloneLoadBalancer(**l)
			*l = &clone
		}
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
