// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos_test walks a matrix: each thing that can become of a Service (a
// scenario), disturbed in each way at each call that it takes. The controller is a
// process of its own that is really killed; Kubernetes is real, with a proxy in
// front of it; the cloud is the simulator, or a real OpenStack behind a proxy.
//
// A scenario is a value in scenario_test.go, a disturbance one in fault_test.go,
// kill_test.go or tamper_test.go; cases are what they make together. The calls of a
// scenario are not written down: it is played once undisturbed, and the record of
// that says which calls there are. After each case the cloud must have exactly what
// the Services want, nobody else's objects may have been written to, and no port
// that was to stay may have been without listener or members at any moment; see
// rules_test.go.
//
// A soak is the other way to go about it: everything that scenarios, disturbances and
// tampering do happens at random and at once, to many Services, for long; see
// soak_test.go.
//
// Without -full only a part of the cases is played, always the same. A single case
// is played again by
//
//	go test ./test/chaos -full -run 'TestMatrix/SCENARIO/CASE'
package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/cli"
)

var (
	full            = flag.Bool("full", false, "play all cases, not a part of them")
	stateDir        = flag.String("openstack", "", "play on the real OpenStack with its state in this directory")
	maxEnvironments = flag.Int("worlds", 4, "how many cases are played at once, each in a cluster and cloud of its own")
)

// playController is set in the environment of a process of this program that is to
// be the controller.
const controllerVariable = "KUBE_OCTAVIA_CHAOS_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(controllerVariable) != "" {
		os.Exit(runController())
	}
	flag.Parse()
	goleak.VerifyTestMain(reporting{m})
}

// runController is the controller with a sense of time that suits the cloud.
func runController() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, os.Args[1:], cli.IO{Out: os.Stdout, Err: os.Stderr}, cli.Options{Version: "chaos", Timing: cloudDurations().delays})
}

// reporting says after the tests how many cases there were, and stops what they
// shared.
type reporting struct{ m *testing.M }

// Run runs the tests.
func (r reporting) Run() int {
	code := r.m.Run()
	if err := environments.close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	totals.report(os.Stdout)
	return code
}

// report tells how many cases were played, and how to play again what failed.
func (c *results) report(w io.Writer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cases == 0 {
		return
	}
	fmt.Fprintf(w, "chaos: cases %d, passed %d, failed %d\n", c.cases, c.cases-len(c.failed), len(c.failed))
	for _, name := range c.failed {
		fmt.Fprintf(w, "chaos: again: go test ./test/chaos -full -run '^%s$'\n", name)
	}
}
