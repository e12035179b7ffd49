// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conflict deals with another controller that writes to what is ours. A person's
// mistake is repaired at once. Two controllers that repair each other's writes would go on
// for ever: so further writes are repaired after a backoff, and at last work on the Service
// stops for a while.
//
// It may import claim, metrics, status and timing, and what these import.
package conflict

import (
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// OnService is the Kind of writes to the Service. They count together: another controller
// writes address, annotations and finalizer one by one.
const OnService = "Service"

// Write is a write of another client to what is ours.
type Write struct {
	// Kind is OnService, or the kind of the op that makes up for it.
	Kind string
	// Texts name the fields that were written, or the op.
	Texts []string

	at time.Time
}

// history is what is known of other clients' writes to what one Service has. It is plain
// data; its methods return what is known after something has happened.
type history struct {
	// writes are those of the last window since work was taken up, the oldest first.
	writes []Write
	// until is when the backoff ends, or, while work is stopped, when it is taken up again.
	until   time.Time
	stopped bool
	// stops is how often in a row work was stopped, and since when it was stopped or taken
	// up last.
	stops int
	since time.Time
}

// mostWrites bounds what is kept of a Service. It is more than it takes to stop.
const mostWrites = 128

// after is what is known after writes that were seen together. While work is stopped they
// do not matter.
func (h history) after(writes []Write, now time.Time, t timing.Delays) history {
	if t.ConflictLimit == 0 || len(writes) == 0 || h.stopped {
		return h
	}
	young := slices.DeleteFunc(slices.Clone(h.writes), func(w Write) bool { return now.Sub(w.at) >= t.ConflictWindow })
	if len(young) == 0 && now.Sub(h.since) >= t.ConflictWindow {
		h.stops = 0
	}
	for _, w := range writes {
		w.at = now
		young = append(young, w)
	}
	h.writes = young[max(len(young)-mostWrites, 0):]
	limit := t.ConflictLimit
	if h.stops > 0 {
		limit = min(limit, 2) // a person may still make a mistake
	}
	switch n := slices.Max(slices.Collect(maps.Values(h.times()))); {
	case n >= limit:
		h.stops++
		h.stopped, h.since, h.until = true, now, now.Add(t.ConflictStop.After(h.stops))
	case n > 1:
		h.until = now.Add(t.ConflictWait.After(n - 1))
	}
	return h
}

// changed is what is known after a user changed the Service. That ends a stop, since the
// change may be what ends the conflict. It does so ever later, since it may be the other
// controller's own.
func (h history) changed(t timing.Delays) history {
	if h.stopped {
		later := timing.Backoff{First: t.ConflictWait.First, Last: t.ConflictStop.Last}.After(2*h.stops - 1)
		h.until = earlier(h.until, h.since.Add(later))
	}
	return h
}

// resumed takes up work once a stop is over. Work is stopped again sooner than before.
func (h history) resumed(now time.Time) history {
	if !h.stopped || now.Before(h.until) {
		return h
	}
	return history{stops: h.stops, since: now}
}

// times is how often each kind was written.
func (h history) times() map[string]int {
	times := map[string]int{}
	for _, w := range h.writes {
		times[w.Kind]++
	}
	return times
}

// overwritten are the fields of the Service that were written, and those of the last write.
func (h history) overwritten() (all, last []string) {
	for _, w := range h.writes {
		if w.Kind == OnService {
			all, last = union(all, w.Texts), w.Texts
		}
	}
	return all, last
}

// undone is what was done more than once in the cloud, each as it was the last time.
func (h history) undone() []string {
	times, last := h.times(), map[string][]string{}
	for _, w := range h.writes {
		if w.Kind != OnService && times[w.Kind] > 1 {
			last[w.Kind] = w.Texts
		}
	}
	var all []string
	for _, kind := range slices.Sorted(maps.Keys(last)) {
		all = append(all, last[kind]...)
	}
	return all
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
