// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conflict handles other controllers that change a Service or its cloud objects. The
// first change is repaired at once: it may be a person's mistake. Two controllers that repair
// each other's changes would never stop, so later changes are repaired after a backoff, and
// finally work on the Service stops for a while.
package conflict

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// OnService is the Kind of writes to the Service. They are counted together: another
// controller writes address, annotations and finalizer one by one.
const OnService = "Service"

// Write is a write of another client to the Service or its cloud objects.
type Write struct {
	// Kind is OnService, or the kind of the operation that repairs it.
	Kind string
	// Texts are the names of the written fields, or the text of the operation.
	Texts []string

	at time.Time
}

// State is what is known of the writes to one Service and its cloud objects. It is plain data;
// the methods that change it return the new one.
type State struct {
	// Stopped is whether work on the Service has stopped. Until is when it resumes, or the end
	// of the backoff.
	Stopped bool
	Until   time.Time
	// Reported is whether the Service's condition says that work has stopped.
	Reported bool

	uid types.UID
	// pending are the own writes that have not come back as an event yet, the oldest first.
	pending []ownWrite
	// writes are those of other clients within the window since work last resumed, the oldest
	// first.
	writes []Write
	// unreported are the overwritten fields that no event has named yet.
	unreported []string
	// stops counts consecutive stops. since is when the last one began or ended.
	stops int
	since time.Time
	// restored is when the finalizer was last restored during the stop.
	restored time.Time
}

// Wait returns how long the Service must not be changed.
func (s State) Wait(now time.Time) time.Duration { return max(s.Until.Sub(now), 0) }

// MayRestore reports whether the finalizer may be restored during a stop: not more often than the longest backoff.
func (s State) MayRestore(now time.Time, t timing.Delays) bool {
	return now.Sub(s.restored) >= t.ConflictWait.Last
}

// Repeated reports whether writes of the kind were made more than once.
func (s State) Repeated(kind string) bool { return s.count(kind) > 1 }

func (s State) count(kind string) (n int) {
	for _, w := range s.writes {
		if w.Kind == kind {
			n++
		}
	}
	return n
}

// Overwritten returns all fields of the Service that were written, and those of the last write.
func (s State) Overwritten() (all, last []string) {
	for _, w := range s.writes {
		if w.Kind == OnService {
			all, last = union(all, w.Texts), w.Texts
		}
	}
	return all, last
}

// Undone returns the operations that would repair the writes that were repeated in the cloud:
// of each kind the last.
func (s State) Undone() (texts []string) {
	for i, w := range s.writes {
		later := slices.ContainsFunc(s.writes[i+1:], func(l Write) bool { return l.Kind == w.Kind })
		if w.Kind != OnService && !later && s.Repeated(w.Kind) {
			texts = append(texts, w.Texts...)
		}
	}
	return texts
}

// wrote returns the state after writes that were detected together. Writes during a stop do not
// count.
func (s State) wrote(writes []Write, now time.Time, t timing.Delays) State {
	if t.ConflictLimit == 0 || len(writes) == 0 || s.Stopped {
		return s
	}
	s.writes = slices.DeleteFunc(slices.Clone(s.writes), func(w Write) bool { return now.Sub(w.at) >= t.ConflictWindow })
	if len(s.writes) == 0 && now.Sub(s.since) >= t.ConflictWindow {
		s.stops = 0
	}
	most := 0
	for _, w := range writes {
		w.at = now
		s.writes = append(s.writes, w)
		if w.Kind == OnService {
			s.unreported = union(s.unreported, w.Texts)
		}
	}
	for _, w := range s.writes {
		most = max(most, s.count(w.Kind))
	}
	limit := t.ConflictLimit
	if s.stops > 0 {
		limit = min(limit, 2) // a person may still make one mistake
	}
	if most >= limit {
		s.stops++
		s.Stopped, s.since, s.Until = true, now, now.Add(t.ConflictStop.After(s.stops))
	} else if most > 1 {
		s.Until = now.Add(t.ConflictWait.After(most - 1))
	}
	return s
}

// changed returns the state after a user changed the Service. That shortens a stop, because the
// change may end the conflict. It shortens later stops less, because the other controller may
// make such changes itself.
func (s State) changed(t timing.Delays) State {
	wait := timing.Backoff{First: t.ConflictWait.First, Last: t.ConflictStop.Last}.After(2*s.stops - 1)
	if end := s.since.Add(wait); s.Stopped && end.Before(s.Until) {
		s.Until = end
	}
	return s
}

// resumed returns the state after the end of a stop. The next stop comes sooner and is longer.
func (s State) resumed(now time.Time) State {
	if !s.Stopped || now.Before(s.Until) {
		return s
	}
	return State{uid: s.uid, pending: s.pending, stops: s.stops, since: now}
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
