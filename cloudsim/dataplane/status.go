// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import "sync"

// Operating statuses of a member, with Octavia's names.
const (
	statusOnline    = "ONLINE"
	statusError     = "ERROR"
	statusNoMonitor = "NO_MONITOR"
	statusDraining  = "DRAINING"
	statusOffline   = "OFFLINE"
)

// notifier passes member statuses to the callback in order, from one goroutine, so that a slow or
// locking callback never delays a health check and never receives an old status last.
type notifier struct {
	call func(memberID, status string)

	mu      sync.Mutex
	wake    *sync.Cond
	pending []memberStatus
	closed  bool
}

type memberStatus struct{ memberID, status string }

func newNotifier(call func(memberID, status string)) *notifier {
	n := &notifier{call: call}
	n.wake = sync.NewCond(&n.mu)
	return n
}

// push appends one status to the queue. It never blocks.
func (n *notifier) push(memberID, status string) {
	if n.call == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.pending = append(n.pending, memberStatus{memberID, status})
	n.wake.Signal()
}

// run delivers until close.
func (n *notifier) run() {
	for {
		n.mu.Lock()
		for len(n.pending) == 0 && !n.closed {
			n.wake.Wait()
		}
		if n.closed {
			n.mu.Unlock()
			return
		}
		batch := n.pending
		n.pending = nil
		n.mu.Unlock()
		for _, s := range batch {
			n.call(s.memberID, s.status)
		}
	}
}

// close ends run; queued statuses are dropped.
func (n *notifier) close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	n.wake.Broadcast()
}
