// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "strings"

// table is a Markdown table.
type table struct{ text strings.Builder }

func newTable(heads ...string) *table {
	t := &table{}
	t.row(heads...)
	rules := make([]string, len(heads))
	for i := range rules {
		rules[i] = "---"
	}
	t.row(rules...)
	return t
}

// row adds a line. A bar in a cell would end it, so bars are escaped.
func (t *table) row(cells ...string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	t.text.WriteString("| " + strings.Join(escaped, " | ") + " |\n")
}

// String returns the table without the end of its last line.
func (t *table) String() string { return strings.TrimSuffix(t.text.String(), "\n") }

// code marks text as code, and leaves nothing as nothing.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
