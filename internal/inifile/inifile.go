// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package inifile reads the syntax of cloud.conf, which is that of git's configuration files: sections, and keys
// with values. It knows no section and no key.
//
// The package is pure. Of this project it imports nothing.
package inifile

import (
	"errors"
	"fmt"
	"strings"

	"gopkg.in/gcfg.v1"
	"gopkg.in/gcfg.v1/scanner"
	"gopkg.in/gcfg.v1/token"
)

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
}

// Parse cuts a file into its statements. gcfg is the judge of the syntax and of every quoted text; what it does not tell is
// on which line a key stands, and that is read off the tokens of its own scanner. The error begins with the line.
func Parse(text []byte) ([]Statement, error) {
	var nothing struct{} // to this every key is extra data, so that only the syntax is judged
	if err := gcfg.FatalOnly(gcfg.ReadStringInto(&nothing, string(text))); err != nil {
		return nil, syntaxError(err)
	}
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)

	var statements []Statement
	var at Statement // the section that later assignments belong to
	pos, tok, lit := s.Scan()
	for tok != token.EOF {
		line := file.Position(pos).Line
		switch tok {
		case token.LBRACK:
			_, _, lit = s.Scan()
			at = Statement{Line: line, Section: lit}
			if _, tok, lit = s.Scan(); tok == token.STRING {
				name, err := unquoteName(lit)
				if err != nil {
					return nil, fmt.Errorf("%d: %w", line, err)
				}
				at.Name = name
			}
			statements = append(statements, at)
			pos, tok, lit = s.Scan()
		case token.IDENT:
			assignment := Statement{Line: line, Section: at.Section, Name: at.Name, Key: lit, Blank: true}
			if pos, tok, lit = s.Scan(); tok == token.ASSIGN {
				_, _, lit = s.Scan()
				value, err := unquoteValue(lit)
				if err != nil {
					return nil, fmt.Errorf("%d: %w", line, err)
				}
				assignment.Blank, assignment.Value = false, value
				pos, tok, lit = s.Scan()
			}
			statements = append(statements, assignment)
		default:
			pos, tok, lit = s.Scan()
		}
	}
	return statements, nil
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

// syntaxError gives gcfg's complaint as "line:column: complaint".
func syntaxError(err error) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return fmt.Errorf("%d:%d: %s", list[0].Pos.Line, list[0].Pos.Column, list[0].Msg)
	}
	return errors.New(strings.TrimSpace(err.Error()))
}
