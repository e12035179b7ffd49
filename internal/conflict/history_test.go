// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/timing"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// delays are those of the tests here: four times in ten minutes.
var delays = timing.Delays{
	ConflictLimit: 4, ConflictWindow: 10 * time.Minute,
	ConflictWait: timing.Backoff{First: time.Second, Last: 10 * time.Second}, ConflictStop: timing.Backoff{First: 10 * time.Minute, Last: time.Hour},
}

// moment is something that happens so long after the start of a test, and what is to be
// done about the Service then.
type moment struct {
	after time.Duration
	// writes are the kinds of another client's writes, changed is whether a user changes
	// the Service, and pass whether a pass is made that takes up work again if it may.
	writes        []string
	changed, pass bool
	stopped       bool
	wait          time.Duration
}

// of are writes of the kinds.
func of(kinds ...string) []Write {
	var writes []Write
	for _, kind := range kinds {
		writes = append(writes, Write{Kind: kind})
	}
	return writes
}

func TestAnotherClientsWriteIsRepairedThenRepairedLaterThenLeftAlone(t *testing.T) {
	again := []string{OnService}
	stopped := []moment{
		{after: 0, writes: again},
		{after: 1 * time.Second, writes: again, wait: time.Second},
		{after: 3 * time.Second, writes: again, wait: 2 * time.Second},
		{after: 20 * time.Second, writes: again, stopped: true, wait: 10 * time.Minute},
	}
	const end = 20*time.Second + 10*time.Minute
	resumed := append(append([]moment{}, stopped...), moment{after: end, pass: true})
	tests := map[string][]moment{
		"one write":                  {{after: 0, writes: again}},
		"one write to each of three": {{after: 0, writes: []string{"a", "b", "c"}}},
		"different things, one by one": {
			{after: 0, writes: []string{"a"}}, {after: 1, writes: []string{"b"}},
			{after: 2, writes: []string{"c"}}, {after: 3, writes: []string{"d"}}, {after: 4, writes: []string{"e"}},
		},
		"a second one, and the end of the wait": {
			{after: 0, writes: again}, {after: time.Second, writes: again, wait: time.Second}, {after: 2 * time.Second},
		},
		"one every ten minutes": {
			{after: 0, writes: again}, {after: 10 * time.Minute, writes: again}, {after: 20 * time.Minute, writes: again},
			{after: 30 * time.Minute, writes: again}, {after: 40 * time.Minute, writes: again},
		},
		"again and again": stopped,
		"and while work is stopped": append(append([]moment{}, stopped...),
			moment{after: time.Minute, writes: again, stopped: true, wait: end - time.Minute}),
		"the end of the stop": resumed,
		"a person makes a mistake after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again}),
		"and it goes on after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again},
			moment{after: end + 2*time.Second, writes: again, stopped: true, wait: 20 * time.Minute}),
		"it was quiet for long after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Hour, writes: again},
			moment{after: end + time.Hour + time.Second, writes: again, wait: time.Second}),
		"a user changes the Service": append(append([]moment{}, stopped...),
			moment{after: time.Minute, changed: true, pass: true},
			moment{after: time.Minute, writes: again},
			moment{after: time.Minute, writes: again, stopped: true, wait: 20 * time.Minute},
			// It may be the other controller that changes it.
			moment{after: time.Minute, changed: true, stopped: true, wait: 4 * time.Second}),
		"a user changes it and nobody writes": {
			{after: 0, changed: true}, {after: 0, writes: again}, {after: 1, changed: true},
		},
	}
	for name, moments := range tests {
		t.Run(name, func(t *testing.T) {
			var known history
			for i, m := range moments {
				now := noon.Add(m.after)
				known = known.after(of(m.writes...), now, delays)
				if m.changed {
					known = known.changed(delays)
				}
				if m.pass {
					known = known.resumed(now)
				}
				if wait := max(known.until.Sub(now), 0); known.stopped != m.stopped || wait != m.wait {
					t.Fatalf("moment %d: stopped %t for %v, want %t for %v", i, known.stopped, wait, m.stopped, m.wait)
				}
			}
		})
	}
}

// A controller may write to the Service what it wants, as users do, each time that it
// writes to what is ours.
func TestAControllerThatPassesForAUserIsRepairedEverLessOften(t *testing.T) {
	known, now, repairs := history{}, noon, 0
	for end := noon.Add(24 * time.Hour); now.Before(end); {
		known = known.resumed(now)
		if known.until.After(now) {
			now = known.until
			continue
		}
		repairs++
		now = now.Add(time.Millisecond)
		known = known.after(of("x"), now, delays).changed(delays)
	}
	// Four times at first, then twice after each of the stops, which last up to an hour.
	if repairs < 24 || repairs > 80 {
		t.Errorf("it was repaired %d times in a day", repairs)
	}
}

func TestStopsGrowToTheLongest(t *testing.T) {
	known, now := history{}, noon
	var stops []time.Duration
	for range 5 {
		for !known.stopped {
			known = known.after(of("x"), now, delays)
		}
		stops = append(stops, known.until.Sub(now))
		now = known.until
		known = known.resumed(now)
	}
	want := []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour}
	if d := cmp.Diff(want, stops); d != "" {
		t.Errorf("stops (-want +got):\n%s", d)
	}
}

func TestNothingIsAConflictWithoutALimit(t *testing.T) {
	var known history
	for range 100 {
		known = known.after(of("x"), noon, timing.Delays{})
	}
	if known.stopped || len(known.writes) > 0 {
		t.Errorf("stopped %t, %d writes kept", known.stopped, len(known.writes))
	}
}

func TestWhatIsReportedIsAllOnTheServiceAndWhatWasDoneAgainInTheCloud(t *testing.T) {
	known := history{writes: []Write{
		{Kind: "CreateListener", Texts: []string{"open port TCP/80"}},
		{Kind: OnService, Texts: []string{"status.loadBalancer", "annotation a"}},
		{Kind: "SetMembers", Texts: []string{"set the members"}},
		{Kind: "CreateListener", Texts: []string{"open port TCP/81"}},
		{Kind: OnService, Texts: []string{"finalizer f", "status.loadBalancer"}},
	}}
	all, last := known.overwritten()
	if d := cmp.Diff([]string{"annotation a", "finalizer f", "status.loadBalancer"}, all); d != "" {
		t.Errorf("overwritten (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"finalizer f", "status.loadBalancer"}, last); d != "" {
		t.Errorf("overwritten last (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"open port TCP/81"}, known.undone()); d != "" {
		t.Errorf("undone (-want +got):\n%s", d)
	}
	if s := (State{times: known.times()}); s.Concerns("SetMembers") || !s.Concerns("CreateListener") {
		t.Errorf("what is written once passes for a conflict, or what is written twice does not")
	}
}
