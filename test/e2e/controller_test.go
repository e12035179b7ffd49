// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// controller is `kube-octavia controller`, run in the process of the test.
type controller struct {
	stop   context.CancelFunc
	ended  chan struct{}
	status int
	log    *log
	// health is where it serves its probes.
	health string
	// forgotten is how many passes earlier controllers of the process left in
	// their queues, which are still counted.
	forgotten int
}

// log collects what a command writes. It is safe for concurrent use.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// String returns everything that was written so far.
func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// lines returns those that contain the text.
func (l *log) lines(text string) []string {
	var found []string
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// start starts the controller and waits until it is ready.
func (s *stage) start() {
	s.t.Helper()
	s.begin()
	c := s.controller
	s.eventually(func() error {
		select {
		case <-c.ended:
			s.t.Fatalf("the controller ended with status %d", c.status)
		default:
		}
		return ready(c.health)
	})
}

// noSweeps is a flag of all controllers: a wake-up that is lost must fail the test, and not be made up for by the next
// sweep. Another interval may follow it.
const noSweeps = "--sweep-interval=1h"

// usualDelays returns those of the controller, and shorter ones for what a simulator does at once and a real cloud
// takes minutes for.
func usualDelays() timing.Delays {
	delays := timing.Default()
	if *stateDir != "" {
		return delays
	}
	delays.AnswerLimit = 3 * time.Second
	delays.DuplicateRetry = 200 * time.Millisecond
	delays.Deletion = timing.Backoff{First: 200 * time.Millisecond, Last: time.Second}
	delays.Drain = 2 * time.Second
	return delays
}

// begin starts the controller. Its log is shown when the test fails.
func (s *stage) begin() {
	s.t.Helper()
	health := freeAddress(s.t)
	ctx, stop := context.WithCancel(context.Background())
	c := &controller{stop: stop, ended: make(chan struct{}), log: &log{}, health: health, forgotten: s.gauge("workqueue_depth")}
	args := append([]string{"controller",
		"--cloud-config=" + s.cloudConf(), "--kubeconfig=" + s.kubeconfig(), "--leader-elect=false",
		"--metrics-bind-address=0", "--health-probe-bind-address=" + health,
		"--log-format=json", "--v=4",
		noSweeps,
	}, s.settings.flags...)
	program := s.settings.program
	program.Version = "test"
	if program.Timing == (timing.Delays{}) {
		program.Timing = usualDelays()
	}
	go func() {
		defer close(c.ended)
		c.status = cli.Run(ctx, args, cli.IO{Out: c.log, Err: c.log}, program)
	}()
	s.logs = append(s.logs, output{"the controller's log", c.log})
	s.controller = c
	s.shows("the controller's log", c.log)
}

// ready asks the controller's readiness probe.
func ready(address string) error {
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + address + "/readyz")
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("/readyz answers %s", resp.Status)
	}
	return nil
}

// stop stops the controller and waits until it has ended, which must be with status 0.
func (s *stage) stop() {
	s.t.Helper()
	c := s.controller
	s.controller = nil
	c.stop()
	err := s.poll(func() error {
		select {
		case <-c.ended:
			return nil
		default:
			return fmt.Errorf("the controller has not ended")
		}
	})
	if err != nil {
		s.t.Fatal(err)
	}
	if c.status != 0 {
		s.t.Errorf("the controller ended with status %d", c.status)
	}
}

// gauge returns the sum of all values of one of the controller's own metrics.
func (s *stage) gauge(name string) int {
	s.t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		s.t.Fatal(err)
	}
	sum := 0.0
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return int(sum)
}

// waitForGauge waits until the sum of one of the controller's own metrics is right: it may follow later than what users see.
func (s *stage) waitForGauge(name string, want int) {
	s.t.Helper()
	s.eventually(func() error {
		if have := s.gauge(name); have != want {
			return fmt.Errorf("%s is %d, want %d", name, have, want)
		}
		return nil
	})
}

// passes returns how many passes over Services were ended in this process, and how many are under
// way or due now.
func (s *stage) passes() (ended, open int) {
	s.t.Helper()
	open = s.gauge("controller_runtime_active_workers") + s.gauge("workqueue_depth") - s.controller.forgotten
	if len(s.controller.log.lines("what the project has")) == 0 {
		open++ // Services wait for the lists
	}
	return s.gauge("controller_runtime_reconcile_total"), open
}

// waitForPassAfter waits until the controller has made at least one more pass than it
// had before the change, and has nothing in hand.
func (s *stage) waitForPassAfter(change func()) {
	s.t.Helper()
	before := s.gauge("controller_runtime_reconcile_total")
	change()
	s.eventually(func() error {
		ended, open := s.passes()
		if ended <= before || open > 0 {
			return fmt.Errorf("%d passes since the change, %d under way", ended-before, open)
		}
		return nil
	})
}

// run runs another command of kube-octavia against the stage and returns its
// exit status and what it wrote.
func (s *stage) run(args ...string) (status int, out, errs string) {
	s.t.Helper()
	return s.runInCloud(append(args, "--kubeconfig="+s.adminKubeconfig())...)
}

// runInCloud is run for a command that does not connect to the cluster.
func (s *stage) runInCloud(args ...string) (status int, out, errs string) {
	s.t.Helper()
	return s.runPlain(append(args, "--cloud-config="+s.cloudConf())...)
}

// runPlain is run without any other flags.
func (s *stage) runPlain(args ...string) (status int, out, errs string) {
	s.t.Helper()
	var stdout, stderr log
	s.shows("the output of "+args[0], &stdout)
	s.shows("what "+args[0]+" says", &stderr)
	status = cli.Run(s.t.Context(), args, cli.IO{Out: &stdout, Err: &stderr}, cli.Options{Version: "test"})
	return status, stdout.String(), stderr.String()
}
