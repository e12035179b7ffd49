// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// How often the state is shown: on a terminal in one line that is overwritten, elsewhere on
// separate lines, and less often after the first ten seconds.
const (
	terminalPeriod = time.Second
	firstPeriod    = 2 * time.Second
	plainPeriod    = 10 * time.Second
)

// progress shows the progress of the build.
type progress struct {
	out      io.Writer
	terminal bool
	start    time.Time
	stop     chan struct{}
	stopped  chan struct{}

	mu      sync.Mutex
	what    string          // the phase
	fetched int             // modules
	pending map[string]bool // packages that are still to be compiled
	total   int             // packages to be compiled
}

// newProgress starts to show the state. The caller must call end.
func newProgress(out *os.File) *progress {
	info, err := out.Stat()
	p := &progress{
		out:      out,
		terminal: err == nil && info.Mode()&os.ModeCharDevice != 0,
		start:    time.Now(),
		stop:     make(chan struct{}),
		stopped:  make(chan struct{}),
	}
	go p.show()
	return p
}

// end stops the display and shows the last state.
func (p *progress) end() {
	close(p.stop)
	<-p.stopped
}

// phase sets the name of the current phase.
func (p *progress) phase(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = what
}

// compiling starts the phase in which these packages are compiled.
func (p *progress) compiling(packages []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.what = "compiling"
	p.total = len(packages)
	p.pending = make(map[string]bool, len(packages))
	for _, name := range packages {
		p.pending[name] = true
	}
}

// line processes a line of the go command's standard error. It returns false if the line is not
// about progress.
func (p *progress) line(text string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if strings.HasPrefix(text, "go: downloading ") {
		p.fetched++
		return true
	}
	if p.pending[text] {
		delete(p.pending, text)
		return true
	}
	return false
}

// show writes the state periodically.
func (p *progress) show() {
	defer close(p.stopped)
	tick := time.NewTimer(p.period())
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			tick.Reset(p.period())
			p.write(p.state(time.Since(p.start)))
		case <-p.stop:
			p.write(p.state(time.Since(p.start)))
			if p.terminal {
				fmt.Fprintln(p.out)
			}
			return
		}
	}
}

// period returns how long the current state is shown.
func (p *progress) period() time.Duration {
	switch {
	case p.terminal:
		return terminalPeriod
	case time.Since(p.start) < plainPeriod:
		return firstPeriod
	}
	return plainPeriod
}

func (p *progress) write(state string) {
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K  %s", state)
		return
	}
	fmt.Fprintf(p.out, "  %s\n", state)
}

// state returns the line to show. It never reaches 100 %, because programs are linked after the
// last package is compiled.
func (p *progress) state(elapsed time.Duration) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed = elapsed.Round(time.Second)
	if p.pending == nil {
		return fmt.Sprintf("  0 %%  %s: %d so far, %s", p.what, p.fetched, elapsed)
	}
	compiled := p.total - len(p.pending)
	percent := 99
	if p.total > 0 {
		percent = 99 * compiled / p.total
	}
	what := fmt.Sprintf("%s: package %d of %d", p.what, compiled, p.total)
	if len(p.pending) == 0 {
		what = "linking"
	}
	return fmt.Sprintf("%3d %%  %s, %s", percent, what, elapsed)
}
