// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is docs/install.md: its indented blocks.
type page []string

func readPage(root string) (page, error) {
	text, err := os.ReadFile(filepath.Join(root, "docs/install.md"))
	if err != nil {
		return nil, err
	}
	return blocks(string(text)), nil
}

// blocks returns the indented blocks of a page, without their indentation.
func blocks(text string) page {
	var all page
	var block strings.Builder
	for line := range strings.Lines(text + "\nend\n") {
		code, indented := strings.CutPrefix(line, "    ")
		switch {
		case indented:
			block.WriteString(code)
		case strings.TrimSpace(line) == "" && block.Len() > 0:
			block.WriteString("\n")
		case block.Len() > 0:
			all = append(all, strings.Trim(block.String(), "\n")+"\n")
			block.Reset()
		}
	}
	return all
}

// block returns the only block that contains all of these texts.
func (p page) block(texts ...string) (string, error) {
	var found []string
	for _, block := range p {
		has := true
		for _, text := range texts {
			has = has && strings.Contains(block, text)
		}
		if has {
			found = append(found, block)
		}
	}
	if len(found) != 1 {
		return "", fmt.Errorf("docs/install.md has %d blocks with %q, not 1", len(found), texts)
	}
	return found[0], nil
}

// without removes the line of a command that contains the text.
func without(commands, text string) string {
	var kept strings.Builder
	for line := range strings.Lines(commands) {
		if !strings.Contains(line, text) {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
