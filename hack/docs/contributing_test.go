// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// indented are the lines of the indented blocks of a text in Markdown, without the indentation.
func indented(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if unindented, is := strings.CutPrefix(strings.TrimRight(line, "\n"), "    "); is {
			lines = append(lines, unindented)
		}
	}
	return lines
}

// TestTheFirstChangeCanBeMade compares the example in CONTRIBUTING.md with the code: the lines that a newcomer is to find are there, and
// those to write are not.
func TestTheFirstChangeCanBeMade(t *testing.T) {
	section := sectionOf(t, read(t, filepath.Join(root, "CONTRIBUTING.md")), "A first change")
	file, edits := "", 0
	for line := range strings.Lines(section) {
		if named := regexp.MustCompile("`([a-z0-9_/]+\\.go)`").FindStringSubmatch(line); named != nil {
			file = named[1]
		}
		edit := regexp.MustCompile(`^    ([-+ ])\t(.*)\n$`).FindStringSubmatch(line)
		if edit == nil {
			continue
		}
		edits++
		wanted := edit[1] != "+"
		if found := strings.Contains(read(t, filepath.Join(root, file)), "\n\t"+edit[2]+"\n"); found != wanted {
			t.Errorf("line in %s: %v, want %v: %s", file, found, wanted, edit[2])
		}
	}
	if edits < 6 {
		t.Errorf("%d lines of edits found, want 6", edits)
	}
}

// TestTheEndToEndTestThatIsExplainedIsTheRealOne compares the test that docs/testing.md shows line by line with its source.
func TestTheEndToEndTestThatIsExplainedIsTheRealOne(t *testing.T) {
	_, shown, found := strings.Cut(strings.Join(indented(sectionOf(t, read(t, filepath.Join(docsDir, "testing.md")), "Write an end-to-end test")), "\n"), "func ")
	if !found {
		t.Fatal("no function is shown")
	}
	name, _, _ := strings.Cut(shown, "(")
	_, source, found := strings.Cut(read(t, filepath.Join(root, "test/e2e/refusal_test.go")), "\nfunc "+name)
	if !found {
		t.Fatalf("there is no function %s", name)
	}
	source, _, _ = strings.Cut(source, "\n}\n")
	want := strings.ReplaceAll("func "+name+source+"\n}", "\n\n", "\n")
	if diff := cmp.Diff(want, "func "+shown); diff != "" {
		t.Errorf("%s (-code +page):\n%s", name, diff)
	}
}
