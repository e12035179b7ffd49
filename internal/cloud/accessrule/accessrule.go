// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package accessrule computes the access rules of an application credential from the table of calls, and compares
// existing ones with it. It reads and writes nothing.
package accessrule

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// Rules returns the rules of an application credential that allow the calls of the program, except those of the features
// in without. roots are the addresses of the services, by type. A service published below a path sees the path with or without that prefix,
// depending on the installation, so both forms get a rule.
func Rules(roots map[string]string, without ...calls.Feature) []applicationcredentials.AccessRule {
	var rules []applicationcredentials.AccessRule
	for _, c := range calls.All() {
		if !c.Feature.OfController() || isLeftOut(c.Feature, without) {
			continue
		}
		prefixes := []string{""}
		if u, err := url.Parse(roots[c.Service]); err == nil && strings.Trim(u.Path, "/") != "" {
			prefixes = append(prefixes, strings.TrimSuffix(u.Path, "/"))
		}
		for _, prefix := range prefixes {
			rule := applicationcredentials.AccessRule{Service: c.Service, Method: c.Method, Path: prefix + c.Path}
			if !slices.Contains(rules, rule) { // several features may make the same call
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// isLeftOut reports whether an application credential without these features gets no rules for the feature f.
func isLeftOut(f calls.Feature, without []calls.Feature) bool {
	return slices.Contains(without, f) || f == calls.FeatureCertificateGrants && slices.Contains(without, calls.FeatureCertificates)
}

// Missing returns the calls that no rule allows. Rules of other programs may contain {name} for *, and ** for
// any number of segments: a rule with ** is treated as one that allows every call to its service.
func Missing(rules []applicationcredentials.AccessRule) []calls.Call {
	var missing []calls.Call
	for _, c := range calls.All() {
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

// Of returns the calls of the feature.
func Of(feature calls.Feature, all []calls.Call) (of []calls.Call) {
	for _, c := range all {
		if c.Feature == feature {
			of = append(of, c)
		}
	}
	return of
}

// Without divides the calls that the rules of an application credential do not allow into features without which the
// credential was created, and other calls, except those of calls.OnRequest. The credential was created without an
// optional feature if it allows none of the calls that only this feature makes. For an additional feature it may allow
// some of them: rules of an older version or with ** may do so by accident.
func Without(missing []calls.Call) (features []calls.Feature, others []calls.Call) {
	for _, name := range calls.Optional() {
		f, _ := calls.FindOptional(name)
		own, lacking := 0, 0
		for _, c := range calls.All() {
			if c.Feature != f || isShared(c) {
				continue
			}
			own++
			if slices.Contains(missing, c) {
				lacking++
			}
		}
		if lacking == own || lacking > 0 && slices.Contains(calls.Additional(), f) {
			features = append(features, f)
		}
	}
	for _, c := range missing {
		if !slices.Contains(features, c.Feature) && !slices.Contains(calls.OnRequest(), c.Feature) {
			others = append(others, c)
		}
	}
	return features, others
}

// isShared reports whether another feature makes the same call.
func isShared(c calls.Call) bool {
	return slices.ContainsFunc(calls.All(), func(other calls.Call) bool {
		return other.Feature != c.Feature && other.String() == c.String()
	})
}

var placeholder = regexp.MustCompile(`\{[^}]*\}`)
