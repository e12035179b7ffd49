// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package polling

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// TestSimulatedClouds polls consecutive operations of simulated clouds, and learns from each.
func TestSimulatedClouds(t *testing.T) {
	for _, c := range []struct {
		name string
		// takes returns how long the i-th operation takes.
		takes func(r *rand.Rand, i int) time.Duration
		// calls is the allowed mean number of calls once the duration is known, and mostCalls the allowed maximum.
		// Stuck operations may take one call per 5 s, and do not count.
		calls     float64
		mostCalls int
		// late is the allowed mean delay, as a fraction of the operation's duration.
		late float64
		// answer is the duration of an answer.
		answer time.Duration
	}{
		{"constant 30 s", func(*rand.Rand, int) time.Duration { return 30 * second }, 5, 6, 0.05, 0},
		{"constant 4 s", func(*rand.Rand, int) time.Duration { return 4 * second }, 4, 6, 0.07, 0},
		{"constant 4 s, 80 ms", func(*rand.Rand, int) time.Duration { return 4 * second }, 1.5, 2, 0.07, 80 * time.Millisecond},
		{"constant 500 ms, 80 ms", func(*rand.Rand, int) time.Duration { return second / 2 }, 1.5, 2, 0.4, 80 * time.Millisecond},
		{"4 s, give or take a tenth, 80 ms", func(r *rand.Rand, _ int) time.Duration {
			return 3600*time.Millisecond + time.Duration(r.Int64N(int64(800*time.Millisecond)))
		}, 2, 3, 0.12, 80 * time.Millisecond},
		{"constant 120 s", func(*rand.Rand, int) time.Duration { return 120 * second }, 7, 9, 0.05, 0},
		{"instant", func(*rand.Rand, int) time.Duration { return 5 * time.Millisecond }, 1, 1, 50, 0},
		{"30 s, give or take a tenth", func(r *rand.Rand, _ int) time.Duration { return 27*second + time.Duration(r.Int64N(int64(6*second))) }, 6, 9, 0.05, 0},
		{"heavy tail", func(r *rand.Rand, _ int) time.Duration {
			return min(time.Duration(float64(20*second)*math.Pow(1-r.Float64(), -1/2.5)), 20*time.Minute)
		}, 13, 60, 0.06, 0},
		{"one in fifty is stuck for an hour", func(r *rand.Rand, i int) time.Duration {
			if i%50 == 49 {
				return time.Hour
			}
			return 30 * second
		}, 5, 8, 0.03, 0},
		{"10 times as fast from the middle on", func(_ *rand.Rand, i int) time.Duration {
			if i < 250 {
				return 30 * second
			}
			return 3 * second
		}, 6, 12, 0.08, 0},
		{"10 times as slow from the middle on", func(_ *rand.Rand, i int) time.Duration {
			if i < 250 {
				return 3 * second
			}
			return 30 * second
		}, 6, 40, 0.07, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			const warm, n = 10, 500
			var e Estimate
			var calls, most, counted int
			var late, worst float64
			for i := range n {
				takes := c.takes(r, i)
				after, by, looks := follow(e, takes, c.answer)
				e = e.Learn(after, by, noon)
				if stuck := takes > 5*time.Minute; stuck && looks > 50+int(takes/Longest) {
					t.Errorf("%d looks at one that is stuck for %v", looks, takes)
				} else if i < warm || stuck {
					continue
				}
				counted++
				calls, most = calls+looks, max(most, looks)
				part := float64(by-takes) / float64(takes)
				late, worst = late+part, max(worst, part)
			}
			meanCalls, meanLate := float64(calls)/float64(counted), late/float64(counted)
			t.Logf("calls %.1f, at most %d; late by %.1f %%, at most %.1f %%; %+v", meanCalls, most, 100*meanLate, 100*worst, e)
			if meanCalls > c.calls || most > c.mostCalls || meanLate > c.late {
				t.Errorf("want at most %.1f calls, %d at most, late by %.1f %%", c.calls, c.mostCalls, 100*c.late)
			}
		})
	}
}
