// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Status is the result of a check.
type Status string

// The statuses.
const (
	// OK: what was checked is correct.
	OK Status = "ok"
	// Warning: it works, but something needs attention.
	Warning Status = "warning"
	// Error: something does not work, or will not.
	Error Status = "error"
	// Unknown: the check could not be completed.
	Unknown Status = "unknown"
	// Skipped: there was nothing to check.
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
	// LookedAt describes what the check examines. Seen is what it found to be correct, and
	// SkippedBecause why it was skipped.
	LookedAt       string   `json:"lookedAt"`
	Seen           []string `json:"seen"`
	SkippedBecause string   `json:"skippedBecause,omitempty"`
	// Findings are the problems.
	Findings []Finding `json:"findings"`
}

// Finding is a problem, or something that could not be checked.
type Finding struct {
	// Status is Error, Warning or Unknown.
	Status Status `json:"status"`
	// What describes the finding, Why why it matters, and Do what to do about it.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// worstFirst has the statuses of findings, the worst first.
var worstFirst = []Status{Error, Warning, Unknown}

// Conclude sets the status of the check to that of its worst finding.
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

// Saw records what was found to be correct.
func (r *Result) Saw(text string) {
	if !slices.Contains(r.Seen, text) {
		r.Seen = append(r.Seen, text)
	}
}

// Found records findings without duplicates: one for each line of what, so that different failures are not combined in
// one sentence.
func (r *Result) Found(status Status, what, why, do string) {
	for line := range strings.Lines(what) {
		f := Finding{Status: status, What: strings.TrimSpace(line), Why: why, Do: sentence(do)}
		if !slices.Contains(r.Findings, f) {
			r.Findings = append(r.Findings, f)
		}
	}
}

// sentence turns advice into a sentence.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	if word, _, _ := strings.Cut(text, " "); !strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsLetter(r) }) {
		first, size := utf8.DecodeRuneInString(text)
		text = string(unicode.ToUpper(first)) + text[size:] // except for literals such as a key or an address
	}
	if strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}

// Skip records why there is nothing to check.
func (r *Result) Skip(because string) {
	if r.SkippedBecause == "" {
		r.SkippedBecause = because
	}
}

// Has reports whether a fact was read. If not, it records the reason: as skipped if there was no API to call, and
// otherwise as unknown. The advice depends on the cause. The command shows users the same fact.
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

// AdviceOr returns the advice for the cause or, if there is none, the other advice.
func (m Missing) AdviceOr(other string) string { return sentence(cmp.Or(m.Advice, other)) }
