// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Status says how a check ended.
type Status string

// The statuses.
const (
	// OK: what was looked at is as it should be.
	OK Status = "ok"
	// Warning: it works, but something needs attention.
	Warning Status = "warning"
	// Error: something does not work, or will not.
	Error Status = "error"
	// Unknown: it could not be found out.
	Unknown Status = "unknown"
	// Skipped: there was nothing to look at.
	Skipped Status = "skipped"
)

// Report is the result of all checks.
type Report struct {
	Checks []Result `json:"items"`
	// Counts is the number of checks of each status.
	Counts map[Status]int `json:"counts"`
}

// Failed reports whether a check has status Error.
func (r Report) Failed() bool { return r.Counts[Error] > 0 }

// Result is the result of one check.
type Result struct {
	Check  Check  `json:"check"`
	Status Status `json:"status"`
	// LookedAt says what the check looks at. Seen is what it saw, and SkippedBecause why it saw nothing.
	LookedAt       string   `json:"lookedAt"`
	Seen           []string `json:"seen"`
	SkippedBecause string   `json:"skippedBecause,omitempty"`
	// Findings are what is not as it should be.
	Findings []Finding `json:"findings"`
}

// Finding is one thing that is not as it should be, or that could not be found out.
type Finding struct {
	// Status is Error, Warning or Unknown.
	Status Status `json:"status"`
	// What is what was found, Why why it matters, and Do what to do about it.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// worstFirst are the statuses of findings, the worst first.
var worstFirst = []Status{Error, Warning, Unknown}

// Conclude sets the status of the check: that of its worst finding.
func (r *Result) Conclude() { r.Status = r.worst() }

func (r *Result) worst() Status {
	for _, s := range worstFirst {
		if r.count(s) > 0 {
			return s
		}
	}
	if r.SkippedBecause != "" && len(r.Seen) == 0 {
		return Skipped
	}
	return OK
}

func (r *Result) count(s Status) (n int) {
	for _, f := range r.Findings {
		if f.Status == s {
			n++
		}
	}
	return n
}

// Saw notes what was seen.
func (r *Result) Saw(text string) {
	if !slices.Contains(r.Seen, text) {
		r.Seen = append(r.Seen, text)
	}
}

// Found notes findings, once each: one for each line of what was found, so that no two failures are told in one sentence.
func (r *Result) Found(status Status, what, why, do string) {
	for line := range strings.Lines(what) {
		f := Finding{Status: status, What: strings.TrimSpace(line), Why: why, Do: sentence(do)}
		if !slices.Contains(r.Findings, f) {
			r.Findings = append(r.Findings, f)
		}
	}
}

// sentence returns advice as a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		first, size := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[size:] // but not what stands for itself, such as a key or an address
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Skip notes why there is nothing to look at.
func (r *Result) Skip(because string) {
	if r.SkippedBecause == "" {
		r.SkippedBecause = because
	}
}

// Has reports whether a fact was read. If not, it notes why: skipped if there was nothing to ask, and otherwise unknown.
// What to do follows from the cause. The command shows a person the same as was to be read.
func (r *Result) Has(m Missing, command string) bool {
	switch m.Kind {
	case Present:
		return true
	case NotAsked:
		r.Skip(m.Reason)
	case Denied:
		r.Found(Unknown, m.Reason, strings.TrimSpace("The check is incomplete. "+m.Need), m.AdviceOr("read it with another login: `"+command+"`"))
	default:
		r.Found(Unknown, m.Reason, "The check is incomplete.", m.AdviceOr("run this command again later, or `"+command+"`"))
	}
	return false
}

// AdviceOr returns what to do about the cause or, if the cause does not show that, something else.
func (m Missing) AdviceOr(other string) string { return sentence(cmp.Or(m.Advice, other)) }
