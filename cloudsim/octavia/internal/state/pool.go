// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// CreatePool adds a pool. l is the listener whose default pool it becomes, or nil.
func (c *Change) CreatePool(p *model.Pool, l *model.Listener) {
	p.LB.Pools = append(p.LB.Pools, p)
	c.state.registerPool(p)
	c.add(&p.Object)
	c.about(&p.Object)
	if l != nil {
		l.Pool = p
		c.touch(&l.Object, model.PendingUpdate)
	}
	c.Start()
}

// UpdatePool changes the pool to changed.
func (c *Change) UpdatePool(p *model.Pool, changed model.Pool) {
	*p = changed
	c.touchPool(p)
	c.about(&p.Object)
	c.Start()
}

// DeletePool removes the pool with its parts.
func (c *Change) DeletePool(p *model.Pool) {
	c.touchPool(p)
	c.state.mark(&p.Object, model.PendingDelete)
	c.about(&p.Object)
	c.remove = func() {
		for _, l := range p.LB.Listeners {
			if l.Pool == p {
				l.Pool = nil
			}
		}
		p.LB.Pools = slices.DeleteFunc(p.LB.Pools, func(other *model.Pool) bool { return other == p })
		c.state.dropPool(p)
	}
	c.Start()
}

// registerPool adds a pool and its parts to the state.
func (s *State) registerPool(p *model.Pool) {
	u := s.Quotas.used(p.LB.Project)
	s.Pools.Add(p)
	u[model.PoolQuota]++
	for _, m := range p.Members {
		s.Members.Add(m)
	}
	u[model.MemberQuota] += len(p.Members)
	if p.Monitor != nil {
		s.Monitors.Add(p.Monitor)
		u[model.MonitorQuota]++
	}
}

// dropPool removes a pool and its parts from the state, but not from its load balancer's list.
func (s *State) dropPool(p *model.Pool) {
	u := s.Quotas.used(p.LB.Project)
	for _, m := range p.Members {
		s.Members.Remove(m)
	}
	u[model.MemberQuota] -= len(p.Members)
	if p.Monitor != nil {
		s.Monitors.Remove(p.Monitor)
		u[model.MonitorQuota]--
	}
	s.Pools.Remove(p)
	u[model.PoolQuota]--
}

// CreateMember adds a member to its pool.
func (c *Change) CreateMember(m *model.Member) {
	c.touchPool(m.Pool)
	c.addMember(m)
	c.Start()
}

func (c *Change) addMember(m *model.Member) {
	m.Pool.Members = append(m.Pool.Members, m)
	c.state.Members.Add(m)
	c.state.Quotas.used(c.lb.Project)[model.MemberQuota]++
	c.add(&m.Object)
	c.about(&m.Object)
}

// UpdateMember changes the member to changed.
func (c *Change) UpdateMember(m *model.Member, changed model.Member) {
	*m = changed
	c.touchPool(m.Pool)
	c.touch(&m.Object, model.PendingUpdate)
	c.about(&m.Object)
	c.Start()
}

// DeleteMember removes the member.
func (c *Change) DeleteMember(m *model.Member) {
	c.touchPool(m.Pool)
	c.touch(&m.Object, model.PendingDelete)
	c.about(&m.Object)
	c.remove = func() { c.state.removeMembers(m.Pool, []*model.Member{m}) }
	c.Start()
}

// Batch is a change of all members of a pool, sorted by what happens to them.
type Batch struct {
	Fresh   []*model.Member
	Updated []MemberUpdate
	Gone    []*model.Member
	// Duplicate means that the request contains an existing member twice. Octavia accepts this, and
	// its worker for amphorae then fails and leaves the load balancer locked.
	Duplicate bool
}

// MemberUpdate is a member and its new values.
type MemberUpdate struct {
	Member  *model.Member
	Changed model.Member
}

// ReplaceMembers carries out a batch.
func (c *Change) ReplaceMembers(p *model.Pool, b Batch) {
	c.stuck = b.Duplicate && provider.DuplicateNeverEnds(c.lb)
	c.about()
	c.touchPool(p)
	for _, u := range b.Updated {
		*u.Member = u.Changed
		c.touch(&u.Member.Object, model.PendingUpdate)
		c.about(&u.Member.Object)
	}
	for _, m := range b.Fresh {
		c.addMember(m)
	}
	for _, m := range b.Gone {
		c.touch(&m.Object, model.PendingDelete)
	}
	c.partByPart = len(b.Updated)+len(b.Fresh)+len(b.Gone) > 1
	// The worker for amphorae deletes members from the database first. They receive traffic until the batch
	// succeeds.
	c.remove = func() { c.state.removeMembers(p, b.Gone) }
	c.removeAnyway = c.remove
	c.Start()
}

// removeMembers removes members from the state.
func (s *State) removeMembers(p *model.Pool, gone []*model.Member) {
	set := make(map[*model.Member]bool, len(gone))
	for _, m := range gone {
		set[m] = true
		s.Members.Remove(m)
	}
	p.Members = slices.DeleteFunc(p.Members, func(m *model.Member) bool { return set[m] })
	s.Quotas.used(p.LB.Project)[model.MemberQuota] -= len(gone)
}

// CreateMonitor adds the monitor to its pool.
func (c *Change) CreateMonitor(m *model.Monitor) {
	m.Pool.Monitor = m
	c.state.Monitors.Add(m)
	c.state.Quotas.used(c.lb.Project)[model.MonitorQuota]++
	c.touchMonitored(m, false)
	c.add(&m.Object)
	c.about(&m.Object)
	c.Start()
}

// UpdateMonitor changes the monitor to changed.
func (c *Change) UpdateMonitor(m *model.Monitor, changed model.Monitor) {
	*m = changed
	c.touchMonitored(m, false)
	c.touch(&m.Object, model.PendingUpdate)
	c.about(&m.Object)
	c.Start()
}

// DeleteMonitor removes the monitor from its pool.
func (c *Change) DeleteMonitor(m *model.Monitor) {
	c.touchMonitored(m, true)
	c.touch(&m.Object, model.PendingDelete)
	c.about(&m.Object)
	c.remove = func() {
		m.Pool.Monitor = nil
		c.state.Monitors.Remove(m)
		c.state.Quotas.used(c.lb.Project)[model.MonitorQuota]--
	}
	c.Start()
}
