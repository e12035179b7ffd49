// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// FaultKind is a way in which a request fails.
type FaultKind string

// The kinds of faults.
const (
	// FaultStatus answers with Status and Body without running the handler.
	FaultStatus FaultKind = "status"
	// FaultHang holds the request until the client disconnects, Delay passes (if it is not zero) or
	// the fault is removed. In the last two cases the request then continues normally.
	FaultHang FaultKind = "hang"
	// FaultHangAfter runs the handler, then holds the answer as FaultHang holds the request.
	FaultHangAfter FaultKind = "hang-after"
	// FaultResetBefore resets the TCP connection without running the handler.
	FaultResetBefore FaultKind = "reset-before"
	// FaultResetAfter runs the handler, then resets the connection.
	FaultResetAfter FaultKind = "reset-after"
	// FaultGarbage runs the handler, then answers with 200 and a body that is not JSON.
	FaultGarbage FaultKind = "garbage"
	// FaultHalfBody runs the handler, sends the answer's header and half of its
	// body, then resets the connection.
	FaultHalfBody FaultKind = "half-body"
	// FaultLatency waits for Delay before the handler runs.
	FaultLatency FaultKind = "latency"
	// FaultPartialList runs the handler, then omits the items with the ids in Missing from the list
	// in the answer, without an error.
	FaultPartialList FaultKind = "partial-list"
	// FaultErrorState makes the changed object end in ERROR: see FaultError. It affects only
	// changes, never a GET.
	FaultErrorState FaultKind = "error-state"
	// FaultErrorChildren makes Octavia's worker fail at the change: it is not carried out, the
	// changed children end in ERROR with the values of the request, and their load balancer in
	// ACTIVE. It affects only changes, never a GET.
	FaultErrorChildren FaultKind = "error-children"
)

var faultKinds = []FaultKind{FaultStatus, FaultHang, FaultHangAfter, FaultResetBefore, FaultResetAfter, FaultGarbage, FaultHalfBody, FaultPartialList, FaultLatency, FaultErrorState, FaultErrorChildren}

// Fault describes a fault and the requests that it affects. Faults affect requests that have a
// valid token or need none; a request that gets 401 does not count.
type Fault struct {
	// ID is set by Faults.Add if it is empty.
	ID string `json:"id"`
	// Service, Method and Route (the template, without the method) select the requests; empty
	// matches any.
	Service string    `json:"service,omitempty"`
	Method  string    `json:"method,omitempty"`
	Route   string    `json:"route,omitempty"`
	Kind    FaultKind `json:"kind"`
	// Status and Body are the answer of FaultStatus; Header is added to it.
	Status int               `json:"status,omitempty"`
	Body   string            `json:"body,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	// Missing are the ids of the items that FaultPartialList omits.
	Missing []string `json:"missing,omitempty"`
	// Times is the number of affected requests; 0 means all until the fault is removed.
	Times int `json:"times,omitempty"`
	// Skip is the number of matching requests that pass first.
	Skip int `json:"skip,omitempty"`
	// Delay is how long FaultHang, FaultHangAfter and FaultLatency hold a request.
	Delay time.Duration `json:"-"`
}

// Validate returns what is wrong with the fault, or nil.
func (f Fault) Validate() error {
	switch {
	case !slices.Contains(faultKinds, f.Kind):
		return fmt.Errorf("unknown kind of fault %q: use one of %v", f.Kind, faultKinds)
	case f.Kind == FaultStatus && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("a fault of kind status needs a status of 200 to 599, not %d", f.Status)
	case f.Kind == FaultLatency && f.Delay <= 0:
		return fmt.Errorf("a fault of kind latency needs a delay")
	case f.Kind == FaultPartialList && len(f.Missing) == 0:
		return fmt.Errorf("a fault of kind partial-list needs the ids of what is missing")
	case f.Times < 0 || f.Skip < 0 || f.Delay < 0:
		return fmt.Errorf("times, skip and delay of a fault must not be negative")
	}
	return nil
}

// lets reports whether the handler runs and its answer is unchanged.
func (f Fault) lets() bool {
	return f.Kind == FaultLatency || f.Kind == FaultErrorState || f.Kind == FaultErrorChildren
}

func (f Fault) matches(service, method, route string) bool {
	if f.lets() && f.Kind != FaultLatency && (method == http.MethodGet || method == http.MethodHead) {
		return false
	}
	return (f.Service == "" || f.Service == service) && (f.Method == "" || f.Method == method) && (f.Route == "" || f.Route == route)
}

type activeFault struct {
	Fault
	seen, used int
}

// Faults is the set of active faults. Its zero value is ready to use. It is safe for concurrent
// use.
type Faults struct {
	mu     sync.Mutex
	last   int
	active []*activeFault
	// holds has the held requests, by fault. They stay when the fault is used up, so that removing
	// it still releases them.
	holds map[string]*hold
}

type hold struct {
	release chan struct{}
	count   int
}

// Add activates a fault and returns its id. It replaces an active fault with the same id. A fault
// that Validate refuses has no effect.
func (s *Faults) Add(f Fault) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.ID == "" {
		s.last++
		f.ID = fmt.Sprintf("fault-%d", s.last)
	}
	s.remove(f.ID)
	s.active = append(s.active, &activeFault{Fault: f})
	return f.ID
}

// Remove deactivates a fault, releases the requests that it holds, and reports whether it existed.
func (s *Faults) Remove(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(id)
}

func (s *Faults) remove(id string) bool {
	n := len(s.active)
	s.active = slices.DeleteFunc(s.active, func(f *activeFault) bool { return f.ID == id })
	h, held := s.holds[id]
	if held {
		close(h.release)
		delete(s.holds, id)
	}
	return held || len(s.active) < n
}

// Clear removes all faults.
func (s *Faults) Clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = nil
	for id, h := range s.holds {
		close(h.release)
		delete(s.holds, id)
	}
}

// List returns the active faults, in the order in which they were added. A fault that is used up is
// not active any more.
func (s *Faults) List() []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	faults := make([]Fault, 0, len(s.active))
	for _, f := range s.active {
		faults = append(faults, f.Fault)
	}
	return faults
}

// Held returns the number of requests that faults of the kinds FaultHang and FaultHangAfter hold.
func (s *Faults) Held() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, h := range s.holds {
		n += h.count
	}
	return n
}

// take returns the faults that affect a request, and counts the use: any number of those for which
// lets is true, and at most one of the others.
func (s *Faults) take(service, method, route string) []Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	var hit []Fault
	for _, f := range s.active {
		if !f.matches(service, method, route) || f.Validate() != nil {
			continue
		}
		f.seen++
		if f.seen <= f.Skip {
			continue
		}
		f.used++
		hit = append(hit, f.Fault)
		if !f.lets() {
			break
		}
	}
	if len(hit) > 0 {
		s.active = slices.DeleteFunc(s.active, func(f *activeFault) bool { return f.Times > 0 && f.used >= f.Times })
	}
	return hit
}

// holdOn registers a held request. The channel is closed when the fault is removed; done must be
// called when the request continues.
func (s *Faults) holdOn(id string) (release <-chan struct{}, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.holds == nil {
		s.holds = map[string]*hold{}
	}
	h := s.holds[id]
	if h == nil {
		h = &hold{release: make(chan struct{})}
		s.holds[id] = h
	}
	h.count++
	return h.release, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		h.count--
		if h.count == 0 && s.holds[id] == h {
			delete(s.holds, id)
		}
	}
}
