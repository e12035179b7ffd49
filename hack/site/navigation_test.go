// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// group is a part of the navigation. Its pages are files of the repository; a star matches any text
// without a slash.
type group struct {
	Text   string   `json:"text"`
	Pages  []string `json:"pages"`
	Groups []group  `json:"groups"`
}

// entries returns the entries of the group and of all its subgroups.
func (g group) entries() []string {
	all := slices.Clone(g.Pages)
	for _, below := range g.Groups {
		all = append(all, below.entries()...)
	}
	return all
}

// heading is the title of a page.
var heading = regexp.MustCompile(`(?m)^# \S`)

func TestEveryPageIsInTheNavigationAndEachEntryIsAPage(t *testing.T) {
	const root = "../.."
	var table struct {
		Groups []group           `json:"groups"`
		Paths  map[string]string `json:"paths"`
		Titles map[string]string `json:"titles"`
	}
	text, err := os.ReadFile("navigation.json")
	if err == nil {
		err = json.Unmarshal(text, &table)
	}
	if err != nil {
		t.Fatal(err)
	}
	var entries []string
	for _, g := range table.Groups {
		entries = append(entries, g.entries()...)
	}
	for _, entry := range entries {
		if found, err := filepath.Glob(filepath.Join(root, entry)); err != nil || len(found) == 0 && !strings.Contains(entry, "*") {
			t.Errorf("navigation.json names %s, which does not exist: %v", entry, err)
		}
	}
	err = fs.WalkDir(os.DirFS(root), "docs", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".md" {
			return err
		}
		if !slices.ContainsFunc(entries, func(entry string) bool { ok, err := path.Match(entry, name); return ok && err == nil }) {
			t.Errorf("no entry of navigation.json has %s", name)
		}
		page, err := os.ReadFile(filepath.Join(root, name))
		if table.Titles[name] == "" && !heading.Match(page) {
			t.Errorf("%s has no title: begin it with one, or give it one in navigation.json", name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for file := range table.Titles {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("navigation.json has a title for %s: %v", file, err)
		}
	}
	for file := range table.Paths {
		if _, err := os.Stat(filepath.Join(root, file)); err != nil {
			t.Errorf("navigation.json has a path for %s: %v", file, err)
		}
	}
}
