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

// ParseCIDRs parses source ranges: host bits are cleared, empty ranges are ignored. Anything else, such as an address
// without a prefix length, is an error.
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

// ParseTags parses the user's own tags of objects in the cloud, separated by commas or, as in
// openstack-cloud-controller-manager, by blanks, and removes duplicates. A tag that is empty, that the cloud does not
// accept, or that is reserved for kube-octavia is an error.
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

// ParseIDs parses ids that are separated by commas, sorts them and removes duplicates. For an empty
// text it returns nil.
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
