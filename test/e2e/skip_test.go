// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"testing"
)

// A short run on a real cloud spares what another test shows there: that one has to run.
func TestNoTestIsSparedForOneThatIsSparedItself(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	// reasons are, by test, why it does not run; empty where it runs.
	reasons := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && testName.MatchString(f.Name.Name) {
				reasons[f.Name.Name] = reasonToSkip(f)
			}
		}
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
