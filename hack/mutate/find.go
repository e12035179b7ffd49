// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// finder finds the mutants of a file. Every mutant encloses code, so that all mutants of a file can be inserted at the
// same time. Code that encloses other code is visited first.
type finder struct {
	fset    *token.FileSet
	source  string
	info    *types.Info
	mutants []*mutant
	// done are boolean expressions whose mutants were found with those of the expression that they are part of, or
	// that must not be changed because they are assigned to.
	done map[ast.Expr]bool
}

// find returns the mutants of a file, in the order of their places.
func find(fset *token.FileSet, file *ast.File, source string, info *types.Info) []*mutant {
	f := &finder{fset: fset, source: source, info: info, done: map[ast.Expr]bool{}}
	ast.Inspect(file, f.visit)
	return f.mutants
}

// add adds a mutant that encloses a part of the file. It is reported at place.
func (f *finder) add(place, start, end token.Pos, open, close, change string, args ...any) {
	position := f.fset.Position(place)
	name := position.Filename
	f.mutants = append(f.mutants, &mutant{
		file: name[strings.LastIndexByte(name, '/')+1:], line: position.Line, column: position.Column,
		start: f.fset.Position(start).Offset, end: f.fset.Position(end).Offset,
		open: open, close: close, change: fmt.Sprintf(change, args...),
	})
}

// code returns the source of a part of the file.
func (f *finder) code(n ast.Node) string {
	return f.source[f.fset.Position(n.Pos()).Offset:f.fset.Position(n.End()).Offset]
}

// quote returns the source of a part of the file as it is reported: in one line, not too long.
func (f *finder) quote(n ast.Node) string {
	const limit = 100
	text := []rune(strings.Join(strings.Fields(f.code(n)), " "))
	if len(text) > limit {
		text = append(text[:limit], '…')
	}
	return string(text)
}

// visit finds the mutants of a node. It returns false if those of its parts are not wanted.
func (f *finder) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GenDecl:
		return n.Tok == token.VAR // constants stay constant
	case *ast.FuncDecl:
		f.statements(n.Body)
	case *ast.FuncLit:
		f.statements(n.Body)
	case *ast.AssignStmt:
		for _, e := range n.Lhs {
			f.done[e] = true
		}
		if call, ok := n.Rhs[0].(*ast.CallExpr); ok && len(call.Args) == 2 && isCallOf(call, "append") {
			f.done[call] = true // without the only element, nothing is appended, as without the statement
		}
	case *ast.IfStmt:
		f.ifStatement(n)
	case *ast.ForStmt:
		f.forStatement(n)
	case *ast.RangeStmt:
		f.done[n.Key], f.done[n.Value] = true, true
		f.loopBody(n.Body)
	case *ast.SwitchStmt:
		f.switchStatement(n)
	case *ast.TypeSwitchStmt:
		f.typeSwitch(n)
	case *ast.CommClause:
		f.list(n.Body, false)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			f.done[n.X] = true
		}
	case *ast.KeyValueExpr:
		f.done[n.Key] = true
	}
	e, ok := n.(ast.Expr)
	if !ok {
		return true
	}
	f.condition(e, true)
	switch e := e.(type) {
	case *ast.BinaryExpr:
		f.arithmetic(e)
	case *ast.CallExpr:
		f.arguments(e)
	case *ast.CompositeLit:
		f.composite(e)
	}
	return true
}

// statements finds the mutants that remove a statement of a function or of another block that always runs.
func (f *finder) statements(block *ast.BlockStmt) {
	if block != nil {
		f.list(block.List, false)
	}
}

// list finds the mutants that remove a statement of a list, also a return if the function can go on after the list.
func (f *finder) list(list []ast.Stmt, returns bool) {
	for _, s := range list {
		if block, ok := s.(*ast.BlockStmt); ok {
			f.list(block.List, false)
		}
		if removable(s) || isReturn(s) && returns && len(list) > 1 {
			f.add(s.Pos(), s.Pos(), s.End(), "if !# { ", " }", "removed: %s", f.quote(s))
		}
	}
}

// removable reports whether the code compiles without a statement. Declarations are not removed, because what they
// declare is used.
func removable(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		blank := func(e ast.Expr) bool {
			name, ok := e.(*ast.Ident)
			return ok && name.Name == "_"
		}
		return s.Tok != token.DEFINE && slices.ContainsFunc(s.Lhs, func(e ast.Expr) bool { return !blank(e) })
	case *ast.ExprStmt:
		return !isPanic(s)
	case *ast.BranchStmt:
		return s.Tok == token.BREAK || s.Tok == token.CONTINUE
	case *ast.IncDecStmt, *ast.SendStmt, *ast.GoStmt, *ast.DeferStmt, *ast.RangeStmt:
		return true
	}
	return false
}

