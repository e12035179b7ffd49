// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// NewLoadBalancer makes a load balancer of the request, with no VIP yet.
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
