// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sampleTypes are what the code of the tests uses.
const sampleTypes = `
type color string
const red, blue color = "red", "blue"
type pair struct { name string; n int; ok bool; next *pair; any any; color color }
func use(...any) {}
func join(...string) string { return "" }
func max3(first int, rest ...int) int { return first }
`

// function returns the code of a function with this body.
func function(name, body string) string {
	return "func " + name + "(a, b, c bool, x, y int, s, u string, list []int, p pair, v any, col color) int {\n" + body + "\nreturn 0 }\n"
}

// mutantsOf returns the mutants of a function with this body.
func mutantsOf(t *testing.T, body string) (source string, mutants []*mutant) {
	t.Helper()
	source = "package p\n" + sampleTypes + function("f", body)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "/p/p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	p := &goPackage{ImportPath: "p"}
	info, err := p.check(fset, []*ast.File{file})
	if err != nil {
		t.Fatal(err)
	}
	mutants = find(fset, file, source, info)
	for i, m := range mutants {
		m.number = i + 1
	}
	return source, mutants
}

// codeCases are bodies of functions and their mutants.
var codeCases = []struct {
	name, body string
	want       []string
}{
	{"condition", "if a { use() }", []string{
		"always true: a", "always false: a",
	}},
	{"operands", "if a && !b && (c || x == y) { use() }", []string{
		"always true: a && !b && (c || x == y)", "always false: a && !b && (c || x == y)",
		"without &&: a", "without &&: !b", "without &&: (c || x == y)", "without ||: c", "without ||: x == y",
	}},
	{"boundary", "if x < y { use() }", []string{
		"always true: x < y", "always false: x < y", "<= instead of <: x < y",
	}},
	{"boundary that excludes", "if x >= y { use() }", []string{
		"always true: x >= y", "always false: x >= y", "> instead of >=: x >= y",
	}},
	{"condition of a loop is not made endless", "for x < y { x++ }", []string{
		"always false: x < y", "<= instead of <: x < y",
	}},
	{"loop", "for range list { use(); x = 1 }", []string{
		"removed: for range list { use(); x = 1 }", "removed: use()", "removed: x = 1",
	}},
	{"loop with one statement", "for range list { use() }", []string{
		"removed: for range list { use() }",
	}},
	{"returned boolean", "_ = func() (bool, bool) { return true, x == y }", []string{
		"false instead of true", "always true: x == y", "always false: x == y",
	}},
	{"return before the end of an if", "if a { x = 1; return x }", []string{
		"removed: x = 1", "removed: return x", "always true: a", "always false: a",
	}},
	{"return of an if with else", "if a { x = 1; return x } else { use() }", []string{
		"removed: x = 1", "removed: use()", "always true: a", "always false: a",
	}},
	{"statements", "x = 1; x++; defer use(); _ = x; z := 1; use(z); panic(1)", []string{
		"removed: x = 1", "removed: x++", "removed: defer use()", "removed: use(z)",
	}},
	{"cases that are conditions", "switch { case a: return 1; case b, c: use() }", []string{
		"removed: use()", "always true: a", "always false: a", "always true: b", "always false: b", "always true: c", "always false: c",
	}},
	{"values of cases", "switch x { case 1: use(); case 2, y: return 1; case 3: }", []string{
		"does nothing: case 1", "does nothing: case 2", "does nothing: case y",
	}},
	{"switch at the end of a function", "_ = func() int { switch x { case 1: return 1; default: return 2 } }", nil},
	{"default", "switch x { case 1: use(); default: use() }", []string{
		"does nothing: case 1", "does nothing: default",
	}},
	{"fallthrough", "switch x { case 1: use(); fallthrough; default: }", []string{
		"removed: use()",
	}},
	{"types", "switch w := v.(type) { case int: use(w); case nil, string: use(w) }", []string{
		"does nothing: case int", "does nothing: case nil", "does nothing: case string", "left out: w",
	}},
	{"numbers", "x = len(list) + x*2", []string{
		"removed: x = len(list) + x*2", "- instead of +: len(list) + x*2",
	}},
	{"texts are not numbers", `s = "a" + u`, []string{`removed: s = "a" + u`}},
	{"fields", `p = pair{name: s, n: 3, ok: a, next: &p, any: x, color: red}`, []string{
		"removed: p = pair{name: s, n: 3, ok: a, next: &p, any: x, color: red}",
		"left zero: pair.name: s", "left zero: pair.n: 3", "left zero: pair.next: &p", "left zero: pair.color: red",
		"always true: a", "always false: a",
	}},
	{"fields that are zero, or of which the type is not known", `p = pair{name: "", color: "green", next: nil}`, []string{
		`removed: p = pair{name: "", color: "green", next: nil}`,
	}},
	{"elements", "list = []int{x, y, 3}", []string{
		"removed: list = []int{x, y, 3}",
		"left out: x", "exchanged: x and y", "left out: y", "exchanged: y and 3", "left out: 3",
	}},
	{"arguments", `x = max3(x, y, 2)`, []string{
		"removed: x = max3(x, y, 2)", "left out: y", "exchanged: y and 2", "left out: 2",
	}},
	{"arguments of another type", `x = len(join(s)); use(s, u)`, []string{
		"removed: x = len(join(s))", "removed: use(s, u)", "left out: s",
	}},
	{"append of one element is the statement", "list = append(list, x)", []string{"removed: list = append(list, x)"}},
	{"constants", "const k = 1 < 2; var w = k; use(w)", []string{"removed: use(w)", "always true: w", "always false: w"}},
	{"assigned booleans", "a = b; var pointer = &a; *pointer, p.ok = c, false", []string{
		"removed: a = b", "removed: *pointer, p.ok = c, false", "always true: b", "always false: b", "always true: c", "always false: c", "true instead of false",
	}},
}

