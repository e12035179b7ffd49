// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import "testing"

func TestAccessRuleMatchesPathsByTheirSegments(t *testing.T) {
	for _, tc := range []struct {
		name string

		rule, path string
		want       bool
	}{
		{"equal path", "/v2.0/ports", "/v2.0/ports", true},
		{"path below the rule", "/v2.0/ports", "/v2.0/ports/1", false},
		{"* matches one segment", "/v2.0/ports/*", "/v2.0/ports/1", true},
		{"* does not match two segments", "/v2.0/ports/*", "/v2.0/ports/1/tags", false},
		{"* does not match an empty segment", "/v2.0/ports/*", "/v2.0/ports/", false},
		{"a name in braces matches one segment", "/v2.0/ports/{id}/tags", "/v2.0/ports/1/tags", true},
		{"** matches several segments", "/v2.0/**", "/v2.0/ports/1/tags", true},
		{"** matches no segment", "/v2.0/**", "/v2.0/", true},
		{"** alone matches every path", "**", "/v2.0/ports", true},
		{"a dot in a path is not any character", "/v2x0/ports", "/v2.0/ports", false},
		{"a dot in a rule is not any character", "/v2.0/ports", "/v2x0/ports", false},
		{"a single brace is literal", "/v2.0/{", "/v2.0/{", true},
		{"an empty rule", "", "/v2.0", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			rule := accessRule{Service: "network", Method: "GET", Path: tc.rule}
			if got := rule.matches("network", "GET", tc.path); got != tc.want {
				t.Errorf("%q with %q: got %v", tc.rule, tc.path, got)
			}
			if rule.matches("network", "PUT", tc.path) || rule.matches("compute", "GET", tc.path) {
				t.Errorf("%q matches another method or service", tc.rule)
			}
		})
	}
}
