// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
)

// MissingRules returns the calls of the program that the access rules of the application credential in use do not
// allow, because it was created for an older version. Credentials without access rules allow every call.
func (s *Session) MissingRules() []calltable.Call {
	var t struct {
		ApplicationCredential struct {
			AccessRules []applicationcredentials.AccessRule `json:"access_rules"`
		} `json:"application_credential"`
	}
	if err := s.readToken(&t); err != nil || t.ApplicationCredential.AccessRules == nil {
		return nil
	}
	return missingRules(t.ApplicationCredential.AccessRules)
}

// missingRules returns the calls that no rule allows. Rules of other programs may contain {name} for *, and ** for
// any number of segments: a rule with ** counts as allowing every call to its service.
func missingRules(rules []applicationcredentials.AccessRule) []calltable.Call {
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

var placeholder = regexp.MustCompile(`\{[^}]*\}`)

// accessRules returns the rules of an application credential that allow the calls of the program. roots are the
// addresses of the services, by type. A service published below a path sees the path with or without that prefix,
// depending on the installation, so both forms get a rule.
func accessRules(roots map[string]string) []applicationcredentials.AccessRule {
	var rules []applicationcredentials.AccessRule
	for _, c := range calltable.All() {
		if !c.Feature.OfController() {
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
