// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kube-octavia/kube-octavia/internal/batch"
)

// cache keeps the last inventory, so that all Nodes share it. A failure is kept like an inventory: while Nova does not
// answer, the Nodes do not wait for it one after the other.
type cache struct {
	reads *batch.Reader[snapshot]

	mu   sync.Mutex
	last snapshot
	ids  sets.Set[string] // of all servers of the last inventory and of the earlier ones; 36 bytes each, so it is never cleaned
}

// snapshot is the end of a read.
type snapshot struct {
	began     time.Time
	inventory Inventory
	err       error
}

func newCache(read func(context.Context) (Inventory, error), now func() time.Time) *cache {
	c := &cache{ids: sets.New[string]()}
	c.reads = batch.New(func(ctx context.Context, _ []string) (map[string]snapshot, error) {
		s := snapshot{began: now()}
		s.inventory, s.err = read(ctx)
		c.keep(s)
		return map[string]snapshot{"": s}, nil
	})
	return c
}

// get returns an inventory whose read began at that time or later. Several callers share a read.
func (c *cache) get(ctx context.Context, since time.Time) (Inventory, error) {
	c.mu.Lock()
	s := c.last
	c.mu.Unlock()
	if s.began.Before(since) {
		var err error
		if s, err = c.reads.Get(ctx, ""); err != nil {
			return Inventory{}, err
		}
	}
	return s.inventory, s.err
}

func (c *cache) keep(s snapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.began.Before(c.last.began) {
		return
	}
	c.last = s
	for id := range s.inventory.Servers {
		c.ids.Insert(id)
	}
}

// began returns when the read of the last inventory began.
func (c *cache) began() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last.began
}

// had reports whether an inventory had the server.
func (c *cache) had(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids.Has(id)
}
