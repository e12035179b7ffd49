// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"
)

// test is a test, example or fuzz target of the package.
type test struct {
	name string
	// cost is the CPU time that it needs without a mutant.
	cost time.Duration
}

// cheap is the CPU time of tests that are worth running before the others.
const cheap = 200 * time.Millisecond

// waitLimit ends the tests of a mutant that waits for ever and so needs no CPU time. It is long, because on a busy
// machine other mutants wait for the processor.
const waitLimit = 30 * time.Minute

// binary is the compiled test of a package, with all mutants in it.
type binary struct {
	file, dir string
	// flags are given to every run.
	flags []string
	// seconds is the CPU time that every mutant gets, besides ten times what its tests need without it.
	seconds float64
	log     *progress
}

// test runs the tests of every mutant, several at the same time, and sets the results.
func (p *goPackage) test(ctx context.Context, o options, mutants []*mutant) error {
	log := newProgress(os.Stderr, p.name())
	scratch, err := os.MkdirTemp("", "mutate")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	log.say("%d mutants; compiling the tests", len(mutants))
	b, err := p.compile(ctx, scratch, mutants)
	if err != nil {
		return err
	}
	b.log, b.seconds = log, o.seconds
	log.say("running the tests without a mutant")
	if err := b.reach(ctx, filepath.Join(scratch, "reached"), mutants); err != nil {
		return err
	}
	var covered []*mutant
	for _, m := range mutants {
		if len(m.tests) > 0 {
			covered = append(covered, m)
		}
	}
	log.say("%d mutants are in code that no test executes; testing the others", len(mutants)-len(covered))
	return b.testAll(ctx, o.workers, covered)
}

// compile builds the test binary in scratch.
func (p *goPackage) compile(ctx context.Context, scratch string, mutants []*mutant) (*binary, error) {
	byFile := map[string][]*mutant{}
	for _, m := range mutants {
		byFile[m.file] = append(byFile[m.file], m)
	}
	replace := map[string]string{}
	write := func(name, text string) error {
		file := filepath.Join(scratch, name)
		replace[filepath.Join(p.Dir, name)] = file
		return os.WriteFile(file, []byte(text), 0o600)
	}
	for name, ofFile := range byFile {
		source, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		if err := write(name, apply(string(source), ofFile)); err != nil {
			return nil, err
		}
	}
	if err := write("mutants_support.go", fmt.Sprintf(support, p.Name)); err != nil {
		return nil, err
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlayFile := filepath.Join(scratch, "overlay.json")
	if err := os.WriteFile(overlayFile, overlay, 0o600); err != nil {
		return nil, err
	}
	b := &binary{file: filepath.Join(scratch, "package.test"), dir: p.Dir}
	if _, err := goOutput(ctx, p.Dir, "test", "-c", "-vet=off", "-overlay", overlayFile, "-o", b.file, "."); err != nil {
		return nil, err
	}
	if err := b.determine(ctx); err != nil {
		return nil, err
	}
	return b, nil
}

// determine sets the flags with which the tests of rapid always make the same choices, and write nothing.
func (b *binary) determine(ctx context.Context) error {
	help, err := exec.CommandContext(ctx, b.file, "-help").CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return err
	}
	if strings.Contains(string(help), "-rapid.seed") {
		b.flags = []string{"-rapid.seed=1", "-rapid.nofailfile", "-rapid.shrinktime=0s"}
	}
	return nil
}

// run runs the named tests with the environment, and returns how much CPU time they needed and what they printed. It
// fails like exec.Cmd.Run if a test fails.
func (b *binary) run(ctx context.Context, tests []string, environment ...string) (time.Duration, string, error) {
	var quoted []string
	for _, t := range tests {
		quoted = append(quoted, regexp.QuoteMeta(t))
	}
	ctx, cancel := context.WithTimeout(ctx, waitLimit+time.Minute)
	defer cancel()
	flags := []string{"-test.run=^(" + strings.Join(quoted, "|") + ")$", "-test.failfast", "-test.timeout=" + waitLimit.String()}
	c := exec.CommandContext(ctx, b.file, append(flags, b.flags...)...)
	c.Dir = b.dir
	// The tests of several mutants run at the same time, so each gets one core.
	c.Env = append(os.Environ(), append(environment, "GOMAXPROCS=1")...)
	output, err := c.CombinedOutput()
	if c.ProcessState == nil {
		return 0, "", err
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), string(output), err
}

