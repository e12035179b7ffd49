// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/kube-octavia/kube-octavia/internal/cloud/batch"
)

// cache stores the last inventory, so that all Nodes share it. It stores a failure like an inventory, so that Nodes do
// not wait one after the other while Nova does not answer.
type cache struct {
	reads *batch.Reader[snapshot]

	mu   sync.Mutex
	last snapshot
	ids  sets.Set[string] // of all servers of the last inventory and of earlier ones; 36 bytes each, so none is ever removed
}

// snapshot is the result of a read.
type snapshot struct {
	began, ended time.Time
	inventory    Inventory
	err          error
}

// freshness reports whether a snapshot is fresh enough.
type freshness func(snapshot) bool

// begunSince accepts snapshots that show everything that happened before a time: their read began
// since then.
func begunSince(t time.Time) freshness {
	return func(s snapshot) bool { return !s.began.Before(t) }
}

// endedSince accepts snapshots whose read ended since a time. So the result of a read serves all Nodes
// for a while, however long the read took.
func endedSince(t time.Time) freshness {
	return func(s snapshot) bool { return !s.ended.Before(t) }
}

func newCache(read func(context.Context) (Inventory, error), now func() time.Time) *cache {
	c := &cache{ids: sets.New[string]()}
	c.reads = batch.New(func(ctx context.Context, _ []string) (map[string]snapshot, error) {
		s := snapshot{began: now()}
		s.inventory, s.err = read(ctx)
		s.ended = now()
		c.keep(s)
		return map[string]snapshot{"": s}, nil
	})
	return c
}

// get returns a fresh inventory. Concurrent callers share a read.
func (c *cache) get(ctx context.Context, fresh freshness) (Inventory, error) {
	s := c.latest()
	if !fresh(s) {
		var err error
		s, err = c.reads.Get(ctx, "")
		if err != nil {
			return Inventory{}, err
		}
	}
	return s.inventory, s.err
}

// latest returns the last snapshot.
func (c *cache) latest() snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
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

// had reports whether an inventory had the server.
func (c *cache) had(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ids.Has(id)
}
