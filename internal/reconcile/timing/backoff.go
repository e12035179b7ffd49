// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package timing

import "time"

// Backoff is a wait between attempts that begins with First and doubles up to Last.
type Backoff struct{ First, Last time.Duration }

// mostTries limits the count of Tries: longer waits do not grow. mostDoublings prevents an overflow.
const mostTries, mostDoublings = 10, 20

// After returns the wait after so many attempts, at least one.
func (b Backoff) After(tries int) time.Duration {
	return min(b.First<<min(max(tries-1, 0), mostDoublings), b.Last)
}

// Tries counts attempts at the same operation. The zero value is none.
type Tries struct {
	Count int
	// Next is the earliest time of the next attempt.
	Next time.Time
}

// Again returns the tries after another attempt at the time now.
func (t Tries) Again(now time.Time, b Backoff) Tries {
	count := min(t.Count+1, mostTries)
	return Tries{Count: count, Next: now.Add(Jitter(b.After(count)))}
}

// Wait returns how long to wait at the time now before the next attempt; it is never negative.
func (t Tries) Wait(now time.Time) time.Duration {
	if t.Count == 0 {
		return 0
	}
	return max(t.Next.Sub(now), 0)
}