func isReturn(s ast.Stmt) bool {
	_, ok := s.(*ast.ReturnStmt)
	return ok
}

func isPanic(s ast.Stmt) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	return ok && isCallOf(call, "panic")
}

// isCallOf reports whether the call is one of a function of the language.
func isCallOf(call *ast.CallExpr, builtin string) bool {
	name, ok := call.Fun.(*ast.Ident)
	return ok && name.Name == builtin
}

// ifStatement finds the mutants that remove a statement of its blocks. Without its only statement, an if without else
// is the same as one whose condition is always false.
func (f *finder) ifStatement(s *ast.IfStmt) {
	if s.Else != nil || len(s.Body.List) > 1 {
		f.list(s.Body.List, s.Else == nil)
	}
	if block, ok := s.Else.(*ast.BlockStmt); ok {
		f.list(block.List, false)
	}
}

// forStatement does not find the mutant whose condition is always true, because it never ends.
func (f *finder) forStatement(s *ast.ForStmt) {
	if s.Cond == nil {
		f.list(s.Body.List, false)
		return
	}
	f.condition(s.Cond, false)
	f.loopBody(s.Body)
}

// loopBody finds the mutants that remove a statement of a loop. Without its only statement, the loop is the same as one
// that does not run.
func (f *finder) loopBody(body *ast.BlockStmt) {
	if len(body.List) > 1 {
		f.list(body.List, true)
	}
}

// switchStatement finds the mutants of a switch. The cases of one without a tag are conditions, so they only lose
// statements here.
func (f *finder) switchStatement(s *ast.SwitchStmt) {
	mayEnd := hasDefault(s.Body)
	for _, c := range s.Body.List {
		clause := c.(*ast.CaseClause)
		if s.Tag == nil {
			f.list(clause.Body, !mayEnd)
			continue
		}
		f.clause(clause, mayEnd, func(value ast.Expr) (string, string) {
			return "", fmt.Sprintf("(%s) == (%s)", f.code(s.Tag), f.code(value))
		})
	}
}

func (f *finder) typeSwitch(s *ast.TypeSwitchStmt) {
	var name string
	switch assign := s.Assign.(type) {
	case *ast.AssignStmt:
		name = assign.Lhs[0].(*ast.Ident).Name
	case *ast.ExprStmt:
		name = f.code(assign.X.(*ast.TypeAssertExpr).X)
	}
	mayEnd := hasDefault(s.Body)
	for _, c := range s.Body.List {
		f.clause(c.(*ast.CaseClause), mayEnd, func(value ast.Expr) (string, string) {
			if f.info.Types[value].IsNil() {
				return "", name + " == nil"
			}
			return fmt.Sprintf("_, mutantIs := any(%s).(%s); ", name, f.code(value)), "mutantIs"
		})
	}
}

func hasDefault(body *ast.BlockStmt) bool {
	return slices.ContainsFunc(body.List, func(s ast.Stmt) bool { return s.(*ast.CaseClause).List == nil })
}

// clause finds the mutants in which a case does nothing, for each of its values, and those that remove one of its
// statements. is returns the statement and the expression that compare the tag of the switch with a value. If a switch
// has a default, a function can end with it. Then no case may lose its return.
func (f *finder) clause(c *ast.CaseClause, mayEnd bool, is func(value ast.Expr) (string, string)) {
	if len(c.Body) == 0 {
		return
	}
	last := c.Body[len(c.Body)-1]
	branch, branches := last.(*ast.BranchStmt)
	ends := isReturn(last) || isPanic(last)
	if ends && mayEnd || branches && branch.Tok == token.FALLTHROUGH {
		f.list(c.Body, false)
		return
	}
	start, end := c.Body[0].Pos(), last.End()
	switch {
	case c.List == nil:
		f.add(c.Pos(), start, end, "if !# { ", " }", "does nothing: default")
	case len(c.List) == 1:
		f.add(c.Pos(), start, end, "if !# { ", " }", "does nothing: case %s", f.quote(c.List[0]))
	default:
		for _, value := range c.List {
			statement, equal := is(value)
			f.add(value.Pos(), start, end, "if "+statement+"!(# && "+equal+") { ", " }", "does nothing: case %s", f.quote(value))
		}
	}
	if len(c.Body) > 1 {
		f.list(c.Body, !mayEnd)
	}
}

