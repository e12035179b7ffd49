// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"io"
	"strings"
)

// words has the statuses in the text.
var words = map[Status]string{OK: "ok", Warning: "WARN", Error: "ERROR", Unknown: "?", Skipped: "-"}

// columns is the width of the text.
const columns = 100

// Print prints a line for each check, the findings, and a summary. With all, it also prints what is correct.
func (r Report) Print(out io.Writer, all bool) error {
	var b strings.Builder
	for _, c := range r.Checks {
		c.print(&b, all)
	}
	fmt.Fprintf(&b, "\n%s: %d ok, %d with warnings, %d with errors, %d unknown, %d skipped\n",
		Plural(len(r.Checks), "check"), r.Counts[OK], r.Counts[Warning], r.Counts[Error], r.Counts[Unknown], r.Counts[Skipped])
	_, err := io.WriteString(out, b.String())
	return err
}

func (r Result) print(b *strings.Builder, all bool) {
	fmt.Fprintf(b, "%-6s %-18s %s\n", words[r.Status], r.Check, r.headline())
	if all {
		wrap(b, "Looked at: ", r.LookedAt)
		for _, seen := range r.Seen {
			wrap(b, "Seen: ", seen)
		}
	}
	for _, status := range worstFirst {
		for _, f := range r.Findings {
			if f.Status != status {
				continue
			}
			wrap(b, words[f.Status]+": ", f.What)
			wrap(b, "  Why: ", f.Why)
			wrap(b, "  Do: ", f.Do)
		}
	}
}

// headline returns the text of a check's line after its name, truncated to the line.
func (r Result) headline() string {
	const room = columns - 26
	text := r.LookedAt
	switch r.Status {
	case OK:
		if len(r.Seen) > 0 {
			text = r.Seen[0]
		}
	case Skipped:
		text = "skipped: " + r.SkippedBecause
	}
	if len(text) > room {
		text = strings.ToValidUTF8(text[:room-4], "") + " ..."
	}
	return text
}

// wrap prints the text in indented lines. Words longer than a line, such as addresses, are not
// broken.
func wrap(b *strings.Builder, label, text string) {
	const indent = "       "
	line := indent + label
	start := len(line)
	for word := range strings.FieldsSeq(text) {
		if len(line) > start && len(line)+1+len(word) > columns {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
			line = strings.Repeat(" ", start)
		} else if len(line) > start {
			line += " "
		}
		line += word
	}
	b.WriteString(strings.TrimRight(line, " ") + "\n")
}
