// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// delays stop work after four writes in ten minutes.
var delays = timing.Delays{
	ConflictLimit: 4, ConflictWindow: 10 * time.Minute,
	ConflictWait: timing.Backoff{First: time.Second, Last: 10 * time.Second}, ConflictStop: timing.Backoff{First: 10 * time.Minute, Last: time.Hour},
}

// moment is an event at a time after the start of a test, and the expected state then.
type moment struct {
	after time.Duration
	// writes are the kinds of another client's writes, changed is whether a user changes the
	// Service, pass is whether a pass is made, which resumes work if the stop is over.
	writes        []string
	changed, pass bool
	stopped       bool
	wait          time.Duration
}

// of returns writes of the kinds.
func of(kinds ...string) []Write {
	var writes []Write
	for _, kind := range kinds {
		writes = append(writes, Write{Kind: kind})
	}
	return writes
}

func TestWritesAreRepairedAtOnceThenAfterABackoffAndAtLastWorkStops(t *testing.T) {
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
		"one write to each of five, one after the other": {
			{after: 0, writes: []string{"a"}}, {after: 1, writes: []string{"b"}},
			{after: 2, writes: []string{"c"}}, {after: 3, writes: []string{"d"}}, {after: 4, writes: []string{"e"}},
		},
		"the end of the backoff": {
			{after: 0, writes: again}, {after: time.Second, writes: again, wait: time.Second}, {after: 2 * time.Second},
		},
		"one every ten minutes": {
			{after: 0, writes: again}, {after: 10 * time.Minute, writes: again}, {after: 20 * time.Minute, writes: again},
			{after: 30 * time.Minute, writes: again}, {after: 40 * time.Minute, writes: again},
		},
		"four writes": stopped,
		"a write during the stop": append(append([]moment{}, stopped...),
			moment{after: time.Minute, writes: again, stopped: true, wait: end - time.Minute}),
		"the end of the stop": resumed,
		"one write after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again}),
		"two writes after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Second, writes: again},
			moment{after: end + 2*time.Second, writes: again, stopped: true, wait: 20 * time.Minute}),
		"two writes an hour after the stop": append(append([]moment{}, resumed...),
			moment{after: end + time.Hour, writes: again},
			moment{after: end + time.Hour + time.Second, writes: again, wait: time.Second}),
		"a user changes the Service during the stop": append(append([]moment{}, stopped...),
			moment{after: time.Minute, changed: true, pass: true},
			moment{after: time.Minute, writes: again},
			moment{after: time.Minute, writes: again, stopped: true, wait: 20 * time.Minute},
			// The other controller may have made this change.
			moment{after: time.Minute, changed: true, stopped: true, wait: 4 * time.Second}),
		"a user changes the Service before any stop": {
			{after: 0, changed: true}, {after: 0, writes: again}, {after: 1, changed: true},
		},
	}
	for name, moments := range tests {
		t.Run(name, func(t *testing.T) {
			var s State
			for i, m := range moments {
				now := noon.Add(m.after)
				s = s.wrote(of(m.writes...), now, delays)
				if m.changed {
					s = s.changed(delays)
				}
				if m.pass {
					s = s.resumed(now)
				}
				if wait := s.Wait(now); s.Stopped != m.stopped || wait != m.wait {
					t.Fatalf("moment %d: stopped %t for %v, want %t for %v", i, s.Stopped, wait, m.stopped, m.wait)
				}
			}
		})
	}
}

// Another controller may change fields of users each time that it overwrites ours.
func TestRepairsBecomeRarerIfTheOtherControllerChangesFieldsOfUsersToo(t *testing.T) {
	s, now, repairs := State{}, noon, 0
	for end := noon.Add(24 * time.Hour); now.Before(end); {
		s = s.resumed(now)
		if s.Until.After(now) {
			now = s.Until
			continue
		}
		repairs++
		now = now.Add(time.Millisecond)
		s = s.wrote(of("x"), now, delays).changed(delays)
	}
	// Four repairs before the first stop, then two after each stop, which lasts up to an hour.
	if repairs < 24 || repairs > 80 {
		t.Errorf("%d repairs in a day", repairs)
	}
}

func TestStopsGrowToTheLongest(t *testing.T) {
	s, now := State{}, noon
	var stops []time.Duration
	for range 5 {
		for !s.Stopped {
			s = s.wrote(of("x"), now, delays)
		}
		stops = append(stops, s.Wait(now))
		now = s.Until
		s = s.resumed(now)
	}
	want := []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour}
	if d := cmp.Diff(want, stops); d != "" {
		t.Errorf("stops (-want +got):\n%s", d)
	}
}

func TestWithoutALimitWritesAreIgnored(t *testing.T) {
	var s State
	for range 100 {
		s = s.wrote(of("x"), noon, timing.Delays{})
	}
	if s.Stopped || len(s.writes) > 0 {
		t.Errorf("stopped %t, %d writes kept", s.Stopped, len(s.writes))
	}
}

func TestStateNamesWritesToTheServiceAndRepeatedOnesInTheCloud(t *testing.T) {
	s := State{writes: []Write{
		{Kind: "CreateListener", Texts: []string{"open port TCP/80"}},
		{Kind: OnService, Texts: []string{"status.loadBalancer", "annotation a"}},
		{Kind: "SetMembers", Texts: []string{"set the members"}},
		{Kind: "CreateListener", Texts: []string{"open port TCP/81"}},
		{Kind: OnService, Texts: []string{"finalizer f", "status.loadBalancer"}},
	}}
	all, last := s.Overwritten()
	if d := cmp.Diff([]string{"annotation a", "finalizer f", "status.loadBalancer"}, all); d != "" {
		t.Errorf("overwritten (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"finalizer f", "status.loadBalancer"}, last); d != "" {
		t.Errorf("overwritten last (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"open port TCP/81"}, s.Undone()); d != "" {
		t.Errorf("undone (-want +got):\n%s", d)
	}
	if s.Repeated("SetMembers") || !s.Repeated("CreateListener") {
		t.Errorf("SetMembers is repeated: %t, CreateListener: %t", s.Repeated("SetMembers"), s.Repeated("CreateListener"))
	}
}
