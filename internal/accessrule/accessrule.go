// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accessrule computes the access rules of an application credential from the table of calls, and compares existing
// ones with it. It reads and writes nothing, and may import calltable.
package accessrule

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
)

// Rules returns the rules of an application credential that allow the calls of the program, except those of the features
// in without. roots are the addresses of the services, by type. A service published below a path sees the path with or without that prefix,
// depending on the installation, so both forms get a rule.
func Rules(roots map[string]string, without ...calltable.Feature) []applicationcredentials.AccessRule {
	var rules []applicationcredentials.AccessRule
	for _, c := range calltable.All() {
		if !c.Feature.OfController() || slices.Contains(without, c.Feature) {
			continue
		}
		prefixes := []string{""}
		if u, err := url.Parse(roots[c.Service]); err == nil && strings.Trim(u.Path, "/") != "" {
			prefixes = append(prefixes, strings.TrimSuffix(u.Path, "/"))
		}
		for _, prefix := range prefixes {
			rules = append(rules, applicationcredentials.AccessRule{Service: c.Service, Method: c.Method, Path: prefix + c.Path})
		}
	}
	return rules
}

// Missing returns the calls that no rule allows. Rules of other programs may contain {name} for *, and ** for
// any number of segments: a rule with ** counts as allowing every call to its service.
func Missing(rules []applicationcredentials.AccessRule) []calltable.Call {
	var missing []calltable.Call
	for _, c := range calltable.All() {
		allowed := !c.Feature.OfController() || slices.ContainsFunc(rules, func(r applicationcredentials.AccessRule) bool {
			path := placeholder.ReplaceAllString(r.Path, "*")
			return r.Service == c.Service && r.Method == c.Method && (strings.Contains(path, "**") || strings.HasSuffix(path, c.Path))
		})
		if !allowed {
			missing = append(missing, c)
		}
	}
	return missing
}

// Without parts the calls that the rules of an application credential lack: features without which it can be created,
// with none of their calls allowed, and other calls.
func Without(missing []calltable.Call) (features []calltable.Feature, others []calltable.Call) {
	for _, name := range calltable.Optional() {
		f, _ := calltable.FindOptional(name)
		allowed := slices.ContainsFunc(calltable.All(), func(c calltable.Call) bool { return c.Feature == f && !slices.Contains(missing, c) })
		if !allowed {
			features = append(features, f)
		}
	}
	for _, c := range missing {
		if !slices.Contains(features, c.Feature) {
			others = append(others, c)
		}
	}
	return features, others
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)
