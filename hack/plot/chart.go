// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
)

// document is the part of the benchmark's results that is drawn.
type document struct {
	Rows []row `json:"rows"`
}

type row struct {
	Scenario     string  `json:"scenario"`
	Controller   string  `json:"controller"`
	Services     float64 `json:"services"`
	Affected     float64 `json:"affected"`
	Calls        float64 `json:"calls"`
	LimitWrites  float64 `json:"limitWrites"`
	Seconds      float64 `json:"seconds"`
	LimitSeconds float64 `json:"limitSeconds"`
	Failure      string  `json:"failure"`
}

// chart is one SVG file.
type chart struct {
	file, title, unit string
	lines             []line
}

type line struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// chartsOf returns two charts for each scenario that was measured with several numbers of
// Services.
func chartsOf(d document) []chart {
	var charts []chart
	for _, scenario := range scenarios(d) {
		name := strings.NewReplacer(",", "", " ", "-").Replace(scenario)
		calls := chart{file: name + "-calls.svg", title: scenario, unit: "calls for each Service"}
		seconds := chart{file: name + "-seconds.svg", title: scenario, unit: "seconds"}
		for _, r := range d.Rows {
			if r.Scenario != scenario || r.Failure != "" || r.Affected == 0 {
				continue
			}
			calls.add(r.Controller, point{r.Services, r.Calls / r.Affected})
			calls.add("writes needed", point{r.Services, r.LimitWrites / r.Affected})
			seconds.add(r.Controller, point{r.Services, r.Seconds})
			seconds.add("limit of the cloud", point{r.Services, r.LimitSeconds})
		}
		if len(calls.lines) > 0 && len(calls.lines[0].points) > 1 {
			charts = append(charts, calls, seconds)
		}
	}
	return charts
}

// scenarios returns the names of the scenarios in order.
func scenarios(d document) []string {
	var names []string
	for _, r := range d.Rows {
		if !slices.Contains(names, r.Scenario) {
			names = append(names, r.Scenario)
		}
	}
	return names
}

// add adds a point to a line, unless it exists already: the limits are the same for every
// controller.
func (c *chart) add(name string, p point) {
	i := slices.IndexFunc(c.lines, func(l line) bool { return l.name == name })
	if i < 0 {
		c.lines = append(c.lines, line{name: name})
		i = len(c.lines) - 1
	}
	if !slices.ContainsFunc(c.lines[i].points, func(q point) bool { return q.x == p.x }) {
		c.lines[i].points = append(c.lines[i].points, p)
	}
}
