// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package timing

import "time"

// Backoff says how long to wait between attempts: First after the first one, then
// twice as long each time, and Last at most.
type Backoff struct{ First, Last time.Duration }

// mostTries bounds the count of Tries: waits do not grow any more by then. mostDoublings
// is before a time of hours overflows.
const mostTries, mostDoublings = 10, 20

// After returns how long to wait after so many attempts; at least one was made.
func (b Backoff) After(tries int) time.Duration {
	return min(b.First<<min(max(tries-1, 0), mostDoublings), b.Last)
}

// Tries counts attempts at the same thing. The zero value is none.
type Tries struct {
	Count int
	// Next is when the next attempt may be made.
	Next time.Time
}

// Again returns the tries after another attempt at the time now.
func (t Tries) Again(now time.Time, b Backoff) Tries {
	count := min(t.Count+1, mostTries)
	return Tries{Count: count, Next: now.Add(Jitter(b.After(count)))}
}

// Wait is how long to wait at the time now before the next attempt; never negative.
func (t Tries) Wait(now time.Time) time.Duration {
	if t.Count == 0 {
		return 0
	}
	return max(t.Next.Sub(now), 0)
}
