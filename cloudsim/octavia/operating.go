// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// SetMemberStatus reports how a member is doing: ONLINE, ERROR, DRAINING,
// OFFLINE or NO_MONITOR. Other words and members that are not there are
// ignored. The pool and the load balancer follow: a pool with some members in
// ERROR is DEGRADED, one with nothing but such members is in ERROR, and the
// load balancer is as its worst pool. A listener does not follow its pool, as
// with amphorae.
func (s *Service) SetMemberStatus(memberID, operatingStatus string) {
	i := slices.Index(operatingNames[:], operatingStatus)
	if i < 0 || operating(i) == degraded {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.members[parseID(memberID)]
	if m == nil {
		return
	}
	m.reported = true
	s.setOperating(&m.object, operating(i))
	s.rollUp(m.pool.lb)
}

// SetClosed says which listeners of a load balancer cannot take connections, such as those
// whose port another program has: their operating status is ERROR.
func (s *Service) SetClosed(loadBalancerID string, listenerIDs []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	lb := s.lbs[parseID(loadBalancerID)]
	if lb == nil {
		return
	}
	changed := false
	for _, l := range lb.listeners {
		closed := slices.Contains(listenerIDs, l.id.String())
		changed = changed || closed != l.closed
		l.closed = closed
	}
	if changed {
		s.rollUp(lb)
	}
}

// setOperating moves updated_at too when the status is another one, as the real
// service's database does.
func (s *Service) setOperating(o *object, to operating) {
	if o.oper != to {
		o.oper = to
		o.updated = s.now()
	}
}

// rollUp brings the operating statuses of a tree up to date.
func (s *Service) rollUp(lb *loadBalancer) {
	whole := upIf(lb.adminUp)
	for _, l := range lb.listeners {
		status := upIf(lb.adminUp && l.adminUp)
		if l.closed && status == online {
			status, whole = broken, broken
		}
		s.setOperating(&l.object, status)
		for _, policy := range l.policies {
			s.setOperating(&policy.object, upIf(policy.adminUp))
			for _, rule := range policy.rules {
				s.setOperating(&rule.object, upIf(rule.adminUp))
			}
		}
	}
	for _, p := range lb.pools {
		if p.prov == pendingCreate && len(p.listeners()) == 0 {
			continue // nobody has made it, nobody reports of it
		}
		status := s.rollUpPool(p)
		s.setOperating(&p.object, status)
		if whole != offline && (status == broken || status == degraded && whole == online) {
			whole = status
		}
	}
	s.setOperating(&lb.object, whole)
}

func upIf(up bool) operating {
	if up {
		return online
	}
	return offline
}

func (s *Service) rollUpPool(p *pool) operating {
	working, failed := 0, 0
	for _, m := range p.members {
		s.setOperating(&m.object, s.memberStatus(m))
		switch m.oper {
		case broken:
			failed++
		case online, noMonitor, draining:
			working++
		}
	}
	if m := p.monitor; m != nil {
		s.setOperating(&m.object, upIf(m.adminUp))
	}
	switch {
	case !p.adminUp || !p.lb.adminUp:
		return offline
	case failed > 0 && working > 0:
		return degraded
	case failed > 0:
		return broken
	}
	return online
}

// memberStatus is what a member's status ought to be by what is known of it.
func (s *Service) memberStatus(m *member) operating {
	switch {
	case m.prov == pendingCreate:
		return m.oper
	case !m.adminUp:
		return offline
	case m.pool.monitor == nil || !m.pool.monitor.adminUp:
		return noMonitor
	case m.reported && m.oper != offline && m.oper != noMonitor:
		return m.oper
	case m.reported || s.options.MonitorsReport:
		return offline
	}
	return online
}
