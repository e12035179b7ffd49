// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// columns prints the lines of a table one by one, unlike text/tabwriter, which needs all of them first. Its widths only
// grow.
type columns struct{ widths []int }

// gap separates columns.
const gap = "   "

// expendable are the titles of columns that are omitted on a narrow terminal, in this order. -o wide and the sections
// below the table show their content.
var expendable = []string{"LOAD BALANCER", "OBJECTS", "CONFLICT", "LAST CHANGE", "PROVISIONING", "DRIFT", "MEMBERS", "OPERATING", "REASON"}

// leaveOut returns the positions of the columns that must be omitted to fit the lines into the width. The first line
// has the titles.
func leaveOut(lines [][]string, width int) map[int]bool {
	var all columns
	all.fit(lines...)
	total := -utf8.RuneCountInString(gap)
	for _, w := range all.widths {
		total += w + utf8.RuneCountInString(gap)
	}
	left := map[int]bool{}
	for _, title := range expendable {
		i := slices.Index(lines[0], title)
		if total <= width || i < 0 {
			continue
		}
		left[i] = true
		total -= all.widths[i] + utf8.RuneCountInString(gap)
	}
	return left
}

// without returns the cells without the omitted ones.
func without(cells []string, left map[int]bool) (rest []string) {
	for i, cell := range cells {
		if !left[i] {
			rest = append(rest, cell)
		}
	}
	return rest
}

// wrap wraps a text into lines of the width, between words. A longer word is a line of its own.
func wrap(text string, width int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// fit widens the columns for the lines.
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

// print prints a line, with a dash for empty cells.
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
