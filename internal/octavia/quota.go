// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "context"

// unlimited is a quota that limits nothing.
const unlimited = -1

// Quota is what the project may have, by kind: load_balancer, listener, pool, member and health_monitor; -1 means no limit.
type Quota map[string]int

// Quota reads the quota of the project.
func (c *Client) Quota(ctx context.Context) (Quota, error) {
	var answer struct{ Quota map[string]*int }
	if err := c.get(ctx, "read the quota of Octavia", "quotas/"+c.projectID, &answer); err != nil {
		return nil, err
	}
	quota := Quota{}
	for name, limit := range answer.Quota {
		switch name { // Octavia shows the older names, the newer ones, or both
		case "loadbalancer":
			name = "load_balancer"
		case "healthmonitor":
			name = "health_monitor"
		}
		if limit != nil {
			quota[name] = *limit
		}
	}
	return quota, nil
}

// LimitsChildren reports whether it may refuse what is below a load balancer.
func (q Quota) LimitsChildren() bool {
	for _, kind := range []string{"listener", "pool", "member", "health_monitor"} {
		if limit, known := q[kind]; !known || limit != unlimited {
			return true
		}
	}
	return false
}
