// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testVersions = versions{kubernetes: "v1.36.3", etcd: "v3.6.8"}

// writeBuild makes a finished directory of the versions.
func writeBuild(t *testing.T, dir string, v versions) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range binaries {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(v.etcd), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, stampFile), []byte(v.stamp()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestVersionsComeFromGoMod(t *testing.T) {
	got, err := readVersions("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{got.kubernetes, got.etcd} {
		if !strings.HasPrefix(version, "v") || strings.Count(version, ".") != 2 {
			t.Errorf("%q is not a version", version)
		}
	}
}

func TestGoModWithoutKubernetesIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "go.mod")
	if err := os.WriteFile(path, []byte("module m\nrequire go.etcd.io/etcd/server/v3 v3.6.8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readVersions(path); err == nil {
		t.Errorf("versions %v", got)
	}
}

func TestProgramsAreToldTheirVersion(t *testing.T) {
	flags := testVersions.linkerFlags()
	for _, want := range []string{".gitVersion=v1.36.3 ", ".gitMajor=1 ", ".gitMinor=36 "} {
		if !strings.Contains(flags+" ", want) {
			t.Errorf("no %q in %q", want, flags)
		}
	}
}

func TestBuildIsCompleteOnlyWithAllFilesOfItsVersions(t *testing.T) {
	dir := t.TempDir()
	if complete(dir, testVersions) {
		t.Error("an empty directory is complete")
	}
	writeBuild(t, dir, testVersions)
	if !complete(dir, testVersions) {
		t.Error("a finished build is not complete")
	}
	if complete(dir, versions{kubernetes: "v1.36.3", etcd: "v3.6.9"}) {
		t.Error("a build with another etcd is complete")
	}
	if err := os.Remove(filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	if complete(dir, testVersions) {
		t.Error("a build without kubectl is complete")
	}
}

func TestFinishedBuildReplacesAnOlderOne(t *testing.T) {
	cache := t.TempDir()
	dir, unfinished := filepath.Join(cache, "v1.36.3"), filepath.Join(cache, "unfinished")
	newer := versions{kubernetes: "v1.36.3", etcd: "v3.6.9"}
	for _, v := range []versions{testVersions, newer} {
		writeBuild(t, unfinished, v)
		if err := replace(dir, unfinished); err != nil {
			t.Fatal(err)
		}
		if !complete(dir, v) {
			t.Errorf("the directory is not that of %v", v)
		}
	}
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("something is left: %v", entries)
	}
}

func TestSecondBuildWaitsForTheFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	interrupted, interrupt := context.WithCancel(t.Context())
	interrupt()
	if _, err := lock(interrupted, path); !errors.Is(err, context.Canceled) {
		t.Errorf("the second lock: %v, want it to wait until it is interrupted", err)
	}
	unlock()
	unlock, err = lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
}

func TestFailedBuildShowsWhatTheGoCommandSaid(t *testing.T) {
	var seen []string
	_, err := goCommand(t.Context(), ".", func(line string) bool {
		seen = append(seen, line)
		return false
	}, "build", "./no-such-folder")
	if err == nil || len(seen) == 0 {
		t.Fatalf("error %v, lines %q", err, seen)
	}
	if !strings.Contains(err.Error(), seen[0]) {
		t.Errorf("the error %q does not say %q", err, seen[0])
	}
}

func TestProgressCountsWhatIsStillToBeCompiled(t *testing.T) {
	p := &progress{what: "fetching modules"}
	p.line("go: downloading k8s.io/kubernetes v1.36.3")
	if got, want := p.state(time.Second), "  0 %  fetching modules: 1 so far, 1s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.compiling([]string{"a", "b", "c", "d"})
	for _, line := range []string{"a", "a", "not/in/the/list"} {
		p.line(line)
	}
	if got, want := p.state(90*time.Second), " 24 %  compiling: package 1 of 4, 1m30s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, line := range []string{"b", "c", "d"} {
		p.line(line)
	}
	if got, want := p.state(100*time.Second), " 99 %  linking, 1m40s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if p.line("# k8s.io/kubernetes: undefined: x") {
		t.Error("a compiler's message is taken for progress")
	}
}
