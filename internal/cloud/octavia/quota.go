// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/cloud/decoding"
)

// unlimited means no limit.
const unlimited = -1

// quotaNames has the names of each kind in answers. Octavia shows the older ones, the newer ones, or both.
var quotaNames = map[string][]string{
	"load_balancer": {"load_balancer", "loadbalancer"}, "listener": {"listener"}, "pool": {"pool"}, "member": {"member"},
	"health_monitor": {"health_monitor", "healthmonitor"},
}

// Quota is what the project may have, by kind: load_balancer, listener, pool, member and health_monitor; -1 means no limit.
type Quota map[string]int

// Quota reads the quota of the project.
func (c *Client) Quota(ctx context.Context) (Quota, error) {
	var answer struct{ Quota decoding.Entries[int] }
	if err := c.get(ctx, "read the quota of Octavia", "quotas/"+c.projectID, &answer); err != nil {
		return nil, err
	}
	quota := Quota{}
	for kind, names := range quotaNames {
		for _, name := range names {
			if limit, known := answer.Quota[name]; known {
				quota[kind] = limit
				break
			}
		}
	}
	return quota, nil
}

// LimitsChildren reports whether it limits any children of load balancers.
func (q Quota) LimitsChildren() bool {
	for _, kind := range []string{"listener", "pool", "member", "health_monitor"} {
		if limit, known := q[kind]; !known || limit != unlimited {
			return true
		}
	}
	return false
}
