// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bench measures what the controller costs: OpenStack calls, time and
// memory. `make bench` runs it. It prints one JSON document to standard output
// and its progress to standard error.
//
// Everything is on loopback: a real Kubernetes API, a simulated OpenStack inside
// this process, and the controller as a process of its own, with the flags that
// it has by default. Each scenario has a cluster, a cloud and a controller to
// itself. Counts of calls are those that the cloud recorded and do not depend on
// the machine; seconds and megabytes are those of one run on one machine.
//
// A figure that misses its target is marked in the document and named at the
// end; that alone is no failure. Exit status 1 says that a scenario could not be
// carried out, or that something was wrong that no machine excuses.
//
// The command may import cloudsim, test/kube, test/openstack, test/freeport and, for the
// names of conditions, internal/status; it knows nothing else of the product.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// settings are what flags say.
type settings struct {
	rounds      int
	seed        uint64
	updateTimes []time.Duration
	idle        time.Duration
	// flags are given to every controller after its own.
	flags []string
}

// bench is what all scenarios share.
type bench struct {
	settings
	// dir holds the controller's binary, and a directory for each stage.
	dir    string
	binary string
	began  time.Time
}

// scenario is one thing to measure. run adds figures as it finds them.
type scenario struct {
	name, about string
	run         func(context.Context, *bench, *result) error
}

var scenarios = []scenario{
	{"budget", "calls of one Service: create, resync, node join, delete", budget},
	{"create50", "50 Services at once, 5 s to build each", create50},
	{"create5", "5 Services at once, 6 s to build each", create5},
	{"nodejoin", "100 Services with 5 ports, one node joins", nodeJoin},
	{"restart", "100 Services with 5 ports: a restart, and a minute without work", restart},
	{"rss", "memory with 100 Services", memory},
	{"kill", "kill -9 at a random moment of a create, then a restart", kill},
	{"kill-leader", "the same with leader election and a short Lease", killLeader},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := execute(ctx, os.Args[1:])
	stop()
	os.Exit(status)
}

// execute runs the command line and returns the exit status.
func execute(ctx context.Context, args []string) int {
	b := &bench{began: time.Now()}
	chosen, err := b.parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v\n", err)
		return 2
	}
	doc, err := b.measure(ctx, chosen)
	if printed := doc.print(os.Stdout); err == nil {
		err = printed
	}
	for _, line := range doc.missed() {
		b.say("target missed: %s", line)
	}
	if err != nil {
		b.say("failed: %v", err)
		return 1
	}
	return 0
}

// parse reads the flags and returns the scenarios to run.
func (b *bench) parse(args []string) ([]scenario, error) {
	var names, times, extra string
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "Measures the controller and prints JSON. Scenarios:")
		for _, s := range scenarios {
			fmt.Fprintf(flags.Output(), "  %-12s %s\n", s.name, s.about)
		}
		flags.PrintDefaults()
	}
	flags.StringVar(&names, "run", "all", "scenarios to run, separated by commas")
	flags.IntVar(&b.rounds, "rounds", 20, "rounds of each kind (over the whole create, over its writes) in kill; kill-leader makes a quarter")
	flags.Uint64Var(&b.seed, "seed", 0, "for the random moments of kill; 0 takes a new one")
	flags.StringVar(&times, "update-times", "1s,4s", "how long Octavia takes for an update in nodejoin, separated by commas")
	flags.DurationVar(&b.idle, "idle", time.Minute, "how long restart measures the controller without work")
	flags.StringVar(&extra, "controller-flags", "", "further flags of the controller, separated by spaces; by default it has its default ones")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if b.rounds < 1 || flags.NArg() > 0 {
		return nil, errors.New("-rounds must be 1 or more, and there are no arguments; see -help")
	}
	b.flags = strings.Fields(extra)
	if b.seed == 0 {
		b.seed = rand.Uint64()
	}
	for text := range strings.SplitSeq(times, ",") {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("-update-times: %q is no time above 0", text)
		}
		b.updateTimes = append(b.updateTimes, d)
	}
	return choose(names)
}

func choose(names string) ([]scenario, error) {
	if names == "all" {
		return scenarios, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("-run: there is no scenario %q; see -help", name)
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

// measure builds the controller and runs the scenarios one after the other, also
// after one has failed. The document is complete as far as they went.
func (b *bench) measure(ctx context.Context, chosen []scenario) (doc document, err error) {
	doc = newDocument(b.flags)
	b.dir, err = os.MkdirTemp("", "kube-octavia-bench-")
	if err != nil {
		return doc, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.dir)) }()
	b.say("building the controller")
	if err := b.build(ctx); err != nil {
		return doc, err
	}
	var failures []error
	for _, s := range chosen {
		if ctx.Err() != nil {
			return doc, errors.Join(append(failures, ctx.Err())...)
		}
		b.say("%s: %s", s.name, s.about)
		r := &result{Name: s.name, About: s.about, LoadAverage: loadAverage()}
		began := time.Now()
		if err := s.run(ctx, b, r); err != nil {
			r.Failure = err.Error()
			failures = append(failures, fmt.Errorf("%s: %w", s.name, err))
			b.say("%s: failed: %v", s.name, err)
		}
		r.TookSeconds = seconds(time.Since(began))
		doc.Scenarios = append(doc.Scenarios, r)
	}
	return doc, errors.Join(failures...)
}

func (b *bench) build(ctx context.Context) error {
	b.binary = filepath.Join(b.dir, "kube-octavia")
	c := exec.CommandContext(ctx, "go", "build", "-o", b.binary, "github.com/kube-octavia/kube-octavia/cmd/kube-octavia")
	if output, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("build the controller: %w\n%s", err, output)
	}
	return nil
}

// say prints the progress.
func (b *bench) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "bench: %6.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}
