// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
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
// to below only.
func TestPackagesImportOnlyThoseThatTheCommentListsBelowThem(t *testing.T) {
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
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", dir, err)
		}
		for _, name := range files {
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
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
	}
	if dirs, err := filepath.Glob("internal/*"); err != nil || len(dirs) != len(order)-1 {
		t.Errorf("doc.go lists %d packages, there are %v: %v", len(order)-1, dirs, err)
	}
}
