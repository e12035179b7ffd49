// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package provider

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
)

// Check refuses a provider that does not exist, or that does not support the requested flavors or
// availability zones.
func Check(name string, flavor, zone bool) error {
	switch {
	case !Known(name):
		return fault.New(http.StatusBadRequest, "Provider '%s' is not enabled.", name)
	case name == OVN && flavor:
		return notSupported("This provider does not support validating flavors.")
	case name == OVN && zone:
		return notSupported("This provider does not support availability zones.")
	}
	return nil
}

// notSupported returns provider ovn's refusal of what it does not support.
func notSupported(reason string) error {
	return fault.New(http.StatusNotImplemented, "Provider '%s' does not support a requested action: %s", OVN, reason)
}

// Properties of flavors for load balancers with ports of type direct.
const (
	// SRIOVForVIP gives the VIP's port the type direct. Since API version 2.28.
	SRIOVForVIP = "sriov_vip"
	// SRIOVForMembers allows such ports for members. Since API version 2.30.
	SRIOVForMembers = "allow_member_sriov"
)

// CheckProfile refuses profile data that is not JSON, or that the provider does not accept with API
// version 2.minor.
func CheckProfile(provider, data, option string, minor int) error {
	var features map[string]any
	if json.Unmarshal([]byte(data), &features) != nil {
		return fault.InvalidOption(data, option)
	}
	if err := Check(provider, option == "flavor_data", option != "flavor_data"); err != nil {
		return err
	}
	known := []string{
		"loadbalancer_topology", "compute_flavor", "amp_image_tag",
		"compute_zone", "management_network", "valid_vip_networks", "volume_zone",
	}
	if minor >= 28 {
		known = append(known, SRIOVForVIP)
	}
	if minor >= 30 {
		known = append(known, SRIOVForMembers)
	}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if !slices.Contains(known, name) {
			return fault.Unsupported(provider, "Additional properties are not allowed ('%s' was unexpected)", name)
		}
	}
	return nil
}
