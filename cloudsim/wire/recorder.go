// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// Call is one request as it was recorded, just before its answer was sent.
type Call struct {
	// Service is "identity", "network", "load-balancer" or "compute".
	Service string `json:"service"`
	Method  string `json:"method"`
	// Route is the template of the path, such as
	// /v2.0/lbaas/loadbalancers/{id}; empty for a path that no service has.
	Route string `json:"route"`
	Path  string `json:"path"`
	Query string `json:"query,omitempty"`
	// Status is the HTTP status; 0 if there was no answer.
	Status   int           `json:"status"`
	Duration time.Duration `json:"duration_ns"`
	// RequestID is the answer's x-openstack-request-id, GlobalRequestID the one that the client
	// sent.
	RequestID       string    `json:"request_id"`
	GlobalRequestID string    `json:"global_request_id,omitempty"`
	ProjectID       string    `json:"project_id,omitempty"`
	At              time.Time `json:"at"`
	// Fault has the kinds of the faults that affected the call, joined with "+".
	Fault string `json:"fault,omitempty"`
}

// maxCalls limits the calls that are kept, so that a day of tests does not exhaust the memory.
const maxCalls = 100_000

// Recorder records the calls to all services. Its zero value is ready to use. It is safe for
// concurrent use.
type Recorder struct {
	mu     sync.Mutex
	calls  []Call // a ring once it has maxCalls entries
	next   int    // the index of the ring's oldest entry
	counts map[string]int
	ever   map[Operation]bool
}

func (r *Recorder) record(c Call) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]int{}
	}
	r.counts[c.Method+" "+c.Route]++
	if r.ever == nil {
		r.ever = map[Operation]bool{}
	}
	r.ever[Operation{Service: c.Service, Method: c.Method, Route: c.Route}] = true
	if len(r.calls) < maxCalls {
		r.calls = append(r.calls, c)
		return
	}
	r.calls[r.next] = c
	r.next = (r.next + 1) % maxCalls
}

// Calls returns the recorded calls, oldest first: all since the last Reset, or
// the newest 100,000 of them.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := make([]Call, 0, len(r.calls))
	calls = append(calls, r.calls[r.next:]...)
	return append(calls, r.calls[:r.next]...)
}

// Counts returns how often each operation, "METHOD route", was called since the last Reset. Unlike
// Calls it has no limit.
func (r *Recorder) Counts() map[string]int {
	r.mu.Lock()
	defer r.mu.Unlock()
	counts := maps.Clone(r.counts)
	if counts == nil {
		counts = map[string]int{}
	}
	return counts
}

// Operations returns all operations that were ever called, in no particular order. Reset does not
// affect it.
func (r *Recorder) Operations() []Operation {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.ever))
}

// Reset forgets all calls and counts.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls, r.next, r.counts = nil, 0, nil
}
