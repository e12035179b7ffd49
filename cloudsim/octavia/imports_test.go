// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"bytes"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The list of packages in the comment of this one is the order of imports: from above
// to below only. Each package is to be small enough to be read.
func TestPackagesAreSmallAndImportOnlyThoseListedBelowThem(t *testing.T) {
	const mostLines = 2200
	const internal = "github.com/kube-octavia/kube-octavia/cloudsim/octavia"
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	order := []string{"."}
	for _, m := range regexp.MustCompile(`(?m)^//\t(\w+) `).FindAllSubmatch(doc, -1) {
		order = append(order, "internal/"+string(m[1]))
	}
	for _, dir := range order {
		t.Run(dir, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(dir, "*.go"))
			if err != nil || len(files) == 0 {
				t.Fatalf("no files in %s: %v", dir, err)
			}
			lines := 0
			for _, name := range files {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if !strings.HasSuffix(name, "_test.go") {
					lines += bytes.Count(text, []byte("\n"))
				}
				file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
				if err != nil {
					t.Fatal(err)
				}
				for _, spec := range file.Imports {
					to, ours := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), internal)
					to = strings.TrimPrefix(to, "/")
					if ours && slices.Index(order, to) <= slices.Index(order, dir) {
						t.Errorf("%s imports %q, which doc.go does not list below %s", name, to, dir)
					}
				}
			}
			if lines > mostLines {
				t.Errorf("%s has %d lines, and %d are allowed: split it", dir, lines, mostLines)
			}
		})
	}
	if dirs, err := filepath.Glob("internal/*"); err != nil || len(dirs) != len(order)-1 {
		t.Errorf("doc.go lists %d packages, there are %v: %v", len(order)-1, dirs, err)
	}
}
