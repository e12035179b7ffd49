// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// SubnetPattern selects subnets, as in openstack-cloud-controller-manager. Both parts must match.
type SubnetPattern struct {
	// Name is a name, a pattern with * and ?, or ~ and a regular expression (RE2) that matches any part of the name. A
	// leading ! selects all other subnets. Empty matches any name.
	Name string
	// Tags are separated by commas: a subnet must have one of them or, with a leading &, all of them. A leading !
	// selects all other subnets. Empty matches any tags.
	Tags string
}

// Empty reports whether the pattern matches every subnet.
func (p SubnetPattern) Empty() bool { return p == SubnetPattern{} }

// Matcher returns a function that reports whether a subnet with a name and tags matches. It returns an error if the
// pattern is invalid.
func (p SubnetPattern) Matcher() (func(name string, tags []string) bool, error) {
	named, err := matchName(strings.TrimSpace(p.Name))
	if err != nil {
		return nil, err
	}
	tagged, err := matchTags(strings.TrimSpace(p.Tags))
	if err != nil {
		return nil, err
	}
	return func(name string, tags []string) bool { return named(name) && tagged(tags) }, nil
}

func matchName(text string) (func(string) bool, error) {
	if text == "" {
		return func(string) bool { return true }, nil
	}
	pattern, not := strings.CutPrefix(text, "!")
	expression, regular := strings.CutPrefix(pattern, "~")
	if !regular {
		expression = "(?s)^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$"
	}
	if strings.TrimPrefix(pattern, "~") == "" {
		return nil, fmt.Errorf("%q does not name a subnet", text)
	}
	r, err := regexp.Compile(expression)
	if err != nil {
		return nil, fmt.Errorf("%q is not a valid regular expression: %w", text, err)
	}
	return func(name string) bool { return r.MatchString(name) != not }, nil
}

func matchTags(text string) (func([]string) bool, error) {
	if text == "" {
		return func([]string) bool { return true }, nil
	}
	list, not := strings.CutPrefix(text, "!")
	list, all := strings.CutPrefix(list, "&")
	var wanted []string
	for tag := range strings.SplitSeq(list, ",") {
		tag = strings.TrimSpace(tag)
		if tag != "" {
			wanted = append(wanted, tag)
		}
	}
	if len(wanted) == 0 {
		return nil, fmt.Errorf("%q does not name a tag", text)
	}
	return func(tags []string) bool {
		lacks := func(tag string) bool { return !slices.Contains(tags, tag) }
		has := slices.ContainsFunc(wanted, func(tag string) bool { return !lacks(tag) })
		if all {
			has = !slices.ContainsFunc(wanted, lacks)
		}
		return has != not
	}, nil
}
