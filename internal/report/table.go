// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// columns prints lines of a table one after another, unlike text/tabwriter, which has to know all of them. Its widths only
// grow.
type columns struct{ widths []int }

// gap separates columns.
const gap = "   "

// fit makes room for the lines.
func (c *columns) fit(lines ...[]string) {
	for _, cells := range lines {
		for i, cell := range cells {
			if i == len(c.widths) {
				c.widths = append(c.widths, 0)
			}
			c.widths[i] = max(c.widths[i], utf8.RuneCountInString(cell), 1)
		}
	}
}

// print prints a line, with a dash for what is empty.
func (c *columns) print(out io.Writer, cells []string) {
	c.fit(cells)
	var line strings.Builder
	for i, cell := range cells {
		cell = cmp.Or(cell, "-")
		line.WriteString(cell)
		if i < len(cells)-1 {
			line.WriteString(strings.Repeat(" ", c.widths[i]-utf8.RuneCountInString(cell)) + gap)
		}
	}
	fmt.Fprintln(out, line.String())
}
