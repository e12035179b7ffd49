// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page is a page of docs/, whose manifests and commands a test carries out.
type page struct {
	t      *testing.T
	name   string
	blocks []string
	used   map[int]bool
}

// readPage returns the page with its blocks of code.
func readPage(t *testing.T, name string) *page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return &page{t: t, name: name, blocks: codeBlocks(string(text)), used: map[int]bool{}}
}

// codeBlocks returns the indented blocks of a text, without their indentation.
func codeBlocks(text string) []string {
	var blocks []string
	var block strings.Builder
	for line := range strings.Lines(text + "\nend\n") {
		switch code, indented := strings.CutPrefix(line, "    "); {
		case indented:
			block.WriteString(code)
		case strings.TrimSpace(line) == "" && block.Len() > 0:
			block.WriteString("\n")
		case block.Len() > 0:
			blocks = append(blocks, strings.Trim(block.String(), "\n")+"\n")
			block.Reset()
		}
	}
	return blocks
}

// block returns the only block that has all of these texts.
func (p *page) block(texts ...string) string {
	p.t.Helper()
	found := -1
	for i, block := range p.blocks {
		has := true
		for _, text := range texts {
			has = has && strings.Contains(block, text)
		}
		switch {
		case has && found >= 0:
			p.t.Fatalf("%s has two blocks with %q", p.name, texts)
		case has:
			found = i
		}
	}
	if found < 0 {
		p.t.Fatalf("%s has no block with %q", p.name, texts)
	}
	p.used[found] = true
	return p.blocks[found]
}

// requireAllManifestsUsed fails the test if a manifest of the page was not requested.
func (p *page) requireAllManifestsUsed() {
	p.t.Helper()
	for i, block := range p.blocks {
		if strings.Contains(block, "apiVersion: ") && !p.used[i] {
			p.t.Errorf("nothing uses this manifest of %s:\n%s", p.name, block)
		}
	}
}
