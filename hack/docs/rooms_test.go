// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
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

// TestNoRoomIsTooLarge counts the lines of each package below internal, without tests.
func TestNoRoomIsTooLarge(t *testing.T) {
	const most = 2000
	lines := map[string]int{}
	files, err := filepath.Glob(filepath.Join(root, "internal/*/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, "_test.go") {
			lines[path.Dir(filepath.ToSlash(name))] += strings.Count(read(t, name), "\n")
		}
	}
	for room, n := range lines {
		if n > most {
			t.Errorf("%s has %d lines, and %d are allowed: split it", room, n, most)
		}
	}
}

// TestFunctionsFitAScreenAndStateFitsAGlance measures the functions and structs of the product.
func TestFunctionsFitAScreenAndStateFitsAGlance(t *testing.T) {
	const mostLines, mostFields = 60, 15
	// Settings, which Load and Parse set and nobody changes, and documents of APIs.
	exempt := []string{"annotation.Options", "config.Global", "config.LoadBalancer", "timing.Delays", "lb.LoadBalancer",
		"octavia.listenerDocument", "octavia.loadBalancerDocument"}
	files, err := filepath.Glob(filepath.Join(root, "internal/*/*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		positions := token.NewFileSet()
		file, err := parser.ParseFile(positions, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if lines := positions.Position(n.End()).Line - positions.Position(n.Pos()).Line + 1; lines > mostLines {
					t.Errorf("%s: %s has %d lines, and %d are allowed", name, n.Name, lines, mostLines)
				}
			case *ast.TypeSpec:
				s, is := n.Type.(*ast.StructType)
				if of := file.Name.Name + "." + n.Name.Name; is && s.Fields.NumFields() > mostFields && !slices.Contains(exempt, of) {
					t.Errorf("%s: struct %s has %d fields, and %d are allowed", name, of, s.Fields.NumFields(), mostFields)
				}
			}
			return true
		})
	}
}
