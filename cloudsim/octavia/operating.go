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
	setOperating(&m.object, operating(i), s.now())
	rollUp(m.pool.lb, s.options.MonitorsReport, s.now())
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
		rollUp(lb, s.options.MonitorsReport, s.now())
	}
}
