// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"cmp"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
)

// chooseProvider checks flavor, availability zone and provider of a new load
// balancer against each other.
func (c *Checks) chooseProvider(v schema.Values) (string, error) {
	chosen := v.Text("provider")
	var features *model.Profile
	if id := v.Text("flavor_id"); id != "" {
		f, ok := c.State.Flavors.Find(id)
		switch {
		case !ok:
			return "", fault.Invalid("Invalid flavor_id.")
		case !f.Enabled:
			return "", fault.New(http.StatusBadRequest, "The selected flavor is not allowed in this deployment: %s", id)
		}
		features, _ = c.State.FlavorProfiles.Find(f.Profile.String())
	}
	zoneName := v.Text("availability_zone")
	if zoneName != "" {
		z, ok := state.Named(c.State.Zones, zoneName)
		switch {
		case !ok:
			return "", fault.Invalid("Invalid availability zone.")
		case !z.Enabled:
			return "", fault.New(http.StatusBadRequest, "The selected availability_zone is not allowed in this deployment: %s", zoneName)
		}
	}
	switch {
	case features != nil && chosen != "" && features.Provider != chosen:
		return "", fault.New(http.StatusBadRequest, "Flavor '%s' is not compatible with provider '%s'", v.Text("flavor_id"), chosen)
	case features != nil:
		chosen = features.Provider
	}
	chosen = cmp.Or(chosen, c.State.Provider)
	if !provider.Known(chosen) {
		return "", fault.New(http.StatusBadRequest, "Provider '%s' is not enabled.", chosen)
	}
	if chosen == provider.OVN && (features != nil || zoneName != "") {
		return "", provider.NotImplemented(features != nil)
	}
	return chosen, nil
}