// condition finds the mutants of a boolean expression: it is always true or always false, it loses an operand, or it
// compares in another way. Those that negate it, or exchange && and ||, are not needed: tests that kill these kill them.
func (f *finder) condition(e ast.Expr, always bool) {
	if f.done[e] || !f.isBoolean(e) {
		return
	}
	f.done[e] = true
	value := f.info.Types[e].Value
	if value != nil && !isLiteral(e) {
		return
	}
	switch {
	case value == nil:
		if always {
			f.add(e.Pos(), e.Pos(), e.End(), "(# || (", "))", "always true: %s", f.quote(e))
		}
		f.add(e.Pos(), e.Pos(), e.End(), "(!# && (", "))", "always false: %s", f.quote(e))
	case constant.BoolVal(value):
		f.add(e.Pos(), e.Pos(), e.End(), "(!# && ", ")", "false instead of true")
	default:
		f.add(e.Pos(), e.Pos(), e.End(), "(# || ", ")", "true instead of false")
	}
	f.operands(e)
}

// isBoolean reports whether an expression is a value of the type bool itself.
func (f *finder) isBoolean(e ast.Expr) bool {
	t, known := f.info.Types[e]
	return known && t.IsValue() && (t.Type == types.Typ[types.Bool] || t.Type == types.Typ[types.UntypedBool])
}

// isLiteral reports whether an expression is true or false, and not the name of another constant.
func isLiteral(e ast.Expr) bool {
	name, ok := e.(*ast.Ident)
	return ok && (name.Name == "true" || name.Name == "false")
}

// operands finds the mutants of the parts of a boolean expression.
func (f *finder) operands(e ast.Expr) {
	f.done[e] = true
	switch e := e.(type) {
	case *ast.ParenExpr:
		if f.isBoolean(e.X) {
			f.operands(e.X)
		}
	case *ast.UnaryExpr:
		if e.Op == token.NOT && f.isBoolean(e.X) {
			f.operands(e.X)
		}
	case *ast.BinaryExpr:
		switch e.Op {
		case token.LAND, token.LOR:
			for _, operand := range f.chain(e, e.Op) {
				if !f.isBoolean(operand) || f.info.Types[operand].Value != nil {
					continue
				}
				open := "(# || ("
				if e.Op == token.LOR {
					open = "(!# && ("
				}
				f.add(operand.Pos(), operand.Pos(), operand.End(), open, "))", "without %s: %s", e.Op, f.quote(operand))
				f.operands(operand)
			}
		case token.LSS, token.LEQ, token.GTR, token.GEQ:
			f.boundary(e)
		}
	}
}

// chain returns the operands of a && b && c.
func (f *finder) chain(e ast.Expr, op token.Token) []ast.Expr {
	binary, ok := e.(*ast.BinaryExpr)
	if !ok || binary.Op != op {
		return []ast.Expr{e}
	}
	f.done[e] = true
	return append(f.chain(binary.X, op), f.chain(binary.Y, op)...)
}

// boundary finds the mutant that exchanges < and <=, or > and >=.
func (f *finder) boundary(e *ast.BinaryExpr) {
	if f.info.Types[e].Value != nil {
		return
	}
	other := map[token.Token]token.Token{token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR}[e.Op]
	equal := fmt.Sprintf("(%s) == (%s)", f.code(e.X), f.code(e.Y))
	close := " || # && " + equal + ")"
	if e.Op == token.LEQ || e.Op == token.GEQ {
		close = " && !(# && " + equal + "))"
	}
	f.add(e.OpPos, e.Pos(), e.End(), "(", close, "%s instead of %s: %s", other, e.Op, f.quote(e))
}

// arithmetic finds the mutant that exchanges + and - of numbers.
func (f *finder) arithmetic(e *ast.BinaryExpr) {
	other := map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD}[e.Op]
	t := f.info.Types[e]
	if other == token.ILLEGAL || t.Value != nil || t.Type == nil {
		return
	}
	basic, ok := t.Type.Underlying().(*types.Basic)
	if !ok || basic.Info()&types.IsNumeric == 0 {
		return
	}
	f.add(e.OpPos, e.Pos(), e.End(), "mutantPick(@, ", fmt.Sprintf(", (%s) %s (%s))", f.code(e.X), other, f.code(e.Y)), "%s instead of %s: %s", other, e.Op, f.quote(e))
}

