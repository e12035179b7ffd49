// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what a controller for Services of type LoadBalancer costs: calls to
// OpenStack, time, CPU and memory. Next to each result it shows the limit of the cloud: what
// the cloud alone needs for the same change. See docs/performance.md.
//
// It runs a real Kubernetes API, a simulated or a real OpenStack, and the controller as a
// process, all on loopback. It looks only at Kubernetes objects and at the cloud, so it
// measures every controller in the same way.
//
// Progress goes to standard error, tables to standard output. A goal that is missed is
// printed, and is no failure. Exit status 1 means that a scenario could not be measured, 2
// that the command line is wrong.
//
// Packages: scenario has what is measured, stage what it is measured on, cloud and controller
// the two ends of that, report the results. None of them imports the product.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/kube-octavia/kube-octavia/test/bench/controller"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := execute(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string) int {
	f, err := parse(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 2
	}
	run := measure
	if f.in != "" {
		run = printEarlier
	}
	if err := run(ctx, f, args); err != nil {
		fmt.Fprintf(os.Stderr, "bench: failed: %v\n", err)
		return 1
	}
	return 0
}

// measure runs the scenarios and writes the results, also those of a run that failed.
func measure(ctx context.Context, f *flags, args []string) (err error) {
	dir, err := os.MkdirTemp("", "kube-octavia-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := newRunner(f)
	if err := r.findControllers(ctx, dir); err != nil {
		return err
	}
	commands := map[string]string{}
	for _, s := range r.subjects {
		commands[s.name] = s.command.String()
	}
	if f.controller == "" {
		commands[report.This] = "kube-octavia of this tree, with its default flags"
	}
	r.document = report.New(f.cloudDescription(), commands, args)
	err = r.run(ctx)
	return errors.Join(err, r.write(ctx))
}

// printEarlier writes the results of an earlier run.
func printEarlier(ctx context.Context, f *flags, _ []string) (err error) {
	r := newRunner(f)
	text, err := os.ReadFile(f.in)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.document); err != nil {
		return fmt.Errorf("%s: %w", f.in, err)
	}
	return r.write(ctx)
}

// findControllers builds the controller of this tree, unless another one is to be measured.
func (r *runner) findControllers(ctx context.Context, dir string) error {
	this := subject{name: report.This}
	if r.flags.controller == "" {
		r.say("building the controller")
		binary := filepath.Join(dir, "kube-octavia")
		build := exec.CommandContext(ctx, "go", "build", "-o", binary, "github.com/kube-octavia/kube-octavia/cmd/kube-octavia")
		if output, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the controller: %w\n%s", err, output)
		}
		this.command = ownCommand(binary)
		this.fast = this.command.With("--concurrency=64", "--cloud-rate=5000", "--cloud-burst=10000")
	} else {
		var err error
		this.command, err = controller.Parse(r.flags.controller)
		if err != nil {
			return fmt.Errorf("-controller: %w", err)
		}
		this.fast = this.command
	}
	r.subjects = []subject{this}
	if r.flags.versus == "" {
		return nil
	}
	other, err := controller.Parse(r.flags.versus)
	if err != nil {
		return fmt.Errorf("-versus: %w", err)
	}
	r.subjects = append(r.subjects, subject{name: report.Versus, command: other, fast: other})
	return nil
}

// ownCommand runs kube-octavia with its default flags, but without waiting for leadership and
// without listening on ports.
func ownCommand(binary string) controller.Command {
	return controller.Command{binary, "controller", "--kubeconfig={kubeconfig}", "--cloud-config={cloudconfig}", "--cluster-name={cluster}",
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0"}
}
