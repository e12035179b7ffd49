// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package spelling finds the intended word for a misspelt one. The package is pure.
package spelling

import "strings"

// Nearest returns the candidate with the smallest edit distance to name, the first one if several are equal. It reports
// whether the distance is small enough for a misspelling: at most one error per three characters, and at most three.
func Nearest(name string, candidates []string) (best string, near bool) {
	name = strings.ToLower(name)
	least := -1
	for _, c := range candidates {
		if d := Distance(name, strings.ToLower(c)); least < 0 || d < least {
			best, least = c, d
		}
	}
	return best, least >= 0 && least <= min(3, len(best)/3)
}

// Distance returns the number of insertions, deletions, substitutions and swaps of adjacent
// characters that turn one text into the other.
func Distance(from, to string) int {
	a, b := []rune(from), []rune(to)
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
