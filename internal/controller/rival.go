// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// What others write to what is ours is put right. One who writes it again each time
// is no person who made a mistake but another controller, and two that put each other
// right would go on for ever. So the first write of somebody else is put right at
// once, the next ones after growing delays, and at last work on the Service stops for
// a while. This file decides when; it knows neither Kubernetes nor the cloud.

// foreignWrite is one write of somebody else to what is ours.
type foreignWrite struct {
	at time.Time
	// what is the same for all writes that count together: onService, or what was done
	// in the cloud. texts tell what was written to: marks, or a thing in the cloud.
	what  string
	texts []string
}

// onService is what is written to in Kubernetes. All of it counts together: another
// controller writes address, annotations and finalizer one by one, and a person does
// not.
const onService = "Service"

// rivalry is what is known of foreign writes to what one Service has. Its methods
// return what is known after something has happened.
type rivalry struct {
	// writes are the young ones, the oldest first, since work on the Service was taken
	// up again.
	writes []foreignWrite
	// waits is until when the last one stays.
	waits time.Time
	// stops is how often in a row work was stopped, stopped when it was the last time,
	// and until for how long; until is zero while work goes on. resumed is since when
	// it does.
	stops                   int
	stopped, until, resumed time.Time
	// told is whether the Service says that work was stopped, and untold are the marks
	// that were written to since an event told of that.
	told   bool
	untold []string
	// afresh is whether work was taken up again and nobody has looked at the cloud
	// since. claimed is when the Service's finalizer was last set while it was stopped.
	afresh  bool
	claimed time.Time
}

// stance is what to do about a Service.
type stance int

const (
	// goOn: it is worked on, and what others wrote is put right.
	goOn stance = iota
	// holdOn: for a moment it is left as it is.
	holdOn
	// standAside: somebody else writes to it, and we do not.
	standAside
)

// mostWrites bounds what is kept of a Service. It is more than it takes to stop.
const mostWrites = 128

// stance says what to do now, and for how long unless something happens.
func (r rivalry) stance(now time.Time) (stance, time.Duration) {
	switch {
	case now.Before(r.until):
		return standAside, r.until.Sub(now)
	case now.Before(r.waits):
		return holdOn, r.waits.Sub(now)
	}
	return goOn, 0
}

// over reports whether work was stopped and may be taken up again.
func (r rivalry) over(now time.Time) bool {
	return !r.until.IsZero() && !now.Before(r.until)
}

// resume takes up work again. It is stopped again sooner than the first time.
func (r rivalry) resume(now time.Time) rivalry {
	return rivalry{stops: r.stops, stopped: r.stopped, resumed: now, afresh: true}
}

// after is what is known after writes of somebody else that were seen together. While
// work is stopped they are nothing to us.
func (r rivalry) after(writes []foreignWrite, now time.Time, t timing.Delays) rivalry {
	if t.RivalLimit == 0 || len(writes) == 0 || now.Before(r.until) {
		return r
	}
	if r.over(now) {
		r = r.resume(now)
	}
	young := slices.DeleteFunc(slices.Clone(r.writes), func(w foreignWrite) bool { return now.Sub(w.at) >= t.RivalWindow })
	if len(young) == 0 && now.Sub(r.resumed) >= t.RivalWindow {
		r.stops = 0
	}
	young = append(young, writes...)
	r.writes = young[max(len(young)-mostWrites, 0):]
	for _, w := range writes {
		if w.what == onService {
			r.untold = sortedUnion(r.untold, w.texts)
		}
	}
	limit, markLimit := t.RivalLimit, t.RivalMarkLimit
	if r.stops > 0 {
		// A person may still make a mistake.
		limit, markLimit = min(limit, 2), min(markLimit, 2)
	}
	times := r.times()
	switch n := slices.Max(slices.Collect(maps.Values(times))); {
	case n >= limit, markLimit > 0 && times[onService] >= markLimit:
		r.stopped, r.until = now, now.Add(doubled(t.FirstRivalPause, r.stops, t.LastRivalPause))
		r.stops++
	case n > 1:
		r.waits = now.Add(doubled(t.FirstRivalWait, 2*(n-2), t.LastRivalWait))
	}
	return r
}

// changed is what is known after the Service was changed by who uses it. That ends a
// pause, since the change may be what puts an end to the other controller. It does so
// ever later, since it may be the other controller's own.
func (r rivalry) changed(now time.Time, t timing.Delays) rivalry {
	if !now.Before(r.until) {
		return r
	}
	earliest := r.stopped.Add(doubled(t.FirstRivalWait, 2*(r.stops-1), t.LastRivalPause))
	if earliest.Before(now) {
		earliest = now
	}
	if earliest.Before(r.until) {
		r.until = earliest
	}
	return r
}

// times is how often each thing was written.
func (r rivalry) times() map[string]int {
	times := map[string]int{}
	for _, w := range r.writes {
		times[w.what]++
	}
	return times
}

// lastMarks are those on the Service that were written to last.
func (r rivalry) lastMarks() []string {
	for _, w := range slices.Backward(r.writes) {
		if w.what == onService {
			return w.texts
		}
	}
	return nil
}

// marks are those on the Service that were written to.
func (r rivalry) marks() []string {
	var all []string
	for _, w := range r.writes {
		if w.what == onService {
			all = sortedUnion(all, w.texts)
		}
	}
	return all
}

func sortedUnion(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// undone is what somebody did more than once in the cloud, each as it was the last time.
func (r rivalry) undone() []string {
	times, last := r.times(), map[string][]string{}
	for _, w := range r.writes {
		if w.what != onService {
			last[w.what] = w.texts
		}
	}
	var all []string
	for _, what := range slices.Sorted(maps.Keys(last)) {
		if times[what] > 1 {
			all = append(all, last[what]...)
		}
	}
	return all
}

// concerns reports whether that was done more than once.
func (r rivalry) concerns(what string) bool { return r.times()[what] > 1 }

// doubled doubles d so many times, up to the longest.
func doubled(d time.Duration, times int, longest time.Duration) time.Duration {
	for ; times > 0 && d < longest; times-- {
		d *= 2
	}
	return min(d, longest)
}
