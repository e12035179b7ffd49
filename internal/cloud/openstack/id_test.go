// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"strings"
	"testing"
)

func TestInvalidIDs(t *testing.T) {
	for text, want := range map[string]bool{
		"0d54c6f1-7a93-4b1e-a6b5-b44ffd4ddc0d": true, "16b2e5f36ef240f684b5294c3cc8aa16": true, "default": true, "lb_1": true,
		"": false, ".": false, "..": false, "a/b": false, "../quotas": false, "a?b=c": false, "a#b": false, "%2e%2e": false, "a b": false, "ä": false,
		strings.Repeat("a", 64): true, strings.Repeat("a", 65): false,
	} {
		t.Run(fmt.Sprintf("%q", text), func(t *testing.T) {
			if got := IsID(text); got != want {
				t.Errorf("IsID(%q) is %t", text, got)
			}
		})
	}
}
