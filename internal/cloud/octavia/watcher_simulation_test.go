// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
)

// TestEndOfChangesOfManyLoadBalancersIsFoundSoonWithFewLists changes fifty load balancers within ten seconds, five times in a
// row, on simulated clouds.
func TestEndOfChangesOfManyLoadBalancersIsFoundSoonWithFewLists(t *testing.T) {
	const n, rounds = 50, 5
	for _, c := range []struct {
		name  string
		takes func(*rand.Rand) time.Duration
		stuck bool
		// first is the allowed number of lists in the first round, when durations are unknown, and later that in each
		// of the others.
		first, later int
	}{
		{"constant", func(*rand.Rand) time.Duration { return 30 * time.Second }, false, 80, 15},
		{"heavy tail", func(r *rand.Rand) time.Duration {
			return min(time.Duration(float64(10*time.Second)*math.Pow(1-r.Float64(), -0.4)), 5*time.Minute)
		}, false, 80, 50},
		{"constant, and one is stuck", func(*rand.Rand) time.Duration { return 30 * time.Second }, true, 85, 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			watch(t, func(s *fakeCloud) {
				began, takes := map[string]time.Time{}, map[string]time.Duration{}
				s.changed = func(h octavia.Head) {
					took := takes[h.ID]
					late := time.Since(began[h.ID]) - took
					// If all others take longer, it is noticed after twice its duration.
					if most := max(took/10, 250*time.Millisecond) + 50*time.Millisecond; c.name != "heavy tail" && late > most || late > took {
						t.Errorf("%s took %v and was noticed %v late", h.ID, took, late)
					}
				}
				if c.stuck {
					s.update(1000*time.Hour, "stuck")
				}
				for round := range rounds {
					s.forgetCalls()
					for i := range n {
						id := fmt.Sprintf("lb-%d", i)
						began[id], takes[id] = time.Now(), c.takes(r)
						s.update(takes[id], id)
						s.advance(200 * time.Millisecond)
					}
					s.advance(6 * time.Minute)
					s.mu.Lock()
					told := len(s.heads)
					s.heads = nil
					s.mu.Unlock()
					most := c.later
					if round == 0 {
						most = c.first
					}
					t.Logf("round %d: %d lists, %d calls", round, s.count("list"), s.count(""))
					if lists := s.count("list"); lists > most || told != n {
						t.Errorf("round %d: %d lists, want at most %d; told of %d", round, lists, most, told)
					}
				}
			})
		})
	}
}
