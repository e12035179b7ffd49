// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	// number selects the mutant in the test binary.
	number int
	// folder and file are those of the code, line and column where it is changed.
	folder, file string
	line, column int
	// change describes the change.
	change string
	// start and end are the offsets of the changed code in its file. open and close are inserted there; in both, #
	// stands for the call that reports whether the mutant is selected, and @ for its number.
	start, end  int
	open, close string
	// tests are the tests that execute the changed code.
	tests  []*test
	result result
}

// result is what the tests say about a mutant.
type result int

const (
	notCovered result = iota
	killed
	// timedOut is a mutant that is killed because its tests do not end, or use too much memory.
	timedOut
	survived
)

func (m *mutant) String() string {
	return fmt.Sprintf("%s/%s:%d:%d: %s", m.folder, m.file, m.line, m.column, m.change)
}

// apply inserts the mutants of a file into its source. No insertion contains a line end, except those that repeat code.
func apply(source string, mutants []*mutant) string {
	type insertion struct {
		at, order int
		text      string
	}
	var all []insertion
	for i, m := range mutants {
		// Mutants can start or end at the same place. Then the one that was found first encloses the other, and what
		// ends there comes before what starts there.
		all = append(all, insertion{m.start, i + 1, m.text(m.open)}, insertion{m.end, -(i + 1), m.text(m.close)})
	}
	slices.SortStableFunc(all, func(a, b insertion) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order))
	})
	var b strings.Builder
	from := 0
	for _, i := range all {
		b.WriteString(source[from:i.at])
		b.WriteString(i.text)
		from = i.at
	}
	b.WriteString(source[from:])
	return b.String()
}

// text replaces # and @ in what the mutant inserts.
func (m *mutant) text(s string) string {
	number := fmt.Sprint(m.number)
	return strings.NewReplacer("#", "mutantOn("+number+")", "@", number).Replace(s)
}

// support is the file that is added to the package. The environment variable MUTANT selects a mutant. Without it,
// MUTANTS_REACHED names a file to which the numbers of all mutants are written whose code is executed.
//
// A mutant may use CPU time, memory or stack without end. So the process is killed after MUTANT_CPU seconds of CPU
// time, which do not depend on what else the machine does.
const support = `package %s

import (
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"syscall"
)

var mutantSelected, mutantReached = mutantSetup()

func mutantSetup() (int, *mutantRecord) {
	number, _ := strconv.Atoi(os.Getenv("MUTANT"))
	if number > 0 {
		seconds, _ := strconv.ParseUint(os.Getenv("MUTANT_CPU"), 10, 64)
		_ = syscall.Setrlimit(syscall.RLIMIT_CPU, &syscall.Rlimit{Cur: seconds, Max: seconds})
		_ = syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: 4 << 30, Max: 4 << 30})
		debug.SetMaxStack(64 << 20)
		return number, nil
	}
	name := os.Getenv("MUTANTS_REACHED")
	if name == "" {
		return 0, nil
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	return 0, &mutantRecord{file: file, seen: map[int]bool{}}
}

type mutantRecord struct {
	sync.Mutex
	file *os.File
	seen map[int]bool
}

func (r *mutantRecord) add(n int) {
	r.Lock()
	defer r.Unlock()
	if r.seen[n] {
		return
	}
	r.seen[n] = true
	if _, err := r.file.WriteString(strconv.Itoa(n) + "\n"); err != nil {
		panic(err)
	}
}

func mutantOn(n int) bool {
	if mutantReached != nil {
		mutantReached.add(n)
	}
	return n == mutantSelected
}

func mutantZero[T any](n int, v T) T {
	if mutantOn(n) {
		var zero T
		return zero
	}
	return v
}

func mutantPick[T any](n int, v, other T) T {
	if mutantOn(n) {
		return other
	}
	return v
}

func mutantSwap[E any](n, i int, s ...E) []E {
	if mutantOn(n) {
		s = slices.Clone(s)
		s[i], s[i+1] = s[i+1], s[i]
	}
	return s
}

func mutantDrop[E any](n, i int, s ...E) []E {
	if mutantOn(n) {
		s = slices.Delete(slices.Clone(s), i, i+1)
	}
	return s
}
`
