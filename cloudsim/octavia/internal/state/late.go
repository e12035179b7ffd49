// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Provider ovn 8 (2025.1) reports a load balancer as ACTIVE first, and the changed parts 1 to 8 s later: meanwhile
// these stay PENDING, including parts that are being deleted. Traffic flows earlier.
//
// It carries out a batch of members one by one. After each member it reports all existing listeners, pools and members
// as ACTIVE, including those that will be deleted (_get_current_operating_statuses in ovn_octavia_provider/helper.py).

// settleLate reports the parts of the change as done at the time when amphorae would be. Parts that a later change has
// touched by then are left to that change.
func (c *Change) settleLate() {
	s := c.state
	for _, o := range c.touched {
		s.late[o] = c
	}
	for _, o := range c.touched {
		if c.partByPart && o.Provisioning != model.PendingCreate {
			s.mark(o, model.Active)
		}
	}
	s.running.Add(1)
	c.timer = time.AfterFunc(c.takes, func() {
		defer s.running.Done()
		s.Lock()
		if s.closed {
			s.Unlock()
			return
		}
		c.reportLate()
		s.Unlock()
		if s.options.OnChange != nil {
			s.options.OnChange(c.lb.ID.String())
		}
	})
}

// reportLate completes settleLate, unless the load balancer is gone.
func (c *Change) reportLate() {
	s, touched := c.state, c.touched
	c.touched = nil
	for _, o := range touched {
		if s.late[o] == c {
			delete(s.late, o)
			c.touched = append(c.touched, o)
		}
	}
	if there, ok := s.LoadBalancers.Find(c.lb.ID.String()); ok && there == c.lb {
		c.settleParts()
		s.rollUp(c.lb)
	}
}

// stopLate aborts late reports.
func (s *State) stopLate() {
	stopped := map[*Change]bool{}
	for _, c := range s.late {
		if !stopped[c] && c.timer.Stop() {
			s.running.Done()
		}
		stopped[c] = true
	}
	clear(s.late)
}
