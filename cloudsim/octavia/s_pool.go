// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// CreatePool adds a pool. l is the listener whose default pool it becomes; nil is
// none.
func (c *change) CreatePool(p *pool, l *listener) {
	p.lb.pools = append(p.lb.pools, p)
	c.state.registerPool(p)
	c.add(&p.object)
	if l != nil {
		l.pool = p
		c.touch(&l.object, pendingUpdate)
	}
	c.Start()
}

// UpdatePool makes the pool what changed says.
func (c *change) UpdatePool(p *pool, changed pool) {
	*p = changed
	c.touchPool(p)
	c.Start()
}

// DeletePool removes the pool with what is in it.
func (c *change) DeletePool(p *pool) {
	c.touchPool(p)
	c.state.mark(&p.object, pendingDelete)
	c.remove = func() {
		for _, l := range p.lb.listeners {
			if l.pool == p {
				l.pool = nil
			}
		}
		p.lb.pools = slices.DeleteFunc(p.lb.pools, func(other *pool) bool { return other == p })
		c.state.dropPool(p)
	}
	c.Start()
}

// registerPool puts a pool and what is in it into the state.
func (s *State) registerPool(p *pool) {
	u := s.Quotas.used(p.lb.project)
	s.Pools.Add(p)
	u.pools++
	for _, m := range p.members {
		s.Members.Add(m)
	}
	u.members += len(p.members)
	if p.monitor != nil {
		s.Monitors.Add(p.monitor)
		u.monitors++
	}
}

// dropPool takes a pool and what is in it out of the state, but not out of its
// load balancer's list.
func (s *State) dropPool(p *pool) {
	u := s.Quotas.used(p.lb.project)
	for _, m := range p.members {
		s.Members.Remove(m)
	}
	u.members -= len(p.members)
	if p.monitor != nil {
		s.Monitors.Remove(p.monitor)
		u.monitors--
	}
	s.Pools.Remove(p)
	u.pools--
}

// CreateMember adds a member to its pool.
func (c *change) CreateMember(m *member) {
	c.touchPool(m.pool)
	c.addMember(m)
	c.Start()
}

func (c *change) addMember(m *member) {
	m.pool.members = append(m.pool.members, m)
	c.state.Members.Add(m)
	c.state.Quotas.used(c.lb.project).members++
	c.add(&m.object)
}

// UpdateMember makes the member what changed says.
func (c *change) UpdateMember(m *member, changed member) {
	*m = changed
	c.touchPool(m.pool)
	c.touch(&m.object, pendingUpdate)
	c.Start()
}

// DeleteMember removes the member.
func (c *change) DeleteMember(m *member) {
	c.touchPool(m.pool)
	c.touch(&m.object, pendingDelete)
	c.remove = func() { c.state.removeMembers(m.pool, []*member{m}) }
	c.Start()
}

// Batch is a change of a pool's whole set of members, sorted out.
type Batch struct {
	Fresh   []*member
	Updated []MemberUpdate
	Gone    []*member
	// Twice says that a member that is there was named twice. Octavia takes that,
	// and its worker for amphorae then gives up with the load balancer locked.
	Twice bool
}

// MemberUpdate is a member and what it becomes.
type MemberUpdate struct {
	Member  *member
	Changed member
}

// ReplaceMembers carries out a batch.
func (c *change) ReplaceMembers(p *pool, b Batch) {
	c.stuck = b.Twice && givesUpOnTwins(c.lb)
	c.touchPool(p)
	for _, u := range b.Updated {
		*u.Member = u.Changed
		c.touch(&u.Member.object, pendingUpdate)
	}
	for _, m := range b.Fresh {
		c.addMember(m)
	}
	for _, m := range b.Gone {
		c.touch(&m.object, pendingDelete)
	}
	c.remove = func() { c.state.removeMembers(p, b.Gone) }
	c.Start()
}

// removeMembers takes members out of the state.
func (s *State) removeMembers(p *pool, gone []*member) {
	set := make(map[*member]bool, len(gone))
	for _, m := range gone {
		set[m] = true
		s.Members.Remove(m)
	}
	p.members = slices.DeleteFunc(p.members, func(m *member) bool { return set[m] })
	s.Quotas.used(p.lb.project).members -= len(gone)
}

// CreateMonitor gives the monitor's pool the monitor.
func (c *change) CreateMonitor(m *monitor) {
	m.pool.monitor = m
	c.state.Monitors.Add(m)
	c.state.Quotas.used(c.lb.project).monitors++
	c.touchMonitored(m, false)
	c.add(&m.object)
	c.Start()
}

// UpdateMonitor makes the monitor what changed says.
func (c *change) UpdateMonitor(m *monitor, changed monitor) {
	*m = changed
	c.touchMonitored(m, false)
	c.touch(&m.object, pendingUpdate)
	c.Start()
}

// DeleteMonitor takes the monitor from its pool.
func (c *change) DeleteMonitor(m *monitor) {
	c.touchMonitored(m, true)
	c.touch(&m.object, pendingDelete)
	c.remove = func() {
		m.pool.monitor = nil
		c.state.Monitors.Remove(m)
		c.state.Quotas.used(c.lb.project).monitors--
	}
	c.Start()
}
