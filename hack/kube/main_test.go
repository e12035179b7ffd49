// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var testVersions = versions{kubernetes: "v1.36.3", etcd: "v3.6.8"}

// writeBuild creates a finished directory of the versions.
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

func TestARequestedVersionIsARelease(t *testing.T) {
	listed := []string{"v1.35.9", "v1.35.10", "v1.35.11-rc.0", "v1.350.12"}
	for _, test := range []struct {
		name, requested, want string
	}{
		{"a release", "1.30.2", "v1.30.2"},
		{"a release with the leading v", "v1.30.2", "v1.30.2"},
		{"a preview", "1.37.0-rc.1", "v1.37.0-rc.1"},
		{"the minor version of go.mod: its release there", "1.36", "v1.36.3"},
		{"a minor version that gets no more releases: its last one", "1.28", "v1.28.15"},
		{"another minor version: the newest release, and no preview", "v1.35", "v1.35.10"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := resolve(test.requested, testVersions.kubernetes, func() ([]string, error) { return listed, nil })
			if err != nil || got != test.want {
				t.Errorf("got %s and %v, want %s", got, err, test.want)
			}
		})
	}
}

func TestARequestThatIsNoVersionIsAnError(t *testing.T) {
	for _, requested := range []string{"latest", "1", "2.1", "1.28.x", "1.28 ", "../1.28.1", "1.34"} {
		t.Run(fmt.Sprintf("%q", requested), func(t *testing.T) {
			if got, err := resolve(requested, testVersions.kubernetes, func() ([]string, error) { return nil, nil }); err == nil {
				t.Errorf("it is taken for %s", got)
			}
		})
	}
	unreachable := errors.New("the proxy does not answer")
	if _, err := resolve("1.34", testVersions.kubernetes, func() ([]string, error) { return nil, unreachable }); !errors.Is(err, unreachable) {
		t.Errorf("got %v, want what the proxy said", err)
	}
}

func FuzzARequestedVersionNamesOneFolderOfTheCache(f *testing.F) {
	for _, requested := range []string{"1.28", "v1.28.15", "1.37.0-rc.1", "1.28/..", "..", ""} {
		f.Add(requested)
	}
	f.Fuzz(func(t *testing.T, requested string) {
		release, err := resolve(requested, testVersions.kubernetes, func() ([]string, error) { return nil, nil })
		if err == nil && (!strings.HasPrefix(release, "v1.") || release != filepath.Base(release)) {
			t.Errorf("%q names %q", requested, release)
		}
	})
}

func TestLibrariesOfKubernetesHaveTheVersionInWhichTheyArePublished(t *testing.T) {
	got, err := module("v1.28.15", []byte(`{"Module": {"Path": "k8s.io/kubernetes"}, "Go": "1.20", "Replace": [
		{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
		{"Old": {"Path": "example.com/a", "Version": "v1.0.0"}, "New": {"Path": "example.com/b", "Version": "v1.2.3"}}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := `module kubernetes.invalid/build

go 1.20

require k8s.io/kubernetes v1.28.15

replace k8s.io/api => k8s.io/api v0.28.15

replace example.com/a v1.0.0 => example.com/b v1.2.3
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAModuleThatCannotBeBuiltElsewhereIsAnError(t *testing.T) {
	for name, test := range map[string]struct{ kubernetes, goMod string }{
		"no JSON":                                {"v1.28.15", `module k8s.io/kubernetes`},
		"no line about Go":                       {"v1.28.15", `{}`},
		"a Kubernetes with another major":        {"v2.0.0", `{"Go": "1.20"}`},
		"a replacement that only a checkout has": {"v1.28.15", `{"Go": "1.20", "Replace": [{"Old": {"Path": "k8s.io/api"}, "New": {"Path": "../api"}}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := module(test.kubernetes, []byte(test.goMod)); err == nil {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestProgramsAreBuiltWithTheirVersion(t *testing.T) {
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

func TestProgressCountsThePackagesStillToBeCompiled(t *testing.T) {
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
