// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package polling determines when to poll an operation of Octavia: often enough to notice its end soon, and
// rarely enough not to slow Octavia down. It learns how long each kind of operation takes. All functions are pure
// functions of durations.
package polling

import (
	"math"
	"time"
)

const (
	// Shortest and Longest limit the interval between two polls.
	Shortest, Longest = 250 * time.Millisecond, 5 * time.Second
	// share is the inverse of the part of an operation's time by which its end may be noticed late:
	// one tenth.
	share = 10
	// least is the earliest first poll of an operation that is known to be fast.
	least = 50 * time.Millisecond
	// halfLife is the time after which an estimate that was not renewed is trusted half as much.
	halfLife = time.Hour
	// restFactor times the duration of the last answer is the minimum interval between two polls.
	restFactor = 10
)

// Operation is a kind of operation with similar durations. Without a name it is unknown: another client began it.
type Operation struct {
	Provider, Name string
}

// Estimate is the estimated duration of operations of a kind: a smoothed mean and deviation, as TCP has for round
// trips. The zero value means unknown.
type Estimate struct {
	mean, deviation time.Duration
	renewed         time.Time
}

// Known reports whether an operation of the kind was observed until its end.
func (e Estimate) Known() bool { return e.mean > 0 }

// Learn returns the estimate after an operation that was PENDING after the first duration, and had ended by the second.
// The first is 0 if the first poll saw the end.
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
		// It may have ended long before, so poll earlier next time.
		took = min(e.mean, by-max(by/20, min(by/2, 2*least)))
	}
	// A single stuck operation must not spoil the estimate.
	off := min(took, 2*e.mean) - e.mean
	return Estimate{mean: e.mean + off/4, deviation: e.deviation + (off.Abs()-e.deviation)/4, renewed: now}
}

// Aged returns the estimate as far as it is trusted at the time. An old estimate is reduced: a poll that is too
// early costs a call, one that is too late costs the user's time.
func (e Estimate) Aged(now time.Time) Estimate {
	age := now.Sub(e.renewed)
	if !e.Known() || age <= 0 {
		return e
	}
	e.mean = max(time.Duration(float64(e.mean)*math.Exp2(-float64(age)/float64(halfLife))), least)
	return e
}

// first returns the time of the first poll: when an operation can have ended or, if another poll cannot follow soon
// and the duration is well known, when it should have ended.
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

// Next returns when to poll an operation again, as a duration since its beginning. looked is the duration after
// which it was last seen PENDING, or 0. rest is the minimum interval between two polls. The first poll is when the
// operation can have ended, unless a poll that is too early would cost more time than one that is too late. Then the
// interval grows, up to a tenth of the time that the operation has taken so far. Before the first poll of a long
// operation there are a few early ones, each at twice the time of the previous one: so if a cloud has become much
// faster, the end is noticed after at most twice the actual duration.
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

// early returns the time of the next poll up to the first regular one: that time, or a half, a quarter,
// ... of it.
func early(first, looked time.Duration) time.Duration {
	next := first
	for next/2 >= max(Longest, looked*3/2) {
		next /= 2
	}
	return next
}

// interval limits an interval between two polls.
func interval(d time.Duration) time.Duration { return min(max(d, Shortest), Longest) }

// Rest returns the minimum interval between two polls after an answer with this duration, so that polls do not
// overload a slow cloud.
func Rest(answer time.Duration) time.Duration { return min(restFactor*answer, Longest) }

// Backoff returns the minimum interval after this number of consecutive failed calls.
func Backoff(failures int) time.Duration {
	if failures == 0 {
		return 0
	}
	return min(Shortest<<min(failures, 8), Longest)
}
