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
	// calls are all of them, disturbed those in times in which they could go wrong.
	calls, disturbed, faulty int
	differences, leaks       int
	// addresses are those that a person gave up because somebody had taken them.
	addresses int
}

// writes is how many writes to the cloud there were in this round.
func (s *soak) writes() int {
	n := 0
	for operation, times := range s.env.cloud.Recorder().Counts() {
		if method, route, _ := strings.Cut(operation, " "); method != http.MethodGet && !strings.HasPrefix(route, "/v3/") {
			n += times
		}
	}
	return n
}

// count adds up the calls since it last did, and returns how many they were. They are
// then forgotten.
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

// report tells what the soak came to, and how to begin it again.
func (s *soak) report() {
	f := &s.figures
	itself := strings.Count(s.controller.log.String(), "--- the controller ended")
	fmt.Printf("soak: services %d, changes %d, calls %d, of %d disturbed ones faulty %d, kills %d, tamperings %d, addresses taken %d, rounds %d, ends of the controller by itself %d, differences %d, leaks %d\n",
		len(s.runs), f.changes.Load(), f.calls, f.disturbed, f.faulty, f.kills, f.tamperings.Load(), f.addresses, f.rounds, itself, f.differences, f.leaks)
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
