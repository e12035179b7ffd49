// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inifile parses the syntax of cloud.conf, which is that of git's configuration files: sections, and
// keys with values. It does not depend on specific sections or keys. The package is pure.
package inifile

import (
	"bytes"
	"errors"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

// ByteOrderMark is written by some editors at the beginning of a file. It is not part of the text.
const ByteOrderMark = "\ufeff"

// Statement is a section header, or one assignment within a section.
type Statement struct {
	// Line is counted from 1.
	Line int
	// Section is the section as written, and Name its subsection, unquoted, or empty.
	Section, Name string
	// Key is the key as written. It is empty for a header.
	Key string
	// Blank is true for a key without "=" and value.
	Blank bool
	// Value is the unquoted value.
	Value string
	// Doubt describes why Value may differ from what was intended.
	Doubt Doubt
}

// Parse splits a file into its statements, or returns all problems of its syntax. Problems show only values of keys
// for which public returns true; public may be called for keys that do not exist.
//
// gcfg checks the syntax and parses every quoted text. It does not return the line of a key, so the lines come from the
// tokens of its scanner.
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

// reader reads a text with valid syntax.
type reader struct {
	text    []byte
	file    *token.File
	scanner scanner.Scanner
}

func (r *reader) statements() ([]Statement, []Problem) {
	var statements []Statement
	var at Statement // the section of the next assignments
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

// value reads the value after the "=" of an assignment.
func (r *reader) value(s *Statement) error {
	pos, _, literal := r.scanner.Scan()
	value, err := unquoteValue(literal)
	if err != nil {
		return err
	}
	s.Blank, s.Value = false, value
	rest := ""
	if end := r.file.Offset(pos) + len(literal); bytes.HasSuffix(r.text[:min(end, len(r.text))], []byte(literal)) { // unless the scanner removed a CR
		line, _, _ := bytes.Cut(r.text[end:], []byte("\n"))
		rest = string(line)
	}
	s.Doubt = doubtOf(literal, value, rest)
	return nil
}

// unquoteValue uses gcfg to resolve quotes, escapes and continued lines of a value.
func unquoteValue(literal string) (string, error) {
	var one struct{ S struct{ V string } }
	if err := gcfg.ReadStringInto(&one, "[s]\nv ="+literal); err != nil {
		return "", errors.New("the value cannot be read: check its quotes and backslashes")
	}
	return one.S.V, nil
}

// unquoteName uses gcfg to do the same with the name of a section.
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
