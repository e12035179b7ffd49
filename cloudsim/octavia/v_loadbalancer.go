// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// newLoadBalancer makes a load balancer of the request, with no VIP yet.
func (c *Checks) newLoadBalancer(v values, project string) (*loadBalancer, error) {
	if v.text("vip_qos_policy_id") != "" {
		return nil, invalid("VIP QoS policy is not allowed in this deployment.")
	}
	provider, err := c.chooseProvider(v)
	if err != nil {
		return nil, err
	}
	if err := c.State.Quotas.Check(project, loadBalancerQuota, 1); err != nil {
		return nil, err
	}
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	return &loadBalancer{
		object: newObject(c.State.Now(), tags), name: v.text("name"), description: v.text("description"), project: project,
		provider: provider, flavor: v.text("flavor_id"), zone: v.text("availability_zone"),
		adminUp: v.flag("admin_state_up", true),
	}, nil
}
