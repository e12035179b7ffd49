// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "github.com/kube-octavia/kube-octavia/internal/model/lb"

// Status is the state of one object of a load balancer.
type Status struct {
	Provisioning lb.ProvisioningStatus
	// Operating is Octavia's operating_status, which shows whether it serves.
	Operating string
}

// Statuses returns the statuses of all objects of the tree, by id.
func (t Tree) Statuses() map[string]Status {
	all := map[string]Status{}
	add := func(p part) { all[p.ID] = Status{p.ProvisioningStatus, p.OperatingStatus} }
	add(t.part)
	for _, listener := range t.Listeners {
		add(listener.part)
		for _, pool := range listener.Pools {
			add(pool.part)
			if pool.Monitor != nil {
				add(*pool.Monitor)
			}
			for _, member := range pool.Members {
				add(member.part)
			}
		}
	}
	return all
}
