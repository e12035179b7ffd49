// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polling decides when to look at an operation of Octavia again: often enough to notice its end soon, and
// seldom enough that Octavia can do its work. It learns how long each kind of operation takes.
//
// Everything is a pure function of durations.
package polling

import (
	"math"
	"time"
)

const (
	// Shortest and Longest bound the interval between two looks.
	Shortest, Longest = 250 * time.Millisecond, 5 * time.Second
	// share is the part of an operation's time by which its end may be noticed late: one tenth.
	share = 10
	// least is the earliest first look at an operation that is known to be fast.
	least = 50 * time.Millisecond
	// halfLife is the time after which an estimate that was not renewed is trusted half as much.
	halfLife = time.Hour
	// restFactor times the time of the last answer is the shortest interval between two looks.
	restFactor = 10
)

// Operation is a kind of operation whose durations are alike. Without a name it is unknown: another client began it.
type Operation struct {
	Provider, Name string
}

// Estimate is how long operations of a kind take: a smoothed mean and deviation, as TCP has for round trips. The zero
// value is unknown.
type Estimate struct {
	mean, deviation time.Duration
	renewed         time.Time
}

// Known reports whether an operation of the kind was seen to its end.
func (e Estimate) Known() bool { return e.mean > 0 }

// Learn returns the estimate after an operation that was PENDING after the first duration, and had ended by the second.
// The first is 0 if the end was seen at the first look.
func (e Estimate) Learn(after, by time.Duration, now time.Time) Estimate {
	by = max(by, least)
	if !e.Known() {
		mean := (after + by) / 2
		if after == 0 {
			mean = by
		}
		return Estimate{mean: mean, deviation: mean / 4, renewed: now}
	}
	// The end is known as an interval. The estimate is corrected only if it is outside.
	took := e.mean
	switch {
	case took <= after:
		took = after + (by-after)/2
	case took > by:
		took = by
	}
	if after == 0 {
		// It may have ended long before: look earlier next time, and see.
		took = min(e.mean, by-max(by/20, min(by/2, 2*least)))
	}
	// One operation that was stuck says nothing about the others.
	off := min(took, 2*e.mean) - e.mean
	return Estimate{mean: e.mean + off/4, deviation: e.deviation + (off.Abs()-e.deviation)/4, renewed: now}
}

// Aged returns the estimate as far as it is trusted at the time. What was not renewed for long expects less: a look
// that is too early costs a call, a look that is too late costs the user's time.
func (e Estimate) Aged(now time.Time) Estimate {
	age := now.Sub(e.renewed)
	if !e.Known() || age <= 0 {
		return e
	}
	e.mean = max(time.Duration(float64(e.mean)*math.Exp2(-float64(age)/float64(halfLife))), least)
	return e
}

// first returns when to look first: when an operation can have ended. But if another look cannot follow soon, and the
// time is well known, then when it should have ended.
func (e Estimate) first(rest time.Duration) time.Duration {
	if !e.Known() {
		return Shortest
	}
	at := e.mean - 2*e.deviation
	rest = max(rest, Shortest)
	if rest > e.mean/share && rest > 4*e.deviation {
		at = e.mean + e.deviation
	}
	return max(at, min(Shortest, e.mean), least)
}

// Next returns how long after its beginning to look at an operation again. Looked is how long after its beginning it
// was last seen PENDING, or 0. Rest is how soon one look can follow another.
//
// The first look is when the operation can have ended, unless a look that is too early would cost more time than one
// that is too late. Then the interval grows, up to a tenth of the time that it has
// taken so far. Before the first look a long operation gets a few early ones, each at twice the time of the one
// before: a cloud that has become much faster is noticed after at most twice the time that it takes.
func (e Estimate) Next(looked, rest time.Duration) time.Duration {
	first := e.first(rest)
	switch {
	case looked <= 0:
		return early(first, looked)
	case looked < first:
		return max(early(first, looked), looked+interval(first/share))
	}
	step := max(e.deviation, first/(4*share), looked-first)
	return looked + interval(min(step, looked/share))
}

// early returns the next look up to the first regular one: the latter, or a half, a quarter, ... of it.
func early(first, looked time.Duration) time.Duration {
	next := first
	for next/2 >= max(Longest, looked*3/2) {
		next /= 2
	}
	return next
}

// interval limits an interval between two looks.
func interval(d time.Duration) time.Duration { return min(max(d, Shortest), Longest) }

// Rest returns the shortest interval between two looks after an answer that took so long: a cloud that is slow is not
// asked more often than it can answer beside its work.
func Rest(answer time.Duration) time.Duration { return min(restFactor*answer, Longest) }

// Backoff returns the shortest interval after so many calls in a row that failed.
func Backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(Shortest<<min(failures, 8), Longest)
}
