// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"strings"
)

// suggestSection names the section that an unknown one most resembles.
func suggestSection(name string) string {
	var names []string
	for _, s := range sections {
		names = append(names, s.Name)
	}
	best, near := nearest(name, names)
	if near {
		return fmt.Sprintf("did you mean [%s]?", best)
	}
	return fmt.Sprintf("the nearest known section is [%s]", best)
}

// suggestKey names the key that an unknown one most resembles, or the section where a key of that name belongs.
func suggestKey(section, name string) string {
	var names []string
	elsewhere := ""
	for _, k := range table {
		if k.Section == section {
			names = append(names, k.Name)
		} else if elsewhere == "" && strings.EqualFold(k.Name, name) {
			elsewhere = k.Section
		}
	}
	best, near := nearest(name, names)
	switch {
	case elsewhere != "":
		return fmt.Sprintf("it belongs in section [%s]", elsewhere)
	case near:
		return fmt.Sprintf("did you mean %q?", best)
	}
	return fmt.Sprintf("the nearest known key is %q", best)
}

// nearest returns the candidate with the smallest edit distance to name, the first of equals, and whether the two are near
// enough for one to be a slip of the pen.
func nearest(name string, candidates []string) (best string, near bool) {
	name = strings.ToLower(name)
	least := -1
	for _, c := range candidates {
		if d := distance([]rune(name), []rune(strings.ToLower(c))); least < 0 || d < least {
			best, least = c, d
		}
	}
	return best, least >= 0 && least <= max(2, len(best)/3)
}

// distance returns the number of insertions, deletions, substitutions and swaps of neighbours that
// turn a into b.
func distance(a, b []rune) int {
	// The rows of a[:i-2], a[:i-1] and a[:i].
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
