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

// Without -full one case in oneIn runs, and with a real cloud one in realOneIn.
const (
	oneIn     = 32
	realOneIn = 80
)

// TestMatrix runs each scenario without faults, and then with each injection at each of its
// calls.
func TestMatrix(t *testing.T) {
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var calls []target
			writes := 0
			t.Run("no-fault", func(t *testing.T) {
				totals.record(t)
				r := startRun(t, s)
				r.requireNoError(s.change(r))
				r.requireNoError(r.pollStable(r.checkConverged))
				calls, writes = r.targets(), r.writes()
				r.requireNoError(r.finish())
			})
			for _, c := range calls {
				for _, inj := range injections {
					if inj.applies != nil && !inj.applies(c) || !selected(s.name, c, inj.name) {
						continue
					}
					t.Run(fmt.Sprintf("%s-%s", c, inj.name), func(t *testing.T) {
						t.Parallel()
						totals.record(t)
						r := startRun(t, s)
						r.maxWrites = 4*writes + 12
						r.requireNoError(inj.inject(r, c, func() error { return s.change(r) }))
						r.requireNoError(r.finish())
					})
				}
			}
		})
	}
}

// selected reports whether a case runs; the same ones always do.
func selected(scenario string, c target, injection string) bool {
	h := fnv.New32a()
	fmt.Fprint(h, scenario, c, injection)
	part := uint32(oneIn)
	if *stateDir != "" {
		part = realOneIn
	}
	return *full || h.Sum32()%part == 0
}

// targets are the calls that were recorded, each kind of read once: how often the controller
// reads depends on how fast the cloud is, and with a real one so does how often it writes an
// event.
func (r *run) targets() []target {
	calls := slices.Concat(r.env.cloud.Recorder().Calls(), r.env.proxy.recorder.Calls())
	slices.SortStableFunc(calls, func(a, b wire.Call) int { return a.At.Compare(b.At) })
	var all []target
	seen := map[target]int{}
	for _, c := range calls {
		kind := target{service: c.Service, method: c.Method, route: c.Route}
		varies := c.Method == http.MethodGet || *stateDir != "" && strings.HasSuffix(c.Route, "/events")
		if seen[kind]++; varies && seen[kind] > 1 {
			continue
		}
		kind.nth = seen[target{service: c.Service, method: c.Method, route: c.Route}]
		all = append(all, kind)
	}
	return all
}
