// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/controller"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/scenario"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// subject is a controller that is measured.
type subject struct {
	name    string
	command controller.Command
	// fast handles many Services faster than the usual command, if that is known.
	fast controller.Command
}

// runner measures all scenarios, in turns for the subjects.
type runner struct {
	flags    *flags
	began    time.Time
	subjects []subject
	// stages are those that scenarios share, by the name of the subject.
	stages map[string]*stage.Stage
	// limits are those of the real cloud, or of the profile, by size.
	limits   map[scenario.Size]cloud.Limits
	document *report.Document
}

func newRunner(f *flags) *runner {
	return &runner{flags: f, began: time.Now(), stages: map[string]*stage.Stage{}, limits: map[scenario.Size]cloud.Limits{}}
}

// say prints progress.
func (r *runner) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %7.1fs  %s\n", time.Since(r.began).Seconds(), fmt.Sprintf(format, args...))
}

// run measures all scenarios, also after one has failed.
func (r *runner) run(ctx context.Context) error {
	var failures []error
	for i, services := range r.flags.services {
		for _, s := range r.flags.scenarios {
			if s.Own != nil && i > 0 {
				continue // their size is another one
			}
			for _, who := range r.subjects {
				if s.OnlyThis && who.name != report.This {
					continue
				}
				if ctx.Err() != nil {
					break
				}
				if err := r.measure(ctx, s, who, scenario.Size{Services: services, Ports: r.flags.ports}); err != nil {
					err = fmt.Errorf("%s (%s): %w", s.Name, who.name, err)
					r.say("%v", err)
					failures = append(failures, err)
				}
			}
		}
	}
	for _, open := range r.stages {
		failures = append(failures, open.Close())
	}
	return errors.Join(append(failures, ctx.Err())...)
}

// measure runs one scenario for one subject. A stage on which something failed is not used
// again.
func (r *runner) measure(ctx context.Context, s scenario.Scenario, who subject, size scenario.Size) (err error) {
	r.say("%s (%s): %s", s.Name, who.name, s.About)
	run := scenario.Run{Options: r.flags.options, Size: size}
	on, err := r.stageFor(ctx, s, who, &run)
	if err == nil {
		var rows []*report.Row
		run.Stage = on
		run.LimitsOf = func(ctx context.Context, services int) (cloud.Limits, error) {
			return r.limitsOf(ctx, on.Cloud, scenario.Size{Services: services, Ports: size.Ports})
		}
		rows, err = s.Measure(ctx, run)
		for _, row := range rows {
			row.Controller = who.name
			r.document.Rows = append(r.document.Rows, row)
		}
	}
	if err != nil {
		r.document.Rows = append(r.document.Rows, &report.Row{Scenario: s.Name, Controller: who.name, Services: size.Services, Ports: size.Ports, Failure: err.Error()})
	}
	if on != nil && (s.Own != nil || err != nil) {
		delete(r.stages, who.name)
		err = errors.Join(err, on.Close())
	}
	return err
}

// stageFor opens the stage of a scenario, or returns the one that is open, and finds out the
// limits of the cloud before the controller uses it.
func (r *runner) stageFor(ctx context.Context, s scenario.Scenario, who subject, run *scenario.Run) (*stage.Stage, error) {
	o := stage.Options{
		Command: who.command, Cluster: "bench-" + who.name, Nodes: r.flags.nodes, Timeout: r.flags.timeout, Say: r.say,
		Cloud: func(ctx context.Context) (*cloud.Cloud, error) {
			c, err := r.openCloud(ctx)
			if err == nil {
				run.Limits, err = r.limitsOf(ctx, c, run.Size)
			}
			return c, err
		},
	}
	if s.Own == nil {
		if open := r.stages[who.name]; open != nil {
			var err error
			run.Limits, err = r.limitsOf(ctx, open.Cloud, run.Size)
			return open, err
		}
		open, err := stage.Open(ctx, o)
		if err == nil {
			r.stages[who.name] = open
		}
		return open, err
	}
	needs := s.Own(run)
	o.Nodes, o.Conf, o.ClusterIPs = needs.Nodes, needs.Conf, needs.ClusterIPs
	o.Cloud = func(context.Context) (*cloud.Cloud, error) {
		return cloud.Simulated(cloud.Instant(), r.flags.options.Seed)
	}
	o.Command, o.Preparing = slices.Concat(who.command, needs.Flags), who.fast
	if len(needs.Flags) > 0 {
		o.Preparing = nil
	}
	return stage.Open(ctx, o)
}

func (r *runner) openCloud(ctx context.Context) (*cloud.Cloud, error) {
	if r.flags.openstack {
		return cloud.Connect(ctx, r.flags.cloudConf)
	}
	return cloud.Simulated(r.flags.profile, r.flags.options.Seed)
}

func (r *runner) limitsOf(ctx context.Context, c *cloud.Cloud, size scenario.Size) (cloud.Limits, error) {
	if known, is := r.limits[size]; is {
		return known, nil
	}
	if r.flags.openstack {
		r.say("measuring the limits of the cloud with bare calls, %d load balancers with %d ports", size.Services, size.Ports)
	}
	limits, err := c.Limits(ctx, size.Services, size.Ports)
	if err != nil {
		return limits, err
	}
	r.say("limits of the cloud: create %.1fs, one update of each %.1fs, of every port %.1fs, delete %.1fs",
		limits.Create.Seconds(), limits.Update.Seconds(), limits.UpdatePorts.Seconds(), limits.Delete.Seconds())
	r.limits[size] = limits
	return limits, nil
}

// write writes the tables, the JSON and the plots.
func (r *runner) write(ctx context.Context) error {
	if err := r.document.WriteTables(os.Stdout, r.flags.format); err != nil {
		return err
	}
	for _, line := range r.document.Missed() {
		r.say("goal missed: %s", line)
	}
	if r.flags.out == "" {
		return nil
	}
	if err := r.writeJSON(); err != nil {
		return err
	}
	if r.flags.plots == "" {
		return nil
	}
	return r.plot(ctx)
}

func (r *runner) writeJSON() (err error) {
	file, err := os.Create(r.flags.out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	return r.document.WriteJSON(file)
}

// plot runs hack/plot, which is a module of its own because of what its library needs.
func (r *runner) plot(ctx context.Context) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/kube-octavia/kube-octavia").Output()
	if err != nil {
		return fmt.Errorf("find the root of the module: %w", err)
	}
	results, err := filepath.Abs(r.flags.out)
	if err != nil {
		return err
	}
	plots, err := filepath.Abs(r.flags.plots)
	if err != nil {
		return err
	}
	command := exec.CommandContext(ctx, "go", "run", ".", results, plots)
	command.Dir = filepath.Join(string(root[:len(root)-1]), "hack", "plot")
	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("plot: %w\n%s", err, output)
	}
	return nil
}
