// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// source is the commit that is built.
type source struct {
	// root is the directory of the repository.
	root    string
	version string
	// revision is the hash of the commit.
	revision string
	// time is the time of the commit, or SOURCE_DATE_EPOCH. It is the time of everything that is
	// built.
	time time.Time
}

// readSource reads the commit in root from git. SOURCE_DATE_EPOCH, in seconds, replaces its time.
func readSource(ctx context.Context, root, version string) (source, error) {
	s := source{root: root, version: version}
	shown, err := git(ctx, root, "show", "--no-patch", "--format=%H %ct", "HEAD")
	if err != nil {
		return s, fmt.Errorf("find the commit to build (run it in a clone of the repository): %w", err)
	}
	revision, seconds, _ := strings.Cut(shown, " ")
	if given := os.Getenv("SOURCE_DATE_EPOCH"); given != "" {
		seconds = given
	}
	epoch, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil || epoch < 0 {
		return s, fmt.Errorf("SOURCE_DATE_EPOCH=%s: it must be a number of seconds since 1970", seconds)
	}
	s.revision, s.time = revision, time.Unix(epoch, 0).UTC()
	return s, nil
}

// requireReleasable returns an error if others could not reproduce a release of this source, or if
// its version is invalid: the version is not a semantic version, files differ from the commit, or
// the tag of the version is another commit.
func (s source) requireReleasable(ctx context.Context) error {
	if !semver.IsValid(s.version) || semver.Canonical(s.version)+semver.Build(s.version) != s.version {
		return fmt.Errorf("VERSION=%s: the version of a release has the form v1.2.3 or v1.2.3-rc.1", s.version)
	}
	changed, err := git(ctx, s.root, "status", "--porcelain")
	if err != nil {
		return err
	}
	if changed != "" {
		return fmt.Errorf("these files differ from the commit, so the release could not be reproduced; commit or remove them:\n%s", changed)
	}
	tagged, err := git(ctx, s.root, "for-each-ref", "--format=%(objectname) %(*objectname)", "refs/tags/"+s.version)
	if err != nil {
		return err
	}
	if tagged != "" && !strings.Contains(tagged, s.revision) {
		return fmt.Errorf("tag %s is not the current commit %s: check out the tag, or choose another VERSION", s.version, s.revision)
	}
	return nil
}

// git runs git in a directory and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	return output(exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...))
}

// output runs a command and returns its output. The error contains its standard error.
func output(command *exec.Cmd) (string, error) {
	out, err := command.Output()
	if err == nil {
		return strings.TrimSpace(string(out)), nil
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w\n%s", err, exit.Stderr)
	}
	return "", fmt.Errorf("%s: %w", strings.Join(command.Args[:2], " "), err)
}
