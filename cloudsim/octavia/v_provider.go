// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"net/http"
)

// chooseProvider checks flavor, availability zone and provider of a new load
// balancer against each other.
func (c *Checks) chooseProvider(v values) (string, error) {
	chosen := v.text("provider")
	var features *profile
	if id := v.text("flavor_id"); id != "" {
		f, ok := c.State.Flavors.Find(id)
		switch {
		case !ok:
			return "", invalid("Invalid flavor_id.")
		case !f.enabled:
			return "", faultf(http.StatusBadRequest, "The selected flavor is not allowed in this deployment: %s", id)
		}
		features, _ = c.State.FlavorProfiles.Find(f.profile.String())
	}
	zoneName := v.text("availability_zone")
	if zoneName != "" {
		z := c.State.Zone(zoneName)
		switch {
		case z == nil:
			return "", invalid("Invalid availability zone.")
		case !z.enabled:
			return "", faultf(http.StatusBadRequest, "The selected availability_zone is not allowed in this deployment: %s", zoneName)
		}
	}
	switch {
	case features != nil && chosen != "" && features.provider != chosen:
		return "", faultf(http.StatusBadRequest, "Flavor '%s' is not compatible with provider '%s'", v.text("flavor_id"), chosen)
	case features != nil:
		chosen = features.provider
	}
	chosen = cmp.Or(chosen, c.State.Provider)
	if !Known(chosen) {
		return "", faultf(http.StatusBadRequest, "Provider '%s' is not enabled.", chosen)
	}
	if chosen == ovn && (features != nil || zoneName != "") {
		return "", notImplemented(features != nil)
	}
	return chosen, nil
}
