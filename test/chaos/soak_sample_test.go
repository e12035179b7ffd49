// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// sample is the size of the controller at a moment when it had nothing to do.
type sample struct {
	starts     int // which process
	services   int
	rss        float64 // MiB
	goroutines int
}

func (m sample) String() string {
	return fmt.Sprintf("process %d, %d Services: %.1f MiB, %d goroutines", m.starts, m.services, m.rss, m.goroutines)
}

// How much a controller may grow in the time without kills. A Service takes some KiB in the
// caches; the rest is for the garbage collector.
const (
	spareShare      = 0.25
	spareMiB        = 16
	serviceMiB      = 0.064
	spareGoroutines = 20
)

// checkGrowth returns an error if the process has grown by more than it may between two
// samples.
func checkGrowth(begin, end sample) error {
	most := begin.rss*(1+spareShare) + spareMiB + serviceMiB*float64(max(0, end.services-begin.services))
	switch {
	case begin.starts != end.starts:
		return fmt.Errorf("the controller ended by itself between two samples: %v, then %v", begin, end)
	case end.rss > most:
		return fmt.Errorf("the controller has grown to more than %.1f MiB: %v, then %v", most, begin, end)
	case end.goroutines > begin.goroutines+spareGoroutines:
		return fmt.Errorf("the controller has too many goroutines: %v, then %v", begin, end)
	}
	return nil
}

// sample reads the size of the controller from its metrics.
func (s *soak) sample(ctx context.Context, services int) (sample, error) {
	m := sample{starts: s.controller.startCount(), services: services}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics", nil)
	if err != nil {
		return m, err
	}
	request.Close = true
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return m, fmt.Errorf("ask the controller for its metrics: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), " ")
		if name != "process_resident_memory_bytes" && name != "go_goroutines" {
			continue
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return m, fmt.Errorf("metric %s: %w", name, err)
		}
		if name == "go_goroutines" {
			m.goroutines = int(value)
		} else {
			m.rss = value / (1 << 20)
		}
	}
	if err := lines.Err(); err != nil {
		return m, err
	}
	if m.rss == 0 || m.goroutines == 0 {
		return m, fmt.Errorf("the metrics of the controller do not have its size")
	}
	return m, nil
}

// measure takes a sample of the controller while it has nothing to do.
func (s *soak) measure() error {
	services, err := s.services()
	if err != nil {
		return err
	}
	m, err := s.sample(s.ctx, len(services))
	if err != nil {
		return err
	}
	s.samples = append(s.samples, m)
	f := &s.figures
	s.t.Logf("round %d: %v; so far %d changes, %d kills, %d tamperings, %d calls; of %d calls while faults were injected %d failed",
		f.rounds, m, f.changes.Load(), f.kills, f.tamperings.Load(), f.calls, f.exposed, f.faulty)
	return nil
}
