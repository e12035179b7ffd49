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

// columns prints lines of a table one after another, unlike text/tabwriter, which has to know all of them. Its widths only
// grow.
type columns struct{ widths []int }

// gap separates columns.
const gap = "   "

// expendable are the titles of columns that are left out where a terminal is narrow, the first one first. -o wide and the
// sections below the table have what they show.
var expendable = []string{"LOAD BALANCER", "OBJECTS", "CONFLICT", "LAST CHANGE", "PROVISIONING", "DRIFT", "MEMBERS", "OPERATING", "REASON"}

// leaveOut returns which of the columns have to be left out to fit lines into the width, by their position. The first line has
// the titles.
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

// without returns the cells without those that are left out.
func without(cells []string, left map[int]bool) (rest []string) {
	for i, cell := range cells {
		if !left[i] {
			rest = append(rest, cell)
		}
	}
	return rest
}

// wrap breaks a text between words into lines of the width. A word that is longer stands alone.
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
