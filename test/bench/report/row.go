// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report holds what the bench found out, and prints it. It is pure: plain data in,
// text out.
package report

import (
	"slices"
	"time"
)

// Row is the result of one scenario, for one controller and one size.
type Row struct {
	Scenario string `json:"scenario"`
	// Controller is This or Versus.
	Controller string `json:"controller"`
	// Services, Ports and Nodes are the size: Services with a load balancer, ports of each,
	// nodes of the cluster before the scenario.
	Services int `json:"services"`
	Ports    int `json:"ports"`
	Nodes    int `json:"nodes"`
	// Affected is how many Services the scenario changes; calls are divided by it.
	Affected int `json:"affected"`
	// Calls and Writes are exact counts, Routes has them by "METHOD route".
	Calls  int            `json:"calls"`
	Writes int            `json:"writes"`
	Routes map[string]int `json:"routes,omitempty"`
	// LimitWrites is how many writes the change needs.
	LimitWrites int `json:"limitWrites"`
	// Seconds are from the beginning of the change until the last Service is done;
	// LimitSeconds is what the cloud alone needs for the same change.
	Seconds      float64 `json:"seconds"`
	LimitSeconds float64 `json:"limitSeconds"`
	// Times are how long single Services took.
	Times *Percentiles `json:"times,omitempty"`
	// CPUSeconds and MB are those of the controller's process.
	CPUSeconds float64 `json:"cpuSeconds"`
	MB         float64 `json:"mb"`
	// Figures are further numbers of this scenario.
	Figures []Figure `json:"figures,omitempty"`
	// Goals are those of the project, missed or met.
	Goals []Goal `json:"goals,omitempty"`
	// Failure says why the row is incomplete.
	Failure string `json:"failure,omitempty"`
}

// The controllers of a row.
const (
	This   = "this"
	Versus = "versus"
)

// Figure is one number.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Goal is the most that a number may be.
type Goal struct {
	Name   string  `json:"name"`
	Value  float64 `json:"value"`
	AtMost float64 `json:"atMost"`
	Met    bool    `json:"met"`
}

// AddFigure adds a number.
func (r *Row) AddFigure(name string, value float64, unit string) {
	r.Figures = append(r.Figures, Figure{Name: name, Value: value, Unit: unit})
}

// AddGoal compares a number of the row with its goal.
func (r *Row) AddGoal(name string, value, atMost float64) {
	r.Goals = append(r.Goals, Goal{Name: name, Value: value, AtMost: atMost, Met: value <= atMost})
}

// CallsPerService divides the calls by the Services that the scenario changes.
func (r *Row) CallsPerService() float64 { return Ratio(float64(r.Calls), float64(r.Affected)) }

// CallsRatio compares the calls with the writes that the change needs.
func (r *Row) CallsRatio() float64 { return Ratio(float64(r.Calls), float64(r.LimitWrites)) }

// SecondsRatio compares the time with what the cloud alone needs.
func (r *Row) SecondsRatio() float64 { return Ratio(r.Seconds, r.LimitSeconds) }

// Ratio is value / of, or 0 if there is nothing to compare with.
func Ratio(value, of float64) float64 {
	if of <= 0 {
		return 0
	}
	return value / of
}

// Percentiles are of times in seconds.
type Percentiles struct {
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// PercentilesOf returns nil for no times. A percentile is the shortest time that is not
// shorter than that share of all.
func PercentilesOf(times []time.Duration) *Percentiles {
	if len(times) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(times))
	at := func(percent int) float64 {
		return sorted[(percent*len(sorted)+99)/100-1].Seconds()
	}
	return &Percentiles{P50: at(50), P90: at(90), P99: at(99), Max: at(100)}
}
