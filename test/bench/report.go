// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// document is what the bench prints.
type document struct {
	// Machine is what seconds and megabytes depend on.
	Machine struct {
		OS   string `json:"os"`
		CPUs int    `json:"cpus"`
	} `json:"machine"`
	Note string `json:"note"`
	// ControllerFlags are those that the controller had beyond its defaults.
	ControllerFlags []string  `json:"controllerFlags,omitempty"`
	Scenarios       []*result `json:"scenarios"`
}

// result is what one scenario found out.
type result struct {
	Name  string `json:"scenario"`
	About string `json:"about"`
	// LoadAverage is that of the last minute before the scenario began, where
	// the system tells: above zero, others were at work too.
	LoadAverage string    `json:"loadAverageBefore,omitempty"`
	TookSeconds float64   `json:"tookSeconds"`
	Figures     []*figure `json:"figures"`
	// Calls are the OpenStack calls by what was going on.
	Calls   map[string]count `json:"calls,omitempty"`
	Rounds  []round          `json:"rounds,omitempty"`
	Failure string           `json:"failure,omitempty"`
}

// figure is one number.
type figure struct {
	What string `json:"what"`
	// Value is in Unit: calls, s, MB, or 1 for ratios and plain counts.
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
	// AtMost is the target, Of whose it is, and Met whether it was reached.
	AtMost *float64 `json:"atMost,omitempty"`
	Of     string   `json:"target,omitempty"`
	Met    *bool    `json:"met,omitempty"`
}

func newDocument(flags []string) document {
	d := document{ControllerFlags: flags, Note: "Calls are counts of one run. Seconds and MB are those of one run on this machine, " +
		"which the cluster, the simulated cloud and the controller share."}
	d.Machine.OS, d.Machine.CPUs = runtime.GOOS, runtime.NumCPU()
	return d
}

// print writes the document as JSON.
func (d document) print(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(d)
}

// missed tells of each figure that is above its target.
func (d document) missed() []string {
	var lines []string
	for _, r := range d.Scenarios {
		for _, f := range r.Figures {
			if f.Met != nil && !*f.Met {
				lines = append(lines, fmt.Sprintf("%s: %s: %v %s, at most %v (%s)", r.Name, f.What, f.Value, f.Unit, *f.AtMost, f.Of))
			}
		}
	}
	return lines
}

// add notes a figure, rounded to three digits after the point.
func (r *result) add(value float64, unit, format string, args ...any) *figure {
	f := &figure{What: fmt.Sprintf(format, args...), Value: math.Round(value*1000) / 1000, Unit: unit}
	r.Figures = append(r.Figures, f)
	return f
}

// atMost sets the figure's target, and whose it is.
func (f *figure) atMost(limit float64, of string) {
	met := f.Value <= limit
	f.AtMost, f.Of, f.Met = &limit, of, &met
}

// calls notes what was called while something went on.
func (r *result) calls(during string, c count) {
	if r.Calls == nil {
		r.Calls = map[string]count{}
	}
	r.Calls[during] = c
}

// spread adds the shortest, the middle and the longest of some times, and
// returns the last.
func (r *result) spread(times []time.Duration, what string) *figure {
	sorted := slices.Sorted(slices.Values(times))
	r.add(seconds(sorted[0]), "s", "%s, shortest", what)
	r.add(seconds(sorted[len(sorted)/2]), "s", "%s, median", what)
	return r.add(seconds(sorted[len(sorted)-1]), "s", "%s, longest", what)
}

func seconds(d time.Duration) float64 { return math.Round(d.Seconds()*1000) / 1000 }

// loadAverage is the system's of the last minute, or "" where it does not tell.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), " ")
	return first
}
