// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// defaultMaxAddressPairs is Neutron's default limit of allowed address pairs per port.
const defaultMaxAddressPairs = 10

// isAddressPairs refuses only values that are not objects. All others are left to completePairs,
// whose messages have another form.
func isAddressPairs(v any) (any, string) {
	list, _ := v.([]any)
	for _, each := range list {
		if _, ok := each.(map[string]any); !ok {
			return nil, fmt.Sprintf("'%s' is not a dictionary", shown(each))
		}
	}
	return v, ""
}

// completePairs reads the address pairs of a port, or refuses them. A pair without a MAC address
// gets the port's.
func completePairs(wanted any, mac string, most int) ([]addressPair, error) {
	if wanted == nil {
		return []addressPair{}, nil
	}
	list, ok := wanted.([]any)
	switch {
	case !ok:
		return nil, badBody("Allowed address pairs must be a list.")
	case len(list) > most:
		return nil, refuse(http.StatusBadRequest, "AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum %d.", most)
	}
	pairs := []addressPair{}
	for _, each := range list {
		pair, given, err := readPair(each.(map[string]any), mac) // isAddressPairs has checked the type
		if err != nil {
			return nil, err
		}
		if slices.Contains(pairs, pair) {
			return nil, refuse(http.StatusBadRequest, "DuplicateAddressPairInRequest", "Request contains duplicate address pair: mac_address %s ip_address %s.", given, pair.IPAddress)
		}
		pairs = append(pairs, pair)
	}
	return pairs, nil
}

// readPair reads one pair. given is its MAC address as messages show it.
func readPair(o map[string]any, mac string) (pair addressPair, given string, err error) {
	pair, given = addressPair{MACAddress: mac}, "None"
	if o["mac_address"] != nil {
		own, reason := isMAC(o["mac_address"])
		if reason != "" {
			return pair, "", badBody("%s", reason)
		}
		pair.MACAddress = own.(string)
		given = pair.MACAddress
	}
	if o["ip_address"] == nil {
		return pair, "", refuse(http.StatusBadRequest, "AllowedAddressPairsMissingIP", "AllowedAddressPair must contain ip_address")
	}
	pair.IPAddress = shown(o["ip_address"])
	if !strings.Contains(pair.IPAddress, "/") {
		if _, reason := isAddress(pair.IPAddress); reason != "" {
			return pair, "", badBody("%s", reason)
		}
		return pair, given, nil
	}
	if _, err := netip.ParsePrefix(pair.IPAddress); err != nil {
		return pair, "", badBody("'%s' is not a valid IP subnet", pair.IPAddress)
	}
	return pair, given, nil
}
