// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mutate shows which mistakes in a package its own tests do not find. It makes small changes of the code,
// called mutants, one at a time, and runs the tests that execute the changed place. A mutant is killed if a test fails.
// `make mutate` runs it.
//
// All mutants of a package are compiled into one test binary, by an overlay of its files, and an environment variable
// selects one of them. So each mutant only costs the time of its tests. The working tree is not changed.
//
// go-gremlins/gremlins was tried first. It counts mutants that do not compile as killed, only replaces operators, and
// compiles the tests again for each mutant, which takes ten times as long as to run them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"syscall"
)

func main() {
	var o options
	flag.Float64Var(&o.threshold, "threshold", 0, "exit with status 1 if a smaller percentage of the mutants of a package is killed")
	flag.Float64Var(&o.seconds, "seconds", 5, "CPU time that the tests of a mutant may need, besides ten times what they need without it")
	flag.IntVar(&o.workers, "workers", runtime.NumCPU(), "number of mutants that are tested at the same time")
	flag.BoolVar(&o.list, "list", false, "only list the mutants")
	only := flag.String("only", "", "regular expression: only the mutants whose line in the report matches")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Usage: mutate [flags] package ...")
		flag.PrintDefaults()
	}
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = run(ctx, o, flag.Args(), os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "mutate: %v\n", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	// dir is where the module is; the tests of this command set it.
	dir       string
	threshold float64
	seconds   float64
	workers   int
	list      bool
	only      *regexp.Regexp
}

// run tests the mutants of the packages, one package after the other, and writes a report of each.
func run(ctx context.Context, o options, patterns []string, out io.Writer) error {
	packages, err := load(ctx, o.dir, patterns)
	if err != nil {
		return err
	}
	var missed error
	for _, p := range packages {
		mutants, err := p.mutate(o.only)
		if err != nil {
			return err
		}
		if o.list {
			for _, m := range mutants {
				fmt.Fprintln(out, m)
			}
			continue
		}
		if err := p.test(ctx, o, mutants); err != nil {
			return fmt.Errorf("%s: %w", p.Dir, err)
		}
		fmt.Fprint(out, report(p.name(), mutants))
		if killed := share(mutants); killed < o.threshold {
			missed = errors.Join(missed, fmt.Errorf("%s: %.1f %% of the mutants were killed, less than %g %%", p.name(), killed, o.threshold))
		}
	}
	return missed
}
