// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// narrator tells what happens, with the time since the beginning.
type narrator struct {
	out   io.Writer
	began time.Time
}

func newNarrator(out io.Writer) *narrator { return &narrator{out: out, began: time.Now()} }

// step announces what comes next.
func (n *narrator) step(format string, args ...any) {
	fmt.Fprintf(n.out, "\n[%5.1fs] %s\n", time.Since(n.began).Seconds(), fmt.Sprintf(format, args...))
}

// show prints a command and what it printed, indented.
func (n *narrator) show(command, output string) {
	fmt.Fprintf(n.out, "    $ %s\n", command)
	for line := range strings.Lines(strings.TrimRight(output, "\n")) {
		fmt.Fprintf(n.out, "    %s", line)
	}
	fmt.Fprintln(n.out)
}

// note prints one indented line with the time.
func (n *narrator) note(format string, args ...any) {
	fmt.Fprintf(n.out, "    %5.1fs  %s\n", time.Since(n.began).Seconds(), fmt.Sprintf(format, args...))
}

// say prints as it is.
func (n *narrator) say(format string, args ...any) {
	fmt.Fprintf(n.out, format+"\n", args...)
}
