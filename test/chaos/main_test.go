// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package chaos_test injects each kind of fault into each call of each scenario. A
// scenario is a change of a Service, such as a port that is added. The controller is a
// process of its own that is really killed; Kubernetes is real, with a proxy in
// front of it; the cloud is the simulator, or a real OpenStack behind a proxy.
//
// A scenario is a value in scenario_test.go, a kind of fault one in injection_test.go, and
// a change of the cloud by another client (tampering) one in tamper_test.go. A case is a
// scenario with one of them. The calls of a scenario are not listed: it runs once without
// faults, and its calls are recorded. After each case the cloud must have exactly what
// the Services request, no object of others may have been written to, and no port
// that did not change may have been without listener or members at any moment; see
// rules_test.go.
//
// The soak test does all this at random and at the same time, to many Services, for a
// long time; see soak_test.go.
//
// Without -full only a part of the cases runs, always the same. A single case is
// repeated with
//
//	go test ./test/chaos -full -run 'TestMatrix/SCENARIO/CASE'
//
// The words of methods: check... return an error, for poll and pollStable, which call them
// until they return none and return the last error otherwise; require... fail the test at
// once; nouns read; other verbs act.
package chaos_test

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/command/cli"
	"github.com/kube-octavia/kube-octavia/test/ownerkind"
)

var (
	full            = flag.Bool("full", false, "run all cases, not a part of them")
	stateDir        = flag.String("openstack", "", "run on the real OpenStack with its state in this directory")
	maxEnvironments = flag.Int("environments", 4, "how many cases run at once, each with a cluster and a cloud of its own")
)

// controllerVariable is set in the environment of a process of this program that is to
// be the controller.
const controllerVariable = "KUBE_OCTAVIA_CHAOS_CONTROLLER"

func TestMain(m *testing.M) {
	if os.Getenv(controllerVariable) != "" {
		os.Exit(runController())
	}
	flag.Parse()
	// Cases mostly wait, so more of them run at once than the machine has processors.
	set := false
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == "test.parallel" })
	if !set {
		if err := flag.Set("test.parallel", strconv.Itoa(*maxEnvironments)); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(reporting{m})
}

// runController returns the controller, with delays that suit the cloud.
func runController() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	program := cli.Options{Version: "chaos", Timing: cloudDurations().delays}
	if os.Getenv(otherKindVariable) != "" {
		program.MoreKinds = ownerkind.Kinds
	}
	return cli.Run(ctx, os.Args[1:], cli.IO{Out: os.Stdout, Err: os.Stderr}, program)
}

// reporting prints the number of cases after the tests, and stops the environments.
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

// report prints how many cases ran, and the commands to repeat those that failed.
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
