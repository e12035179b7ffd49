// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// repository returns a clone with one commit and one file.
func repository(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := writeTo(filepath.Join(dir, "file"), nil); err != nil {
		t.Fatal(err)
	}
	if err := commit(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestBuildTimeIsThatOfTheCommitUnlessSourceDateEpochIsSet(t *testing.T) {
	dir := repository(t)
	for given, want := range map[string]string{"": "2023-11-14T22:13:20Z", "86400": "1970-01-02T00:00:00Z"} {
		t.Run("SOURCE_DATE_EPOCH="+given, func(t *testing.T) {
			t.Setenv("SOURCE_DATE_EPOCH", given)
			s, err := readSource(t.Context(), dir, testVersion)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.time.Format(time.RFC3339); got != want {
				t.Errorf("with SOURCE_DATE_EPOCH=%q the time is %s, want %s", given, got, want)
			}
		})
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if s, err := readSource(t.Context(), dir, testVersion); err == nil || !strings.Contains(err.Error(), "SOURCE_DATE_EPOCH=yesterday") {
		t.Errorf("time %v, error %v", s.time, err)
	}
}

func TestReleaseThatCannotBeReproducedIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, version string
		change        func(t *testing.T, dir string)
		want          string
	}{
		{"a tag of another commit", "v1.2.3", func(t *testing.T, dir string) {
			runGit(t, dir, "tag", "v1.2.3")
			runGit(t, dir, "-c", "user.name=Test", "-c", "user.email=test@example.com", "commit", "--allow-empty", "--message=Next")
		}, "tag v1.2.3 is not the current commit"},
		{"a file that is not committed", "v1.2.3", func(t *testing.T, dir string) {
			if err := os.WriteFile(filepath.Join(dir, "new.go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, "new.go"},
		{"no semantic version", "1.2.3", nil, "VERSION=1.2.3"},
		{"a version without a patch level", "v1.2", nil, "VERSION=v1.2:"},
		{"the tag of the commit", "v1.2.3", func(t *testing.T, dir string) { runGit(t, dir, "tag", "v1.2.3") }, ""},
		{"an annotated tag of the commit", "v1.2.3", func(t *testing.T, dir string) {
			runGit(t, dir, "-c", "user.name=Test", "-c", "user.email=test@example.com", "tag", "--annotate", "--message=Release", "v1.2.3")
		}, ""},
		{"a candidate without a tag", "v1.2.3-rc.1", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := repository(t)
			if c.change != nil {
				c.change(t, dir)
			}
			s, err := readSource(t.Context(), dir, c.version)
			if err != nil {
				t.Fatal(err)
			}
			err = s.requireReleasable(t.Context())
			if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

func TestWrongFlagsAreRefusedBeforeAnythingIsBuilt(t *testing.T) {
	output := filepath.Join(t.TempDir(), "output")
	for _, c := range []struct {
		name string

		args []string
		want string
	}{
		{"no command", nil, "image or release"},
		{"an unknown command", []string{"publish"}, "image or release"},
		{"no output", []string{"image", "-version=v1"}, "-o and -version"},
		{"a platform without an architecture", []string{"image", "-version=v1", "-o", output, "-platforms=linux"}, "PLATFORMS=linux:"},
		{"an image for macOS", []string{"image", "-version=v1", "-o", output, "-platforms=linux/amd64,darwin/arm64"}, "images exist for linux"},
		{"a release without Linux", []string{"release", "-version=v1.2.3", "-o", output, "-platforms=darwin/arm64"}, "needs a platform of linux"},
		{"a wrong name of an image", []string{"image", "-version=v1", "-o", output, "-image=Wrong Name"}, "IMAGE=Wrong Name:"},
		{"a push without a registry", []string{"image", "-version=v1", "-o", output, "-image=kube-octavia:v1", "-push"}, "include the registry"},
		{"an unknown argument", []string{"image", "-version=v1", "-o", output, "more"}, `"more"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := run(t.Context(), c.args, os.Stdout)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: error %v, want %q", c.args, err, c.want)
			}
		})
	}
	if _, err := os.Stat(output); !os.IsNotExist(err) {
		t.Errorf("something was built: %v", err)
	}
}

func TestPlatformsAreListedOnceInTheirOrder(t *testing.T) {
	got, err := parsePlatforms("linux/arm64,linux/amd64,linux/arm64")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]platform{{"linux", "arm64"}, {"linux", "amd64"}}, got, cmp.AllowUnexported(platform{})); diff != "" {
		t.Error(diff)
	}
}

func runGit(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := git(t.Context(), dir, args...); err != nil {
		t.Fatal(err)
	}
}