// arguments finds the mutants that exchange two neighbours of a variadic function's arguments, or leave one out.
func (f *finder) arguments(call *ast.CallExpr) {
	signature, ok := f.info.Types[call.Fun].Type.(*types.Signature)
	if !ok || !signature.Variadic() || call.Ellipsis.IsValid() {
		return
	}
	first := signature.Params().Len() - 1
	if len(call.Args) <= first {
		return
	}
	slice, ok := signature.Params().At(first).Type().(*types.Slice)
	if !ok || f.done[call] {
		return
	}
	list := call.Args[first:]
	for _, e := range list {
		t := f.info.Types[e]
		if t.Type == nil || t.IsNil() || !types.Identical(t.Type, slice.Elem()) || f.untyped(e) {
			return // the type of the elements could not be inferred
		}
	}
	f.elements(list, list[0].Pos(), list[len(list)-1].End(), ")...")
}

// elements finds the mutants that exchange two neighbours of a list, or leave an element out. The list is from start to
// end, and close ends the call that encloses it.
func (f *finder) elements(list []ast.Expr, start, end token.Pos, close string) {
	for i, e := range list {
		f.add(e.Pos(), start, end, fmt.Sprintf("mutantDrop(@, %d, ", i), close, "left out: %s", f.quote(e))
		if i+1 < len(list) {
			f.add(e.Pos(), start, end, fmt.Sprintf("mutantSwap(@, %d, ", i), close, "exchanged: %s and %s", f.quote(e), f.quote(list[i+1]))
		}
	}
}

// untyped reports whether the type of a constant follows from where it is used. Then that of a generic function's
// argument cannot be inferred, except for the types that such constants have by default.
func (f *finder) untyped(e ast.Expr) bool {
	t := f.info.Types[e]
	if t.Value == nil || t.Type == types.Typ[types.String] || t.Type == types.Typ[types.Int] {
		return false
	}
	var name *ast.Ident
	switch e := e.(type) {
	case *ast.Ident:
		name = e
	case *ast.SelectorExpr:
		name = e.Sel
	default:
		return true
	}
	declared, ok := f.info.Uses[name].(*types.Const)
	if !ok {
		return true
	}
	basic, ok := declared.Type().(*types.Basic)
	return ok && basic.Info()&types.IsUntyped != 0
}

// composite finds the mutants that leave a field of a struct zero, or an element of a slice out.
func (f *finder) composite(lit *ast.CompositeLit) {
	t := f.info.Types[lit].Type
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem() // an element &T{} of a slice, in which &T is left out
	}
	switch t := t.Underlying().(type) {
	case *types.Struct:
		for i, e := range lit.Elts {
			value, field := e, i
			if pair, ok := e.(*ast.KeyValueExpr); ok {
				value = pair.Value
				field = indexOfField(t, f.code(pair.Key))
			}
			f.field(lit, value, t.Field(field))
		}
	case *types.Slice:
		f.slice(lit)
	}
}

func indexOfField(t *types.Struct, name string) int {
	for i := range t.NumFields() {
		if t.Field(i).Name() == name {
			return i
		}
	}
	return 0
}

func (f *finder) field(lit *ast.CompositeLit, value ast.Expr, field *types.Var) {
	t := f.info.Types[value]
	// The fields of interface types are left alone, because the zero value of what they hold is not their zero value.
	if t.Type == nil || t.IsNil() || f.isBoolean(value) || !types.Identical(t.Type, field.Type()) || types.IsInterface(field.Type()) || f.untyped(value) {
		return
	}
	if t.Value != nil && isZero(t.Value) {
		return
	}
	name := cmp.Or(f.typeName(lit), "struct") + "." + field.Name()
	f.add(value.Pos(), value.Pos(), value.End(), "mutantZero(@, ", ")", "left zero: %s: %s", name, f.quote(value))
}

// typeName returns the type of a composite literal as it is written, or "" if it follows from where it is used.
func (f *finder) typeName(lit *ast.CompositeLit) string {
	if lit.Type == nil {
		return ""
	}
	return f.quote(lit.Type)
}

func isZero(v constant.Value) bool {
	switch v.Kind() {
	case constant.String:
		return constant.StringVal(v) == ""
	case constant.Int, constant.Float:
		return constant.Sign(v) == 0
	}
	return false
}

// slice finds the mutants that exchange two neighbours of a slice's elements, or leave one out.
func (f *finder) slice(lit *ast.CompositeLit) {
	keyed := slices.ContainsFunc(lit.Elts, func(e ast.Expr) bool {
		_, ok := e.(*ast.KeyValueExpr)
		return ok
	})
	if keyed || lit.Type == nil || f.done[lit] {
		return
	}
	f.elements(lit.Elts, lit.Pos(), lit.End(), "...)")
}
