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

// NotImplemented is ovn's refusal of flavors and of availability zones.
func NotImplemented(flavor bool) error {
	reason := "This provider does not support availability zones."
	if flavor {
		reason = "This provider does not support validating flavors."
	}
	return notSupported(reason)
}

// notSupported is ovn's refusal of what it has not.
func notSupported(reason string) error {
	return fault.New(http.StatusNotImplemented, "Provider '%s' does not support a requested action: %s", OVN, reason)
}

// CheckProfile refuses profile data that is no JSON or that the provider does
// not take.
func CheckProfile(provider, data, option string) error {
	var features map[string]any
	if json.Unmarshal([]byte(data), &features) != nil {
		return fault.InvalidOption(data, option)
	}
	if !Known(provider) {
		return fault.New(http.StatusBadRequest, "Provider '%s' is not enabled.", provider)
	}
	if provider == OVN {
		return NotImplemented(option == "flavor_data")
	}
	known := []string{
		"loadbalancer_topology", "compute_flavor", "amp_image_tag", "sriov_vip",
		"compute_zone", "management_network", "valid_vip_networks", "volume_zone",
	}
	for _, name := range slices.Sorted(maps.Keys(features)) {
		if !slices.Contains(known, name) {
			return fault.Unsupported(provider, "Additional properties are not allowed ('%s' was unexpected)", name)
		}
	}
	return nil
}