func TestMutantsOfCode(t *testing.T) {
	for _, tt := range codeCases {
		t.Run(tt.name, func(t *testing.T) {
			_, mutants := mutantsOf(t, tt.body)
			var got []string
			for _, m := range mutants {
				got = append(got, m.change)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("mutants of %s (-want +got):\n%s", tt.body, diff)
			}
		})
	}
}

func TestMutantsEncloseTheCodeThatTheyChange(t *testing.T) {
	tests := []struct{ name, body, want string }{
		{"condition and operands", "if a || b { use() }",
			"if (mutantOn(1) || ((!mutantOn(2) && ((!mutantOn(3) && (a)) || (!mutantOn(4) && (b)))))) { use() }"},
		{"boundary", "_ = x <= y",
			"_ = (mutantOn(1) || ((!mutantOn(2) && ((x <= y && !(mutantOn(3) && (x) == (y)))))))"},
		{"value of a case", "switch x { case 1, y: use() }",
			"switch x { case 1, y: if !(mutantOn(1) && (x) == (1)) { if !(mutantOn(2) && (x) == (y)) { use() } } }"},
		{"type", "switch v.(type) { case int, string: use() }",
			"switch v.(type) { case int, string: if _, mutantIs := any(v).(int); !(mutantOn(1) && mutantIs) { if _, mutantIs := any(v).(string); !(mutantOn(2) && mutantIs) { use() } } }"},
		{"elements", "_ = []int{x, y}",
			"_ = mutantDrop(1, 0, mutantSwap(2, 0, mutantDrop(3, 1, []int{x, y}...)...)...)"},
		{"arguments", "_ = max3(1, x, y)",
			"_ = max3(1, mutantDrop(1, 0, mutantSwap(2, 0, mutantDrop(3, 1, x, y)...)...)...)"},
		{"field", "_ = pair{name: s}", "_ = pair{name: mutantZero(1, s)}"},
		{"number", "_ = x - y", "_ = mutantPick(1, x - y, (x) + (y))"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			source, mutants := mutantsOf(t, tt.body)
			want := strings.Replace(source, tt.body, tt.want, 1)
			if diff := cmp.Diff(want, apply(source, mutants)); diff != "" {
				t.Errorf("code with mutants (-want +got):\n%s", diff)
			}
		})
	}
}
