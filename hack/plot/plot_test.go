// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const results = `{"rows": [
	{"scenario": "create", "controller": "this", "services": 5, "affected": 5, "calls": 20, "limitWrites": 10, "seconds": 31, "limitSeconds": 30},
	{"scenario": "create", "controller": "versus", "services": 5, "affected": 5, "calls": 100, "limitWrites": 10, "seconds": 60, "limitSeconds": 30},
	{"scenario": "idle", "controller": "this", "services": 5, "affected": 5},
	{"scenario": "create", "controller": "this", "services": 10, "affected": 10, "calls": 40, "limitWrites": 20, "seconds": 32, "limitSeconds": 30},
	{"scenario": "create", "controller": "versus", "services": 10, "failure": "it ended"}
]}`

func TestOnlyScenariosOfSeveralSizesAreDrawn(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "results.json")
	if err := os.WriteFile(file, []byte(results), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{file, filepath.Join(dir, "plots")}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(dir, "plots"))
	if err != nil || len(entries) != 2 || entries[0].Name() != "create-calls.svg" || entries[1].Name() != "create-seconds.svg" {
		t.Fatalf("plots: %v, %v", entries, err)
	}
	svg, err := os.ReadFile(filepath.Join(dir, "plots", "create-calls.svg"))
	if err != nil || !strings.Contains(string(svg), "<svg") || !strings.Contains(string(svg), "writes needed") {
		t.Errorf("%v: %.200s", err, svg)
	}
}

func TestLinesHaveAPointForEachSize(t *testing.T) {
	var c chart
	c.add("this", point{5, 4})
	c.add("limit", point{5, 2})
	c.add("limit", point{5, 2})
	c.add("this", point{10, 4})
	want := []line{{"this", []point{{5, 4}, {10, 4}}}, {"limit", []point{{5, 2}}}}
	if !reflect.DeepEqual(c.lines, want) {
		t.Errorf("lines %v", c.lines)
	}
}

func TestNothingToDrawIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(file, []byte(`{"rows": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{file, t.TempDir()}); err == nil {
		t.Error("nothing was drawn without an error")
	}
	if err := run(nil); err == nil {
		t.Error("no arguments are taken")
	}
}
