// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package value

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// ParseCIDRs reads source ranges: each is masked to its prefix, empty ones are left out, a bare address or anything else is
// an error.
func ParseCIDRs(values []string) ([]string, error) {
	var cidrs []string
	for _, value := range values {
		value = strings.TrimSpace(value)
		if value == "" {
			continue
		}
		prefix, err := netip.ParsePrefix(value)
		if err != nil || prefix.Addr().Is4In6() {
			return nil, fmt.Errorf("%q is not a CIDR such as 192.0.2.0/24 or 2001:db8::/32", value)
		}
		cidrs = append(cidrs, prefix.Masked().String())
	}
	return cidrs, nil
}

// ParseTags reads the tags that a user wants on objects in the cloud, separated by commas or, as in
// openstack-cloud-controller-manager, by blanks. Each comes once. One that is empty, that the cloud does not take, or
// that has a meaning to us is an error.
func ParseTags(text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var tags []string
	for part := range strings.SplitSeq(text, ",") {
		some := strings.Fields(part)
		if len(some) == 0 {
			return nil, errors.New("a tag in the list is empty")
		}
		for _, tag := range some {
			switch {
			case utf8.RuneCountInString(tag) > lb.LongestTag:
				return nil, fmt.Errorf("tag %q is longer than %d characters", tag, lb.LongestTag)
			case lb.Reserved(tag):
				return nil, fmt.Errorf("tag %q is reserved for controllers, as are all that begin with kube-octavia. or kube_service_", tag)
			case !slices.Contains(tags, tag):
				tags = append(tags, tag)
			}
		}
	}
	return tags, nil
}

// ParseIDs reads ids that are separated by commas: sorted, each once, nil for an empty text.
func ParseIDs(of Object, text string) ([]string, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var ids []string
	for part := range strings.SplitSeq(text, ",") {
		id, err := of.ParseID(strings.TrimSpace(part))
		if err != nil || id == "" {
			return nil, fmt.Errorf("%q %s", strings.TrimSpace(part), of.MustBeNot(strings.TrimSpace(part)))
		}
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
