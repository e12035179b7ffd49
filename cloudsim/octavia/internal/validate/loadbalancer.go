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

// NewLoadBalancer makes a load balancer from the request, without a VIP yet.
func (c *Checks) NewLoadBalancer(v schema.Values, project string) (*model.LoadBalancer, error) {
	if v.Text("vip_qos_policy_id") != "" {
		return nil, fault.Invalid("VIP QoS policy is not allowed in this deployment.")
	}
	provider, err := c.chooseProvider(v)
	if err != nil {
		return nil, err
	}
	if err := c.State.Quotas.Check(project, model.LoadBalancerQuota, 1); err != nil {
		return nil, err
	}
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	return &model.LoadBalancer{
		Object: model.NewObject(c.State.Now(), tags), Name: v.Text("name"), Description: v.Text("description"), Project: project,
		Provider: provider, Flavor: v.Text("flavor_id"), Zone: v.Text("availability_zone"),
		AdminUp: v.Flag("admin_state_up", true),
	}, nil
}

// chooseProvider returns the provider of a new load balancer, and checks that its flavor,
// availability zone and provider match.
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
	return chosen, provider.Check(chosen, features != nil, zoneName != "")
}
