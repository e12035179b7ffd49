// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// share is the part of the cases that is played without -full, one in so many, and
// realShare that with a real cloud.
const (
	share     = 16
	realShare = 80
)

// TestMatrix plays each scenario undisturbed, and then with each disturbance at
// each call that it took.
func TestMatrix(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var places []place
			most := 0
			t.Run("undisturbed", func(t *testing.T) {
				totals.add(t)
				p := begin(t, s)
				p.check(s.change(p))
				p.check(p.eventually(p.converged))
				places, most = p.places(), p.writes()
				p.check(p.end())
			})
			for _, c := range places {
				for _, d := range disturbances {
					if d.fits != nil && !d.fits(c) || !played(s.name, c, d.name) {
						continue
					}
					t.Run(fmt.Sprintf("%s-%s", c, d.name), func(t *testing.T) {
						t.Parallel()
						totals.add(t)
						p := begin(t, s)
						p.most = 4*most + 12
						p.check(d.disturb(p, c, func() error { return s.change(p) }))
						p.check(p.end())
					})
				}
			}
		})
	}
}

// played reports whether a case is played; which are does not change.
func played(scenario string, c place, disturbance string) bool {
	h := fnv.New32a()
	fmt.Fprint(h, scenario, c, disturbance)
	part := uint32(share)
	if *stateDir != "" {
		part = realShare
	}
	return *full || h.Sum32()%part == 0
}

// places are the calls that were recorded, each kind of read once: how often the
// controller looks depends on how fast the cloud is, and with a real one so does how often
// it has something to tell.
func (p *play) places() []place {
	calls := slices.Concat(p.world.cloud.Recorder().Calls(), p.world.proxy.recorder.Calls())
	slices.SortStableFunc(calls, func(a, b wire.Call) int { return a.At.Compare(b.At) })
	var all []place
	seen := map[place]int{}
	for _, c := range calls {
		kind := place{service: c.Service, method: c.Method, route: c.Route}
		varies := c.Method == http.MethodGet || *stateDir != "" && strings.HasSuffix(c.Route, "/events")
		if seen[kind]++; varies && seen[kind] > 1 {
			continue
		}
		kind.nth = seen[place{service: c.Service, method: c.Method, route: c.Route}]
		all = append(all, kind)
	}
	return all
}
