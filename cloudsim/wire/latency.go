// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Operation selects the requests of one kind; an empty field matches any.
type Operation struct {
	Service string `json:"service,omitempty"`
	Method  string `json:"method,omitempty"`
	Route   string `json:"route,omitempty"`
}

// OperationLatency is the delay before an operation is carried out.
type OperationLatency struct {
	Operation
	Latency time.Duration `json:"latency_ns"`
}

// Latency has the delays of operations. Its zero value, which means no delays, is ready to use. It
// is safe for concurrent use.
type Latency struct {
	mu  sync.RWMutex
	set map[Operation]time.Duration
}

// Set sets the delay of the operation; zero or less removes it. If several settings match a
// request, the most specific one applies: one with a route before one with a method before one with
// a service.
func (l *Latency) Set(op Operation, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.set == nil {
		l.set = map[Operation]time.Duration{}
	}
	if d <= 0 {
		delete(l.set, op)
		return
	}
	l.set[op] = d
}

// Clear removes all settings.
func (l *Latency) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.set = nil
}

// List returns the settings, ordered by service, route and method.
func (l *Latency) List() []OperationLatency {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]OperationLatency, 0, len(l.set))
	for op, d := range l.set {
		all = append(all, OperationLatency{Operation: op, Latency: d})
	}
	slices.SortFunc(all, func(a, b OperationLatency) int {
		return cmp.Or(cmp.Compare(a.Service, b.Service), cmp.Compare(a.Route, b.Route), cmp.Compare(a.Method, b.Method))
	})
	return all
}

func (l *Latency) of(service, method, route string) time.Duration {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if len(l.set) == 0 {
		return 0
	}
	for _, op := range []Operation{
		{service, method, route}, {"", method, route}, {service, "", route}, {"", "", route},
		{service, method, ""}, {"", method, ""}, {service, "", ""}, {},
	} {
		if d, ok := l.set[op]; ok {
			return d
		}
	}
	return 0
}

// pause waits for d. It returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
