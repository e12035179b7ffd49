// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// Report says how a member is doing.
func (s *State) Report(m *member, status operating) {
	m.reported = true
	setStatus(&m.object, status, s.Now())
	s.rollUp(m.pool.lb)
}

// ReportClosed says which listeners of a load balancer cannot take connections.
func (s *State) ReportClosed(lb *loadBalancer, listenerIDs []string) {
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

// rollUp brings the operating statuses of a load balancer's tree up to date.
func (s *State) rollUp(lb *loadBalancer) { rollUp(lb, s.options.MonitorsReport, s.Now()) }
