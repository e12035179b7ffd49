// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// Report sets the operating status of a member.
func (s *State) Report(m *model.Member, status model.OperatingStatus) {
	m.Reported = true
	provider.SetStatus(&m.Object, status, s.Now())
	s.rollUp(m.Tree())
}

// ReportClosed sets which listeners of a load balancer cannot accept connections.
func (s *State) ReportClosed(lb *model.LoadBalancer, listenerIDs []string) {
	changed := false
	for _, l := range lb.Listeners {
		closed := slices.Contains(listenerIDs, l.ID.String())
		changed = changed || closed != l.Closed
		l.Closed = closed
	}
	if changed {
		s.rollUp(lb)
	}
}

// rollUp updates the operating statuses of a load balancer's tree.
func (s *State) rollUp(lb *model.LoadBalancer) {
	provider.RollUp(lb, s.options.MonitorsReport, s.Now())
}
