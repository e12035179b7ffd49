// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// share returns the percentage of the mutants that were killed. Mutants that no test executes were not.
func share(mutants []*mutant) float64 {
	if len(mutants) == 0 {
		return 100
	}
	alive := len(with(mutants, survived)) + len(with(mutants, notCovered))
	return 100 * float64(len(mutants)-alive) / float64(len(mutants))
}

// with returns the mutants with a result, in the order of their places.
func with(mutants []*mutant, r result) []*mutant {
	var all []*mutant
	for _, m := range mutants {
		if m.result == r {
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b *mutant) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return all
}

// report says what became of the mutants of a package.
func report(name string, mutants []*mutant) string {
	var b strings.Builder
	slow := with(mutants, timedOut)
	fmt.Fprintf(&b, "%s: %d mutants, %d killed (%.1f %%), %d survived, %d not covered\n", name, len(mutants),
		len(with(mutants, killed))+len(slow), share(mutants), len(with(mutants, survived)), len(with(mutants, notCovered)))
	section := func(title string, mutants []*mutant) {
		if len(mutants) == 0 {
			return
		}
		fmt.Fprintf(&b, "\n%s:\n", title)
		for _, m := range mutants {
			fmt.Fprintf(&b, "  %s\n", m)
		}
	}
	section("Killed by the limit of time or memory", slow)
	section("Survived", with(mutants, survived))
	section("Not covered", with(mutants, notCovered))
	return b.String()
}

// progress says what is done, on a terminal or in a log.
type progress struct {
	to   io.Writer
	name string
	last time.Time
}

func newProgress(to io.Writer, name string) *progress { return &progress{to: to, name: name} }

func (p *progress) say(format string, args ...any) {
	fmt.Fprintf(p.to, "mutate: %s: %s\n", p.name, fmt.Sprintf(format, args...))
	p.last = time.Now()
}

// sometimes says something if it was silent for a while.
func (p *progress) sometimes(format string, args ...any) {
	if time.Since(p.last) >= 15*time.Second {
		p.say(format, args...)
	}
}
