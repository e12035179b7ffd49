// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestPackagesImportOnlyThoseThatArchitectureListsBelowThem takes the list of rooms in
// docs/architecture.md for the order: imports point downwards only.
func TestPackagesImportOnlyThoseThatArchitectureListsBelowThem(t *testing.T) {
	const module = "github.com/kube-octavia/kube-octavia/"
	var order []string
	for _, m := range regexp.MustCompile(`(?m)^    (internal/[a-z0-9]+)\s`).FindAllStringSubmatch(read(t, filepath.Join(root, "docs/architecture.md")), -1) {
		order = append(order, m[1])
	}
	files, err := filepath.Glob(filepath.Join(root, "internal/*/*.go"))
	if err != nil || len(files) < 50 {
		t.Fatalf("%d files found: %v", len(files), err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		from := "internal/" + path.Base(path.Dir(filepath.ToSlash(name)))
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			to, ours := strings.CutPrefix(imported, module)
			if ours && slices.Index(order, to) <= slices.Index(order, from) {
				t.Errorf("%s imports %s, which docs/architecture.md does not list below %s", name, to, from)
			}
		}
	}
}
