// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/scenario"
)

// flags are the command line.
type flags struct {
	scenarios []scenario.Scenario
	// services are the sizes that all scenarios are measured with, one after the other.
	services []int
	ports    int
	nodes    int
	options  scenario.Options
	timeout  time.Duration

	openstack bool
	cloudConf string
	profile   cloud.Profile

	controller, versus string

	format         report.Format
	in, out, plots string
}

const usage = `Usage: go run ./test/bench [flags] [SCENARIO...]

Measures what a controller costs, next to the limit of the cloud. Without
scenarios, all of them:

`

// parse reads the command line.
func parse(args []string, output io.Writer) (*flags, error) {
	f := &flags{}
	set := flag.NewFlagSet("bench", flag.ContinueOnError)
	set.SetOutput(output)
	set.Usage = func() {
		fmt.Fprint(output, usage)
		for _, s := range scenario.All {
			fmt.Fprintf(output, "  %-9s %s\n", s.Name, s.About)
		}
		fmt.Fprintln(output, "\nFlags:")
		set.PrintDefaults()
	}
	o := &f.options
	services := set.String("services", "10", "number of Services; several, separated by commas, are measured one after the other")
	set.IntVar(&f.ports, "ports", 3, "ports of each Service")
	set.IntVar(&f.nodes, "nodes", 2, "nodes at the beginning")
	set.DurationVar(&o.Idle, "idle", time.Minute, "how long to observe a controller without work")
	set.IntVar(&o.Rounds, "rounds", 3, "how often to repeat stuck and kill")
	set.IntVar(&o.Drift, "drift", 3, "load balancers that another client changes in drift")
	set.DurationVar(&o.Throttle, "throttle", 10*time.Second, "how long Octavia answers 429 in throttle")
	set.IntVar(&o.ScaleServices, "scale-services", 1000, "Services in scale")
	set.IntVar(&o.ScalePorts, "scale-ports", 5, "ports of each Service in scale")
	set.IntVar(&o.SubsetServices, "subset-services", 500, "Services in subset")
	set.IntVar(&o.SubsetNodes, "subset-nodes", 1000, "nodes in subset and nodes")
	set.IntVar(&o.MaxMembers, "max-members", 50, "max-members of cloud.conf in subset")
	set.Uint64Var(&o.Seed, "seed", 0, "for random moments and times; 0 chooses one")
	set.DurationVar(&f.timeout, "timeout", 15*time.Minute, "the longest time to wait for one change")
	kind := set.String("cloud", "sim", "sim, or openstack: the one that -cloud-conf refers to")
	set.StringVar(&f.cloudConf, "cloud-conf", ".cache/openstack/amphora/out/cloud.conf", "cloud.conf for -cloud=openstack; the default is that of 'make openstack-up'")
	profile := set.String("profile", "amphora", "times of the simulated cloud: amphora (create 30 s, update 4 s, 80 ms per call), ovn (0.5 s, 0.3 s, 60 ms) or instant")
	scale := set.Float64("time-scale", 1, "multiplies the times of the profile")
	tail := set.String("tail", "none", "random factor of the times of changes: none, lognormal:SIGMA or pareto:ALPHA")
	set.StringVar(&f.controller, "controller", "", "command of the controller to measure, with {kubeconfig}, {cloudconfig} and {cluster}; default: kube-octavia of this tree")
	set.StringVar(&f.versus, "versus", "", "command of another controller, which is measured in turns; ratios are printed")
	format := set.String("format", "text", "format of the tables: text or markdown")
	set.StringVar(&f.in, "in", "", "measure nothing, and print the results in this file of an earlier run")
	set.StringVar(&f.out, "out", "", "file for the results as JSON")
	set.StringVar(&f.plots, "plots", "", "directory for plots as SVG; needs several values of -services")
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	f.openstack, f.format = *kind == "openstack", report.Format(*format)
	var problems []error
	var err error
	f.scenarios, err = scenario.Named(set.Args())
	problems = append(problems, err)
	f.services, err = numbers(*services)
	problems = append(problems, err)
	parsed, err := cloud.ParseTail(*tail)
	problems = append(problems, err)
	f.profile, err = cloud.ProfileNamed(*profile, *scale, parsed)
	return f, errors.Join(append(problems, err, f.check(*kind))...)
}

// numbers reads numbers above zero, separated by commas.
func numbers(text string) ([]int, error) {
	var all []int
	for field := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("-services: %q is no number above 0", field)
		}
		all = append(all, n)
	}
	return all, nil
}

func (f *flags) check(kind string) error {
	o := f.options
	for name, value := range map[string]int{
		"ports": f.ports, "nodes": f.nodes, "rounds": o.Rounds, "drift": o.Drift, "scale-services": o.ScaleServices, "scale-ports": o.ScalePorts,
		"subset-services": o.SubsetServices, "subset-nodes": o.SubsetNodes, "max-members": o.MaxMembers,
	} {
		if value < 1 {
			return fmt.Errorf("-%s %d: must be 1 or more", name, value)
		}
	}
	switch {
	case kind != "sim" && kind != "openstack":
		return fmt.Errorf("-cloud %q: use sim or openstack", kind)
	case f.format != report.Text && f.format != report.Markdown:
		return fmt.Errorf("-format %q: use text or markdown", f.format)
	case f.plots != "" && f.out == "":
		return errors.New("-plots needs -out: plots are made from that file")
	}
	return nil
}

// cloudDescription is for the report.
func (f *flags) cloudDescription() string {
	if f.openstack {
		return "a real OpenStack, through a proxy that counts calls"
	}
	return f.profile.String()
}
