// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"
	"net/netip"
	"strings"
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
