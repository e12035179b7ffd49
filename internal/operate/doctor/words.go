// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// Plural returns "1 Service" or "2 Services".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	ending := "s"
	if strings.HasSuffix(noun, "s") {
		ending = "es"
	}
	return fmt.Sprintf("%d %s%s", n, noun, ending)
}

// Some returns "node a", or "3 nodes (a, b, ...)".
func Some(noun string, names []string) string {
	const most = 3
	slices.Sort(names)
	if len(names) == 1 {
		return noun + " " + names[0]
	}
	shown := slices.Clone(names[:min(len(names), most)])
	if len(names) > most {
		shown = append(shown, "...")
	}
	return fmt.Sprintf("%s (%s)", Plural(len(names), noun), strings.Join(shown, ", "))
}
