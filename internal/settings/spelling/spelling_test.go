// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package spelling

import (
	"fmt"
	"testing"
)

func TestDistanceCountsEdits(t *testing.T) {
	for pair, want := range map[[2]string]int{
		{"", ""}: 0, {"a", ""}: 1, {"ab", "ba"}: 1, {"flaoting", "floating"}: 1, {"kitten", "sitting"}: 3, {"äb", "ab"}: 1,
	} {
		t.Run(fmt.Sprintf("%q", pair), func(t *testing.T) {
			if got := Distance(pair[0], pair[1]); got != want {
				t.Errorf("Distance(%q, %q) = %d, want %d", pair[0], pair[1], got, want)
			}
			if got := Distance(pair[1], pair[0]); got != want {
				t.Errorf("Distance(%q, %q) = %d, want %d", pair[1], pair[0], got, want)
			}
		})
	}
}
