// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inifile reads the syntax of cloud.conf, which is that of git's configuration files: sections, and keys
// with values. It knows no section and no key.
//
// It is pure.
package inifile

import (
	"bytes"
	"errors"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// ByteOrderMark is what some editors write at the beginning of a file. It is no part of the text.
const ByteOrderMark = "\ufeff"

// Statement is a section header, or one assignment within a section.
type Statement struct {
	// Line counts from 1.
	Line int
	// Section is the section, as written, and Name its subsection, unquoted. Name is empty if there is none.
	Section, Name string
	// Key is as written. It is empty for a header.
	Key string
	// Blank keys have no "=" and no value.
	Blank bool
	// Value is unquoted.
	Value string
	// Doubt is why Value may not be what was meant.
	Doubt Doubt
}

// Parse cuts a file into its statements, or returns all problems of its syntax. Only values of keys for which public
// returns true are shown in problems; public may be asked for keys that do not exist.
//
// gcfg is the judge of the syntax and of every quoted text; what it does not tell is on which line a key stands, and that
// is read off the tokens of its own scanner.
func Parse(text []byte, public func(section, key string) bool) ([]Statement, []Problem) {
	text = []byte(strings.TrimPrefix(string(text), ByteOrderMark))
	if problem := wrongFile(string(text)); problem != "" {
		return nil, []Problem{{Text: problem}}
	}
	if problems := problemsOf(string(text), public); len(problems) > 0 {
		return nil, problems
	}
	r := reader{text: text}
	r.file = token.NewFileSet().AddFile("", 1, len(text))
	r.scanner.Init(r.file, text, nil, 0)
	return r.statements()
}

// reader reads a text whose syntax is correct.
type reader struct {
	text    []byte
	file    *token.File
	scanner scanner.Scanner
}

func (r *reader) statements() ([]Statement, []Problem) {
	var statements []Statement
	var at Statement // the section that later assignments belong to
	pos, tok, lit := r.scanner.Scan()
	for tok != token.EOF {
		line := r.file.Position(pos).Line
		switch tok {
		case token.LBRACK:
			_, _, lit = r.scanner.Scan()
			at = Statement{Line: line, Section: lit}
			_, tok, lit = r.scanner.Scan()
			if tok == token.STRING {
				name, err := unquoteName(lit)
				if err != nil {
					return nil, []Problem{{line, err.Error()}}
				}
				at.Name = name
			}
			statements = append(statements, at)
			pos, tok, lit = r.scanner.Scan()
		case token.IDENT:
			assignment := Statement{Line: line, Section: at.Section, Name: at.Name, Key: lit, Blank: true}
			pos, tok, lit = r.scanner.Scan()
			if tok == token.ASSIGN {
				if err := r.value(&assignment); err != nil {
					return nil, []Problem{{line, err.Error()}}
				}
				pos, tok, lit = r.scanner.Scan()
			}
			statements = append(statements, assignment)
		default:
			pos, tok, lit = r.scanner.Scan()
		}
	}
	return statements, nil
}

// value reads what stands behind the "=" of an assignment.
func (r *reader) value(s *Statement) error {
	pos, _, literal := r.scanner.Scan()
	value, err := unquoteValue(literal)
	if err != nil {
		return err
	}
	s.Blank, s.Value = false, value
	rest := ""
	if end := r.file.Offset(pos) + len(literal); bytes.HasSuffix(r.text[:min(end, len(r.text))], []byte(literal)) { // not if the scanner removed a CR
		line, _, _ := bytes.Cut(r.text[end:], []byte("\n"))
		rest = string(line)
	}
	s.Doubt = doubtOf(literal, value, rest)
	return nil
}

// unquoteValue lets gcfg take quotes, escapes and continued lines out of a value.
func unquoteValue(literal string) (string, error) {
	var one struct{ S struct{ V string } }
	if err := gcfg.ReadStringInto(&one, "[s]\nv ="+literal); err != nil {
		return "", errors.New("the value cannot be read: check its quotes and backslashes")
	}
	return one.S.V, nil
}

// unquoteName lets gcfg do the same to the name of a section.
func unquoteName(literal string) (string, error) {
	var one struct{ S map[string]*struct{} }
	if err := gcfg.ReadStringInto(&one, "[s "+literal+"]"); err != nil {
		return "", errors.New("the name of the section cannot be read: check its quotes and backslashes")
	}
	for name := range one.S {
		return name, nil
	}
	return "", nil
}