// reach runs each test alone without a mutant, and notes its cost and the mutants whose code it executes.
func (b *binary) reach(ctx context.Context, file string, mutants []*mutant) error {
	listed, err := exec.CommandContext(ctx, b.file, "-test.list=.").Output()
	if err != nil {
		return fmt.Errorf("list the tests: %w", err)
	}
	byNumber := map[string]*mutant{}
	for _, m := range mutants {
		byNumber[strconv.Itoa(m.number)] = m
	}
	for name := range strings.FieldsSeq(string(listed)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		cost, output, err := b.run(ctx, []string{name}, "MUTANTS_REACHED="+file)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("%s fails without a mutant: %w\n%s", name, err, output)
		}
		reached, err := os.ReadFile(file)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		t := &test{name: name, cost: cost}
		for number := range strings.FieldsSeq(string(reached)) {
			m := byNumber[number]
			m.tests = append(m.tests, t)
		}
		if err := os.RemoveAll(file); err != nil {
			return err
		}
	}
	for _, m := range mutants {
		slices.SortStableFunc(m.tests, func(a, b *test) int { return cmp.Compare(a.cost, b.cost) })
	}
	return nil
}

// testAll tests the mutants, several at the same time.
func (b *binary) testAll(ctx context.Context, workers int, mutants []*mutant) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(workers, 1))
	var mutex sync.Mutex
	counts := map[result]int{}
	for _, m := range mutants {
		group.Go(func() error {
			r, err := b.testOne(ctx, m)
			if err != nil {
				return err
			}
			mutex.Lock()
			defer mutex.Unlock()
			m.result = r
			counts[r]++
			dead := counts[killed] + counts[timedOut]
			b.log.sometimes("%d of %d mutants tested: %d killed, %d survived", dead+counts[survived], len(mutants), dead, counts[survived])
			return nil
		})
	}
	return group.Wait()
}

// testOne runs the tests that execute the code of a mutant, those that need little time first.
func (b *binary) testOne(ctx context.Context, m *mutant) (result, error) {
	slow := slices.IndexFunc(m.tests, func(t *test) bool { return t.cost > cheap })
	if slow < 0 {
		slow = len(m.tests)
	}
	for _, tests := range [][]*test{m.tests[:slow], m.tests[slow:]} {
		if ctx.Err() != nil {
			return notCovered, ctx.Err()
		}
		if len(tests) == 0 {
			continue
		}
		var names []string
		var cost time.Duration
		for _, t := range tests {
			names = append(names, t.name)
			cost += t.cost
		}
		limit := math.Ceil(b.seconds + 10*cost.Seconds())
		_, output, err := b.run(ctx, names, "MUTANT="+strconv.Itoa(m.number), fmt.Sprintf("MUTANT_CPU=%.0f", limit))
		var exit *exec.ExitError
		switch {
		case err == nil:
			continue
		case ctx.Err() != nil:
			return notCovered, ctx.Err()
		case !errors.As(err, &exit):
			return notCovered, err
		case endless(exit, output):
			return timedOut, nil
		default:
			return killed, nil
		}
	}
	return survived, nil
}

// endless reports whether tests were ended because they needed too much time or memory.
func endless(exit *exec.ExitError, output string) bool {
	status, ok := exit.Sys().(syscall.WaitStatus)
	if ok && status.Signaled() {
		return true
	}
	for _, sign := range []string{"panic: test timed out", "fatal error: runtime: out of memory", "fatal error: runtime: cannot allocate memory", "goroutine stack exceeds"} {
		if strings.Contains(output, sign) {
			return true
		}
	}
	return false
}
