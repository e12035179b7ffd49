// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestPercentiles(t *testing.T) {
	upTo := func(n int) []time.Duration {
		var times []time.Duration
		for i := n; i > 0; i-- {
			times = append(times, time.Duration(i)*time.Second)
		}
		return times
	}
	for name, test := range map[string]struct {
		times []time.Duration
		want  *Percentiles
	}{
		"none":    {nil, nil},
		"one":     {upTo(1), &Percentiles{1, 1, 1, 1}},
		"two":     {upTo(2), &Percentiles{1, 2, 2, 2}},
		"ten":     {upTo(10), &Percentiles{5, 9, 10, 10}},
		"hundred": {upTo(100), &Percentiles{50, 90, 99, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, PercentilesOf(test.times)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRatioToZeroIsUndefined(t *testing.T) {
	for _, test := range []struct {
		name string

		value, of, want float64
		printed         string
	}{
		{"both are known", 3, 2, 1.5, "1.50"},
		{"nothing to compare with", 3, 0, 0, "-"},
		{"nothing was measured", 0, 2, 0, "-"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Ratio(test.value, test.of); got != test.want || ratio(got) != test.printed {
				t.Errorf("%v / %v is %v, printed as %s", test.value, test.of, got, ratio(got))
			}
		})
	}
}

func document() *Document {
	create := &Row{Scenario: "create", Controller: This, Services: 10, Ports: 3, Nodes: 2, Affected: 10, Calls: 60, Writes: 20, LimitWrites: 20,
		Seconds: 33, LimitSeconds: 30, MB: 41.25, CPUSeconds: 1, Times: PercentilesOf([]time.Duration{31 * time.Second, 33 * time.Second})}
	create.Routes = map[string]int{"GET /b": 20, "POST /c": 20, "GET /a": 20}
	create.AddGoal("calls per Service", create.CallsPerService(), 6)
	create.AddGoal("ratio to the limit", create.SecondsRatio(), 1.05)
	other := *create
	other.Controller, other.Calls, other.Goals, other.Routes = Versus, 240, nil, nil
	idle := &Row{Scenario: "idle", Controller: This, Services: 10, Ports: 3, Nodes: 2, Affected: 10}
	idle.AddFigure("CPU share", 0.5, "%")
	failed := &Row{Scenario: "delete", Controller: This, Services: 10, Ports: 3, Nodes: 2, Failure: "waited for Service bench-1; the end of its log:\nstarted\nno quota\n"}
	return &Document{Rows: []*Row{create, &other, idle, failed}}
}

func TestTables(t *testing.T) {
	var b strings.Builder
	if err := document().WriteTables(&b, Markdown); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| create | 10 x 3, 2 nodes | this | 60 | 6 | 20 | 20 | 3.00 | 33 | 30 | 1.10 | 31 | 33 | 33 | 1 | 41.25 |",
		"| create | 10 x 3, 2 nodes | versus | 240 | 24 | 20 | 20 | 12.00 | 33 | 30 | 1.10 | 31 | 33 | 33 | 1 | 41.25 |",
		"| idle | 10 x 3, 2 nodes | this | 0 | 0 | 0 | 0 | - | 0 | 0 | - | - | - | - | 0 | 0 |",
		"| create | 10 x 3, 2 nodes | 4.00 | 1.00 | 1.00 | 1.00 | 1.00 |",
		"| idle | 10 x 3, 2 nodes | this | CPU share | 0.5 % |",
		"| delete | 10 x 3, 2 nodes | this | waited for Service bench-1; the end of its log: no quota |",
	} {
		if !strings.Contains(b.String(), line+"\n") {
			t.Errorf("no line %s in\n%s", line, b.String())
		}
	}
	if !strings.Contains(b.String(), "| 20 | `GET /a` |\n| create | 10 x 3, 2 nodes | this | 20 | `GET /b` |\n") {
		t.Errorf("calls are not in order:\n%s", b.String())
	}
	var text strings.Builder
	if err := document().WriteTables(&text, Text); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "create    10 x 3, 2 nodes  this ") {
		t.Errorf("columns are not aligned:\n%s", text.String())
	}
}

func TestMissedGoals(t *testing.T) {
	want := []string{"create, 10 x 3, 2 nodes: ratio to the limit is 1.1, goal: at most 1.05"}
	if diff := cmp.Diff(want, document().Missed()); diff != "" {
		t.Error(diff)
	}
}
