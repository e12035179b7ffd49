// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

// A short run on a real cloud spares what another test shows there: that one has to run.
func TestNoTestIsSkippedInFavourOfASkippedOne(t *testing.T) {
	// reasons are, by test, why it does not run; empty where it runs.
	reasons := map[string]string{}
	for _, f := range testsOfThePackage(t) {
		reasons[f.Name.Name] = reasonToSkip(f)
	}
	named := 0
	for test, reason := range reasons {
		for _, other := range testName.FindAllString(reason, -1) {
			named++
			if why, exists := reasons[other]; !exists || why != "" {
				t.Errorf("%s is spared for %s, which is there: %t, and is spared itself: %q", test, other, exists, why)
			}
		}
	}
	if named == 0 {
		t.Error("no reason names a test: they are not found")
	}
}

// testsOfThePackage returns the test functions of this package.
func testsOfThePackage(t *testing.T) (tests []*ast.FuncDecl) {
	t.Helper()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && testName.MatchString(f.Name.Name) {
				tests = append(tests, f)
			}
		}
	}
	return tests
}

var testName = regexp.MustCompile(`\bTest[A-Z]\w+`)

// reasonToSkip returns what a test says to skipOnRealOpenStack or simulatorOnly about all of itself.
func reasonToSkip(f *ast.FuncDecl) string {
	for _, statement := range f.Body.List {
		expression, ok := statement.(*ast.ExprStmt)
		if !ok {
			continue
		}
		call, ok := expression.X.(*ast.CallExpr)
		if !ok || len(call.Args) != 2 {
			continue
		}
		if name, ok := call.Fun.(*ast.Ident); ok && (name.Name == "skipOnRealOpenStack" || name.Name == "simulatorOnly") {
			return call.Args[1].(*ast.BasicLit).Value
		}
	}
	return ""
}

// Tests about packets skip themselves without packets, so one that the lane with OVN does not choose runs nowhere, and nothing
// says so.
func TestEachTestThatNeedsPacketsRunsWithOVN(t *testing.T) {
	script, err := os.ReadFile("../../hack/openstack/test.sh")
	if err != nil {
		t.Fatal(err)
	}
	chosen := regexp.MustCompile(`(?m)^PACKETS='(.*)'$`).FindSubmatch(script)
	if chosen == nil {
		t.Fatal("hack/openstack/test.sh does not choose tests")
	}
	withOVN := regexp.MustCompile(string(chosen[1]))
	found := 0
	for _, f := range testsOfThePackage(t) {
		if !callsNeedsPackets(f) {
			continue
		}
		found++
		if !withOVN.MatchString(f.Name.Name) {
			t.Errorf("PACKETS in hack/openstack/test.sh does not choose %s, which needs packets", f.Name.Name)
		}
	}
	if found == 0 {
		t.Error("no test needs packets: they are not found")
	}
}

// callsNeedsPackets reports whether the test skips itself without packets.
func callsNeedsPackets(f *ast.FuncDecl) (needs bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, ok := call.Fun.(*ast.Ident)
			needs = needs || ok && name.Name == "needsPackets"
		}
		return true
	})
	return needs
}
