// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import "sync"

// gate limits the number of connections that a listener serves at once. The limit can change while
// connections are open.
type gate struct {
	mu    sync.Mutex
	wake  *sync.Cond
	limit int
	open  int
}

func newGate(limit int) *gate {
	g := &gate{limit: limit}
	g.wake = sync.NewCond(&g.mu)
	return g
}

// enter waits for a free place and takes it. It returns false as soon as stopped reports true; code
// that makes it true must call nudge.
func (g *gate) enter(stopped func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !stopped() {
		if g.free() {
			g.open++
			return true
		}
		g.wake.Wait()
	}
	return false
}

// try takes a place if one is free.
func (g *gate) try() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.free() {
		return false
	}
	g.open++
	return true
}

// leave releases a place.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open--
	g.wake.Broadcast()
}

// setLimit changes the limit; values below 1 mean no limit.
func (g *gate) setLimit(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.wake.Broadcast()
}

// nudge makes waiting callers of enter check again whether they are stopped.
func (g *gate) nudge() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wake.Broadcast()
}

func (g *gate) free() bool { return g.limit < 1 || g.open < g.limit }
