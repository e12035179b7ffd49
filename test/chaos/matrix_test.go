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
	oneIn     = 64
	realOneIn = 80
)

// matrixCase is one run of a scenario, of Services or of Nodes.
type matrixCase struct {
	*run
	// change makes the change of the scenario. finish waits for its end, checks everything, and deletes what is there.
	change, finish func() error
}

// TestMatrix runs each scenario without faults, and then with each injection at each of its
// calls.
func TestMatrix(t *testing.T) {
	for _, s := range scenarios {
		runMatrix(t, s.name, injections, func(t *testing.T) matrixCase {
			r := startRun(t, s)
			return matrixCase{r, func() error { return s.change(r) }, r.finish}
		})
	}
	if *stateDir != "" {
		return // in a real cloud, tests neither stop nor delete servers
	}
	for _, s := range nodeScenarios {
		runMatrix(t, s.name, slices.DeleteFunc(slices.Clone(injections), func(i injection) bool { return i.needsService }), func(t *testing.T) matrixCase {
			r := startNodeRun(t, s.start)
			return matrixCase{r.run, func() error { return s.change(r) }, r.finish}
		})
	}
}

// runMatrix runs a scenario without faults, and with each of the injections at each of its calls.
func runMatrix(t *testing.T, scenario string, injections []injection, begin func(*testing.T) matrixCase) {
	t.Run(scenario, func(t *testing.T) {
		t.Parallel()
		var calls []target
		writes := 0
		t.Run("no-fault", func(t *testing.T) {
			totals.record(t)
			c := begin(t)
			c.requireNoError(c.change())
			c.requireNoError(c.pollStable(c.converged))
			calls, writes = c.targets(), c.writes()
			c.requireNoError(c.finish())
		})
		for _, at := range calls {
			for _, inj := range injections {
				if inj.applies != nil && !inj.applies(at) || !selected(scenario, at, inj.name) {
					continue
				}
				t.Run(fmt.Sprintf("%s-%s", at, inj.name), func(t *testing.T) {
					t.Parallel()
					totals.record(t)
					c := begin(t)
					c.maxWrites = 4*writes + 12
					c.requireNoError(inj.inject(c.run, at, c.change))
					c.requireNoError(c.finish())
				})
			}
		}
	})
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

// targets returns the calls that were recorded, each kind of read once: how often the controller
// reads depends on how fast the cloud is, and with a real one so does how often it writes an event.
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
