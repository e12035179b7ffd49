// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// check converts an attribute's value; reason is empty, or what is wrong with the value.
type check func(v any) (converted any, reason string)

func isString(maxLength int) check {
	return func(v any) (any, string) {
		s, ok := v.(string)
		switch {
		case !ok:
			return nil, fmt.Sprintf("'%s' is not a valid string", shown(v))
		case utf8.RuneCountInString(s) > maxLength:
			return nil, fmt.Sprintf("'%s' exceeds maximum length of %d", s, maxLength)
		}
		return s, ""
	}
}

func isBool(v any) (any, string) {
	switch strings.ToLower(shown(v)) {
	case "true", "1":
		return true, ""
	case "false", "0":
		return false, ""
	}
	return nil, fmt.Sprintf("'%s' cannot be converted to boolean", shown(v))
}

func isInt(lowest, highest int) check {
	return func(v any) (any, string) {
		n, err := strconv.Atoi(shown(v))
		switch {
		case err != nil:
			return nil, fmt.Sprintf("'%s' is not an integer", shown(v))
		case n < lowest:
			return nil, fmt.Sprintf("'%d' is too small - must be at least '%d'", n, lowest)
		case n > highest:
			return nil, fmt.Sprintf("'%d' is too large - must be no larger than '%d'", n, highest)
		}
		return n, ""
	}
}

func isUUID(v any) (any, string) {
	s, ok := v.(string)
	if _, err := uuid.Parse(s); !ok || err != nil || len(s) != 36 && len(s) != 32 {
		return nil, fmt.Sprintf("'%s' is not a valid UUID", shown(v))
	}
	return s, ""
}

func isUUIDs(v any) (any, string) {
	if v == nil {
		return []string{}, ""
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Sprintf("'%s' is not a list", shown(v))
	}
	ids := []string{}
	for _, each := range list {
		id, reason := isUUID(each)
		if reason != "" {
			return nil, reason
		}
		if slices.Contains(ids, id.(string)) {
			return nil, fmt.Sprintf("Duplicate items in the list: '%s'", id)
		}
		ids = append(ids, id.(string))
	}
	return ids, ""
}

// isAddress converts to a netip.Addr.
func isAddress(v any) (any, string) {
	s, _ := v.(string)
	addr, err := netip.ParseAddr(s)
	if err != nil || addr.Zone() != "" {
		return nil, fmt.Sprintf("'%s' is not a valid IP address", shown(v))
	}
	return addr.Unmap(), ""
}

func isMAC(v any) (any, string) {
	s, _ := v.(string)
	mac, err := net.ParseMAC(s)
	if err != nil || len(mac) != 6 {
		return nil, fmt.Sprintf("'%s' is not a valid MAC address", shown(v))
	}
	return mac.String(), ""
}

// isOneOf refuses other values. Like the real service, it does not say which ones are valid.
func isOneOf(allowed ...any) check {
	return func(v any) (any, string) {
		if !slices.Contains(allowed, v) {
			return nil, shown(v) + " is not in valid_values"
		}
		return v, ""
	}
}

// orNull also accepts null, as nil.
func orNull(c check) check {
	return func(v any) (any, string) {
		if v == nil {
			return nil, ""
		}
		return c(v)
	}
}

// unreadable is a value that should be a CIDR and is not one.
type unreadable string

// isCIDR converts to a netip.Prefix without host bits, or to unreadable: a value that is not a CIDR
// at all gets another kind of error.
func isCIDR(v any) (any, string) {
	s, _ := v.(string)
	prefix, err := netip.ParsePrefix(s)
	if err != nil {
		return unreadable(shown(v)), ""
	}
	return prefix.Masked(), ""
}

// isTags converts to a list of tags without duplicates.
func isTags(v any) (any, string) {
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Sprintf("'%s' is not a list", shown(v))
	}
	tags := []string{}
	for _, each := range list {
		tag, reason := isString(255)(each)
		if reason != "" {
			return nil, reason
		}
		if slices.Contains(tags, tag.(string)) {
			return nil, fmt.Sprintf("Duplicate items in the list: '%s'", tag)
		}
		tags = append(tags, tag.(string))
	}
	return tags, ""
}

