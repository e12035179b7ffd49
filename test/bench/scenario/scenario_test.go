// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

func TestScenariosAreFoundByName(t *testing.T) {
	chosen, err := Named([]string{"join", "create"})
	if err != nil || len(chosen) != 2 || chosen[0].Name != "join" || chosen[1].Name != "create" {
		t.Errorf("%v, %v", chosen, err)
	}
	if all, err := Named(nil); err != nil || len(all) != len(All) {
		t.Errorf("%d of %d scenarios, %v", len(all), len(All), err)
	}
	if _, err := Named([]string{"creat"}); err == nil || !strings.Contains(err.Error(), `"creat"`) {
		t.Errorf("got %v", err)
	}
}

func TestScenariosHaveDifferentNames(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range All {
		if seen[s.Name] || s.About == "" || s.run == nil {
			t.Errorf("scenario %q", s.Name)
		}
		seen[s.Name] = true
	}
}

func TestMostCallsPerSecondCountAcrossFullSeconds(t *testing.T) {
	start := time.Unix(1_800_000_000, 0)
	for _, test := range []struct {
		name string

		milliseconds []int
		want         int
	}{
		{"no calls", nil, 0},
		{"one call", []int{0}, 1},
		{"two calls in a second", []int{0, 999}, 2},
		{"two calls a second apart", []int{0, 1000}, 1},
		{"most calls across a full second", []int{0, 900, 1100, 1800, 1899, 3000}, 4},
	} {
		t.Run(test.name, func(t *testing.T) {
			var times []time.Time
			for _, ms := range test.milliseconds {
				times = append(times, start.Add(time.Duration(ms)*time.Millisecond))
			}
			if got := mostPerSecond(times); got != test.want {
				t.Errorf("%v: %d, want %d", test.milliseconds, got, test.want)
			}
		})
	}
}

func TestMedianAndLongest(t *testing.T) {
	if got := median([]float64{3, 1, 2}); got != 2 {
		t.Errorf("median %v", got)
	}
	if got := longest([]time.Duration{1, 3, 2}); got != 3 {
		t.Errorf("longest %v", got)
	}
	if got := longest(nil); got != 0 {
		t.Errorf("longest of nothing %v", got)
	}
}

func TestTimeHasNoGoalWithoutALimit(t *testing.T) {
	row := &report.Row{Calls: 60, Affected: 10, Seconds: 3}
	goals(row, 6)
	want := []report.Goal{{Name: "calls per Service", Value: 6, AtMost: 6, Met: true}}
	if diff := cmp.Diff(want, row.Goals); diff != "" {
		t.Error(diff)
	}
}

func TestStepsAreAdded(t *testing.T) {
	sum := stage.Measured{}
	sum.Calls.Routes = map[string]int{}
	step := stage.Measured{CPU: time.Second, Memory: 40}
	step.Calls.Total, step.Calls.Writes, step.Calls.Routes = 3, 2, map[string]int{"GET /a": 1, "PUT /b": 2}
	addMeasured(&sum, step)
	addMeasured(&sum, step)
	want := stage.Measured{CPU: 2 * time.Second, Memory: 40}
	want.Calls.Total, want.Calls.Writes, want.Calls.Routes = 6, 4, map[string]int{"GET /a": 2, "PUT /b": 4}
	if diff := cmp.Diff(want, sum); diff != "" {
		t.Error(diff)
	}
}
