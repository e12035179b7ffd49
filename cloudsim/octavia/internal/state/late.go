// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// Provider ovn 8 (2025.1) reports a load balancer as ACTIVE first, and 1 to 8 s later what the change was about: meanwhile
// that stays PENDING, also what is being deleted. Traffic flows before.
//
// It carries out a batch of members one by one. Whenever one is done, it reports listeners, pools and all members as ACTIVE that it
// has, also those that are to be deleted (_get_current_operating_statuses in ovn_octavia_provider/helper.py).

// settleLate reports what the change was about as done when an amphora would be. What a later change is about by then is left
// to that one.
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

// reportLate ends settleLate, unless the load balancer is gone.
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

// stopLate ends what is late where it stands.
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
