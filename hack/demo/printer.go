// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// printer prints the steps, with the time since the beginning.
type printer struct {
	out   io.Writer
	began time.Time
}

func newPrinter(out io.Writer) *printer { return &printer{out: out, began: time.Now()} }

// step announces what comes next.
func (p *printer) step(format string, args ...any) {
	fmt.Fprintf(p.out, "\n[%5.1fs] %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// show prints a command and what it printed, indented.
func (p *printer) show(command, output string) {
	fmt.Fprintf(p.out, "    $ %s\n", command)
	for line := range strings.Lines(strings.TrimRight(output, "\n")) {
		fmt.Fprintf(p.out, "    %s", line)
	}
	fmt.Fprintln(p.out)
}

// note prints one indented line with the time.
func (p *printer) note(format string, args ...any) {
	fmt.Fprintf(p.out, "    %5.1fs  %s\n", time.Since(p.began).Seconds(), fmt.Sprintf(format, args...))
}

// say prints as it is.
func (p *printer) say(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
}
