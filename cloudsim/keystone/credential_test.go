// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package keystone

import "testing"

func TestAccessRuleMatchesPathsByTheirSegments(t *testing.T) {
	for _, tc := range []struct {
		rule, path string
		want       bool
	}{
		{"/v2.0/ports", "/v2.0/ports", true}, {"/v2.0/ports", "/v2.0/ports/1", false}, {"/v2.0/ports/*", "/v2.0/ports/1", true},
		{"/v2.0/ports/*", "/v2.0/ports/1/tags", false}, {"/v2.0/ports/*", "/v2.0/ports/", false}, {"/v2.0/ports/{id}/tags", "/v2.0/ports/1/tags", true},
		{"/v2.0/**", "/v2.0/ports/1/tags", true}, {"/v2.0/**", "/v2.0/", true}, {"**", "/v2.0/ports", true}, {"/v2x0/ports", "/v2.0/ports", false},
		{"/v2.0/ports", "/v2x0/ports", false}, {"/v2.0/{", "/v2.0/{", true}, {"", "/v2.0", false},
	} {
		rule := accessRule{Service: "network", Method: "GET", Path: tc.rule}
		if got := rule.matches("network", "GET", tc.path); got != tc.want {
			t.Errorf("%q with %q: got %v", tc.rule, tc.path, got)
		}
		if rule.matches("network", "PUT", tc.path) || rule.matches("compute", "GET", tc.path) {
			t.Errorf("%q matches another method or service", tc.rule)
		}
	}
}
