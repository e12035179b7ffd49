// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// repository is the root of the repository, and previousFile names the commit of the previous release in it.
const (
	repository   = "../.."
	previousFile = "hack/release/previous.txt"
)

// previousCommit returns the commit of the previous release: the only line of the file that is no
// comment.
func previousCommit(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repository, previousFile))
	if err != nil {
		t.Fatal(err)
	}
	var commits []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			commits = append(commits, line)
		}
	}
	if len(commits) != 1 || len(commits[0]) != len("b4d336d49fbcb35af8f18502615563cca5939434") {
		t.Fatalf("%s should have one line with the full hash of a commit, and has %q", previousFile, commits)
	}
	return commits[0]
}

// buildPrevious builds the program of the previous release from the history of git, and returns its path. It is built once for
// each commit, into the directory in which `make kube` has its programs, too. The test is skipped where the history is not there.
func buildPrevious(t *testing.T) string {
	t.Helper()
	commit := previousCommit(t)
	if out, err := exec.CommandContext(t.Context(), "git", "-C", repository, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("this copy of the repository does not have commit %s of %s: fetch the whole history of git. %v: %s", commit, previousFile, err, out)
	}
	root, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(root, ".cache", "previous", commit, "kube-octavia")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	t.Logf("building the program of commit %s", commit)
	source := t.TempDir()
	archive := filepath.Join(t.TempDir(), "source.tar")
	unfinished := program + ".unfinished"
	for _, step := range [][]string{
		{root, "git", "archive", "--format=tar", "--output=" + archive, commit},
		{source, "tar", "-xf", archive},
		{source, "go", "build", "-buildvcs=false", "-o", unfinished, "./cmd/kube-octavia"},
	} {
		command := exec.CommandContext(t.Context(), step[1], step[2:]...)
		command.Dir = step[0]
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("build the program of the previous release: %v: %v\n%s", command, err, out)
		}
	}
	if err := os.Rename(unfinished, program); err != nil {
		t.Fatal(err)
	}
	return program
}
