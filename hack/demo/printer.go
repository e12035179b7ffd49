// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// silence is how long the demo may print nothing.
const silence = 2 * time.Second

// printer prints the steps, with the time since the beginning. It is safe for concurrent use.
type printer struct {
	began time.Time

	mu  sync.Mutex
	out io.Writer
	// what is in progress; last is the time of the last output.
	what string
	last time.Time
}

func newPrinter(out io.Writer) *printer {
	now := time.Now()
	return &printer{out: out, began: now, last: now}
}

// step announces the next step.
func (p *printer) step(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.print("\n[%5.1fs] %s\n", p.elapsed(), text)
	p.doing("%s", text)
}

// doing sets what is printed while a step takes long.
func (p *printer) doing(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = fmt.Sprintf(format, args...)
}

// show prints a command and what it printed, indented.
func (p *printer) show(command, output string) {
	var text strings.Builder
	for line := range strings.Lines(strings.TrimRight(output, "\n")) {
		fmt.Fprintf(&text, "    %s", line)
	}
	p.print("    $ %s\n%s\n", command, &text)
}

// note prints one indented line with the elapsed time.
func (p *printer) note(format string, args ...any) {
	p.print("    %5.1fs  %s\n", p.elapsed(), fmt.Sprintf(format, args...))
}

// say prints text unchanged.
func (p *printer) say(format string, args ...any) {
	p.print(format+"\n", args...)
}

func (p *printer) print(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, format, args...)
	p.last = time.Now()
}

func (p *printer) elapsed() float64 { return time.Since(p.began).Seconds() }

// breakSilence prints what is in progress whenever nothing else was printed for a while, until ctx
// ends.
func (p *printer) breakSilence(ctx context.Context) {
	tick := time.NewTicker(silence / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if what, long := p.silentFor(silence); long {
				p.note("still: %s", what)
			}
		}
	}
}

// silentFor reports whether nothing was printed for that long, and what is in progress.
func (p *printer) silentFor(d time.Duration) (what string, long bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.what, p.what != "" && time.Since(p.last) >= d
}
