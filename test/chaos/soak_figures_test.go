// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// figures are what a soak counts.
type figures struct {
	changes, tamperings atomic.Int64
	kills, rounds       int
	// calls are all of them, exposed those made while faults were injected.
	calls, exposed, faulty int
	differences, leaks     int
	// addresses are those that were given up because another client had them.
	addresses int
}

// writes returns how many writes to the cloud there were in this round.
func (s *soak) writes() int {
	n := 0
	for operation, times := range s.env.cloud.Recorder().Counts() {
		if method, route, _ := strings.Cut(operation, " "); method != http.MethodGet && !strings.HasPrefix(route, "/v3/") {
			n += times
		}
	}
	return n
}

// count adds the recorded calls to the figures, forgets them, and returns how many they were.
func (s *soak) count() int {
	before := s.figures.calls
	for _, r := range []*wire.Recorder{s.env.cloud.Recorder(), &s.env.proxy.recorder} {
		for _, c := range r.Calls() {
			s.figures.calls++
			if c.Fault != "" {
				s.figures.faulty++
			}
		}
		r.Reset()
	}
	return s.figures.calls - before
}

// report prints the figures, and the command to repeat the soak.
func (s *soak) report() {
	f := &s.figures
	itself := strings.Count(s.controller.log.String(), "--- the controller ended")
	fmt.Printf("soak: services %d, changes %d, calls %d, of these %d while faults were injected, of which %d failed, kills %d, tamperings %d, addresses given up %d, rounds %d, ends of the controller by itself %d, differences %d, leaks %d\n",
		len(s.runs), f.changes.Load(), f.calls, f.exposed, f.faulty, f.kills, f.tamperings.Load(), f.addresses, f.rounds, itself, f.differences, f.leaks)
	if n := len(s.samples); n > 0 {
		fmt.Printf("soak: begin: %v\nsoak: without kills: %v\nsoak: end: %v\n", s.samples[0], s.samples[s.lastController], s.samples[n-1])
	}
	fmt.Printf("soak: again: go test ./test/chaos -run TestSoak -soak=%v -services=%d -seed=%d\n", *soakTime, *soakServices, s.seed)
	if !s.t.Failed() {
		return
	}
	path := filepath.Join(os.TempDir(), fmt.Sprintf("kube-octavia-soak-%d.log", s.seed))
	if err := os.WriteFile(path, []byte(s.controller.log.String()), 0o600); err != nil {
		s.t.Log(err)
		return
	}
	s.t.Logf("the controller's log is in %s", path)
}
