// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"errors"
	"io/fs"
	"net/http"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func answered(status int) []exchange {
	return []exchange{{Call: "GET network /v2.0/ports", Status: status}}
}

// recorded are the recordings of a group in dir, to which the cases have been added by a run
// on a cloud of the release.
func recorded(t *testing.T, dir string, r release, cases map[string][]exchange) {
	t.Helper()
	of, err := loadRecordings(dir, "TestThings", r)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for name, have := range cases {
		of.record(name, have)
		names = append(names, name)
	}
	if err := of.save(names, true); err != nil {
		t.Fatal(err)
	}
}

func TestRecordingsOfAReleaseDefaultToThoseOfTheOneBefore(t *testing.T) {
	dir := t.TempDir()
	recorded(t, dir, release2022, map[string][]exchange{"same": answered(200), "changed": answered(500), "changed back": answered(200)})
	recorded(t, dir, release2025, map[string][]exchange{"same": answered(200), "changed": answered(404), "changed back": answered(201), "new": answered(202)})
	recorded(t, dir, newest, map[string][]exchange{"same": answered(200), "changed": answered(404), "changed back": answered(200), "new": answered(202)})
	for _, c := range []struct {
		release release
		kept    map[string][]exchange
		answers map[string]int
	}{
		{release2022, map[string][]exchange{"same": answered(200), "changed": answered(500), "changed back": answered(200)},
			map[string]int{"same": 200, "changed": 500, "changed back": 200}},
		{release2025, map[string][]exchange{"changed": answered(404), "changed back": answered(201), "new": answered(202)},
			map[string]int{"same": 200, "changed": 404, "changed back": 201, "new": 202}},
		{newest, map[string][]exchange{"changed back": answered(200)},
			map[string]int{"same": 200, "changed": 404, "changed back": 200, "new": 202}},
	} {
		t.Run(string(c.release), func(t *testing.T) {
			of, err := loadRecordings(dir, "TestThings", c.release)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.kept, of.kept); diff != "" {
				t.Errorf("recordings (-want +have):\n%s", diff)
			}
			answers := map[string]int{}
			for _, name := range []string{"same", "changed", "changed back", "new"} {
				if exchanges, known := of.of(name); known {
					answers[name] = exchanges[0].Status
				}
			}
			if diff := cmp.Diff(c.answers, answers); diff != "" {
				t.Errorf("answers (-want +have):\n%s", diff)
			}
		})
	}
}

func TestReleaseThatNoLongerDiffersHasNoRecordings(t *testing.T) {
	dir := t.TempDir()
	recorded(t, dir, release2022, map[string][]exchange{"case": answered(http.StatusOK)})
	recorded(t, dir, release2025, map[string][]exchange{"case": answered(http.StatusNotFound)})
	recorded(t, dir, release2025, map[string][]exchange{"case": answered(http.StatusOK)})
	if _, err := os.Stat(recordingFile(dir, "TestThings", release2025)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its file: %v", err)
	}
}

func TestRecordingsOfRemovedCasesAreRemoved(t *testing.T) {
	dir := t.TempDir()
	recorded(t, dir, release2022, map[string][]exchange{"case": answered(200), "old": answered(200)})
	recorded(t, dir, release2022, map[string][]exchange{"case": answered(200)})
	of, err := loadRecordings(dir, "TestThings", release2022)
	if err != nil {
		t.Fatal(err)
	}
	if _, known := of.of("old"); known {
		t.Error("it is still recorded")
	}
}

func TestReleasesWithoutRecordingsAreRefused(t *testing.T) {
	if _, err := parseRelease("2021.1"); err == nil {
		t.Error("2021.1 is taken")
	}
	if r, err := parseRelease("2025.1"); err != nil || r != release2025 {
		t.Errorf("2025.1 is %q, %v", r, err)
	}
}

func TestCaseRunsOnlyInReleasesWhereItHolds(t *testing.T) {
	for _, c := range []struct {
		says  string
		bound func(func(*try)) func(*try)
		runs  []release
	}{
		{"since 2025.1", func(do func(*try)) func(*try) { return since(release2025, do) }, []release{release2025, newest}},
		{"until 2022.2", func(do func(*try)) func(*try) { return until(release2022, do) }, []release{release2022}},
		{"since 2025.1 until 2025.1", func(do func(*try)) func(*try) { return since(release2025, until(release2025, do)) }, []release{release2025}},
		{"except 2025.1", func(do func(*try)) func(*try) { return except(release2025, do) }, []release{release2022, newest}},
	} {
		var runs []release
		for _, r := range releases {
			t.Run(c.says+" on "+string(r), func(t *testing.T) {
				c.bound(func(*try) { runs = append(runs, r) })(&try{T: t, cloud: &cloud{release: r}})
			})
		}
		if diff := cmp.Diff(c.runs, runs); diff != "" {
			t.Errorf("%s runs on (-want +have):\n%s", c.says, diff)
		}
	}
}
