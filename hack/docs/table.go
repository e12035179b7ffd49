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

// row adds a row. A vertical bar would end a cell, so it is escaped.
func (t *table) row(cells ...string) {
	escaped := make([]string, len(cells))
	for i, cell := range cells {
		escaped[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	t.text.WriteString("| " + strings.Join(escaped, " | ") + " |\n")
}

// String returns the table without the last newline.
func (t *table) String() string { return strings.TrimSuffix(t.text.String(), "\n") }

// code marks text as code; empty text stays empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
