// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/kube-octavia/kube-octavia/"

// folders returns the folders of internal in the order of the table in docs/architecture.md.
func folders(t *testing.T) (order []string) {
	t.Helper()
	page := read(t, filepath.Join(root, "docs/architecture.md"))
	_, table, found := strings.Cut(page, "| folder of `internal/` | holds |")
	if !found {
		t.Fatal("docs/architecture.md has no table of the folders of internal")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z]+)` \\|").FindAllStringSubmatch(table, -1) {
		order = append(order, m[1])
	}
	return order
}

// source is a file of Go that is not a test: its directory below internal, and what it imports.
type source struct {
	name, directory string
	imports         []string
}

// sources returns all files below internal, however deep.
func sources(t *testing.T) (all []source) {
	t.Helper()
	internal := filepath.Join(root, "internal")
	err := filepath.WalkDir(internal, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		directory, err := filepath.Rel(internal, filepath.Dir(name))
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{name: name, directory: filepath.ToSlash(directory)}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		all = append(all, s)
		return nil
	})
	if err != nil || len(all) < 50 {
		t.Fatalf("%d files found: %v", len(all), err)
	}
	return all
}

// folderOf returns the folder of a directory below internal.
func folderOf(directory string) string {
	folder, _, _ := strings.Cut(directory, "/")
	return folder
}

func TestFoldersImportOnlyThoseThatArchitectureListsBelowThem(t *testing.T) {
	order := folders(t)
	for _, s := range sources(t) {
		from := folderOf(s.directory)
		for _, imported := range s.imports {
			directory, isInternal := strings.CutPrefix(imported, module+"internal/")
			if !isInternal {
				continue
			}
			to := folderOf(directory)
			if to != from && slices.Index(order, to) <= slices.Index(order, from) {
				t.Errorf("%s imports %s, but docs/architecture.md lists %s above %s", s.name, imported, to, from)
			}
		}
	}
}

// The model of a load balancer must not depend on how it is read or written.
func TestTheModelImportsNeitherClientsNorTheSimulator(t *testing.T) {
	for _, s := range sources(t) {
		if folderOf(s.directory) != "model" {
			continue
		}
		for _, imported := range s.imports {
			own := strings.HasPrefix(imported, module) && !strings.HasPrefix(imported, module+"internal/model/")
			client := strings.HasPrefix(imported, "k8s.io/client-go") || strings.HasPrefix(imported, "sigs.k8s.io/") ||
				strings.HasPrefix(imported, "github.com/gophercloud/")
			if own || client {
				t.Errorf("%s imports %s", s.name, imported)
			}
		}
	}
}

// perKind are the packages of a pass that may know Services: the adapter, what decides whose a Service is, what publishes
// its status, and what exists for Services only.
var perKind = []string{"service", "claim", "status", "readiness"}

// Any kind of object may own a load balancer, so what a pass decides must not depend on Services.
func TestPassesAndTheModelDoNotNameServicesOfKubernetes(t *testing.T) {
	checked := 0
	for _, s := range sources(t) {
		folder, name, _ := strings.Cut(s.directory, "/")
		if folder != "model" && (folder != "reconcile" || slices.Contains(perKind, name)) {
			continue
		}
		checked++
		file, err := parser.ParseFile(token.NewFileSet(), s.name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			selector, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if from, named := selector.X.(*ast.Ident); named && from.Name == "corev1" && (selector.Sel.Name == "Service" || selector.Sel.Name == "ServiceList") {
				t.Errorf("%s names corev1.%s; it gets a claim.Owner or a desired.Spec", s.name, selector.Sel.Name)
			}
			return true
		})
	}
	if checked < 50 {
		t.Errorf("only %d files were checked", checked)
	}
}

func TestArchitectureListsEveryPackageBelowItsFolder(t *testing.T) {
	want := map[string][]string{}
	for _, s := range sources(t) {
		folder, name, below := strings.Cut(s.directory, "/")
		if below && !slices.Contains(want[folder], name) {
			want[folder] = append(want[folder], name)
		}
	}
	for _, names := range want {
		slices.Sort(names)
	}
	page := read(t, filepath.Join(root, "docs/architecture.md"))
	got := map[string][]string{}
	section := regexp.MustCompile(`(?m)^\*\*([a-z]+)\*\*\n\n((?:    .*\n)+)`)
	for _, m := range section.FindAllStringSubmatch(page, -1) {
		for line := range strings.Lines(m[2]) {
			got[m[1]] = append(got[m[1]], strings.Fields(line)[0])
		}
		slices.Sort(got[m[1]])
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages that docs/architecture.md lists (-code +page):\n%s", diff)
	}
}