// listOf converts a list of objects, each with convert.
func listOf[T any](what string, convert func(map[string]any) (T, string)) check {
	return func(v any) (any, string) {
		if v == nil {
			return []T{}, ""
		}
		list, ok := v.([]any)
		if !ok {
			return nil, fmt.Sprintf("Invalid data format for %s: '%s'", what, shown(v))
		}
		converted := []T{}
		for _, each := range list {
			object, ok := each.(map[string]any)
			if !ok {
				return nil, fmt.Sprintf("Invalid data format for %s: '%s'", what, shown(each))
			}
			t, reason := convert(object)
			if reason != "" {
				return nil, reason
			}
			converted = append(converted, t)
		}
		return converted, ""
	}
}

// addressWish is a fixed IP that a client requests; either part may be missing.
type addressWish struct {
	subnet  string
	address netip.Addr
}

var isFixedIPs = listOf("fixed IP", func(o map[string]any) (w addressWish, reason string) {
	for key, value := range o {
		switch key {
		case "ip_address":
			addr, reason := isAddress(value)
			if reason != "" {
				return w, reason
			}
			w.address = addr.(netip.Addr)
		case "subnet_id":
			id, reason := isUUID(value)
			if reason != "" {
				return w, reason
			}
			w.subnet = id.(string)
		}
	}
	return w, ""
})

var isPools = listOf("IP pool", func(o map[string]any) (r AddressRange, reason string) {
	first, reason := isAddress(o["start"])
	if reason != "" {
		return r, reason
	}
	last, reason := isAddress(o["end"])
	if reason != "" {
		return r, reason
	}
	return AddressRange{First: first.(netip.Addr), Last: last.(netip.Addr)}, ""
})

// isRoutes converts to []hostRoute without duplicates.
func (s *Service) isRoutes(v any) (any, string) {
	list, ok := v.([]any)
	for _, each := range list {
		if _, isObject := each.(map[string]any); ok && !isObject {
			return nil, fmt.Sprintf("Invalid input. '%s' must be a dictionary with keys: ['destination', 'nexthop']", shown(each))
		}
	}
	routes, reason := listOf("hostroute", s.readRoute)(v)
	if reason != "" {
		return nil, reason
	}
	for i, route := range routes.([]hostRoute) {
		if slices.Contains(routes.([]hostRoute)[:i], route) {
			return nil, fmt.Sprintf("Duplicate hostroute '%s'", route.python())
		}
	}
	return routes, ""
}

func (s *Service) readRoute(o map[string]any) (h hostRoute, reason string) {
	if keys := slices.Sorted(maps.Keys(o)); !slices.Equal(keys, []string{"destination", "nexthop"}) {
		return h, fmt.Sprintf("Validation of dictionary's keys failed. Expected keys: {'destination', 'nexthop'} Provided keys: {'%s'}", strings.Join(keys, "', '"))
	}
	destination, _ := o["destination"].(string)
	prefix, err := netip.ParsePrefix(destination)
	if addr, errAddr := netip.ParseAddr(destination); errAddr == nil {
		prefix, err = netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	unusual := !strings.Contains(destination, "/") || prefix != prefix.Masked()
	switch {
	case err != nil, unusual && s.options.Release >= release.Epoxy:
		return h, fmt.Sprintf("'%s' is not a valid CIDR", shown(o["destination"]))
	case unusual:
		return h, fmt.Sprintf("'%s' is not a recognized CIDR, '%s' is recommended", destination, prefix.Masked())
	case prefix.Addr().IsLoopback():
		return h, fmt.Sprintf("'%s' is not a routable CIDR", destination)
	}
	if _, reason := isAddress(o["nexthop"]); reason != "" {
		return h, reason
	}
	return hostRoute{Destination: destination, NextHop: o["nexthop"].(string)}, ""
}

var isNameServers = check(func(v any) (any, string) {
	if v == nil {
		return []string{}, ""
	}
	list, ok := v.([]any)
	if !ok {
		return nil, fmt.Sprintf("Invalid data format for nameserver: '%s'", shown(v))
	}
	servers := []string{}
	for _, each := range list {
		addr, reason := isAddress(each)
		if reason != "" {
			return nil, fmt.Sprintf("'%s' is not a valid nameserver. %s", shown(each), reason)
		}
		if slices.Contains(servers, addr.(netip.Addr).String()) {
			return nil, fmt.Sprintf("Duplicate nameserver '%s'", shown(each))
		}
		servers = append(servers, addr.(netip.Addr).String())
	}
	return servers, ""
})
