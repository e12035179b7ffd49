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

// MissingRules returns the calls that the application credential in use may not make, although the program does make them: it
// was made for an older version. Of credentials without access rules there are none.
func (s *Session) MissingRules() []calltable.Call {
	result, ok := s.provider.GetAuthResult().(tokenResult)
	if !ok {
		return nil
	}
	var t struct {
		ApplicationCredential struct {
			AccessRules []applicationcredentials.AccessRule `json:"access_rules"`
		} `json:"application_credential"`
	}
	if result.ExtractInto(&t) != nil || t.ApplicationCredential.AccessRules == nil {
		return nil
	}
	return missingRules(t.ApplicationCredential.AccessRules)
}

// missingRules returns the calls that none of the rules allows. Rules that other programs wrote may have {name} for *, and **
// for any number of segments: of those with ** the calls of the service count as allowed.
func missingRules(rules []applicationcredentials.AccessRule) []calltable.Call {
	var missing []calltable.Call
	for _, c := range calltable.All() {
		allowed := c.Feature == calltable.FeatureCredentialCommand || slices.ContainsFunc(rules, func(r applicationcredentials.AccessRule) bool {
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

// accessRules returns what an application credential must be allowed to do so that the program can work with it. roots are
// the addresses of the services, by type. A service that is published below a path may or may not see that path, which is the
// choice of whoever installed it, so there is a rule for each.
func accessRules(roots map[string]string) []applicationcredentials.AccessRule {
	var rules []applicationcredentials.AccessRule
	for _, c := range calltable.All() {
		if c.Feature == calltable.FeatureCredentialCommand {
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
