// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloud

import (
	"maps"
	"time"
)

// note records which load balancers have finished a change since the last read. The simulator
// reports that itself.
func (c *Cloud) note(all []LoadBalancer) {
	if c.sim != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, seen := time.Now(), map[string]LoadBalancer{}
	for _, l := range all {
		before, known := c.seen[l.ID]
		if !l.Pending() && (!known || before.Pending() || before.Updated != l.Updated) {
			c.finished[l.ID] = now
			c.changes[l.ID]++
		}
		seen[l.ID] = l
	}
	for id := range c.seen {
		if _, there := seen[id]; !there {
			c.finished[id] = now
		}
	}
	c.seen = seen
}

// Finished returns when each load balancer finished its last change since Reset, by id.
func (c *Cloud) Finished() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.finished)
}

func (c *Cloud) finish(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished[id] = time.Now()
	c.changes[id]++
}

// Changes returns how many changes of each load balancer have finished since Reset, by id. On a
// real cloud that is only how many the bench has seen.
func (c *Cloud) Changes() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.changes)
}
