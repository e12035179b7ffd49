// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"fmt"
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// withoutMonitors returns a copy of the load balancer without health monitors.
func withoutMonitors(l lb.LoadBalancer) lb.LoadBalancer {
	bare := cloneLoadBalancer(l)
	eachPool(&bare, func(p *lb.Pool) { p.Monitor = nil })
	return bare
}

// hasMonitor reports whether any pool of the load balancer has a health monitor, ours or not, used or not.
func hasMonitor(l lb.LoadBalancer) bool {
	has := func(p *lb.Pool) bool { return p != nil && p.Monitor != nil }
	return slices.ContainsFunc(l.Listeners, func(l lb.Listener) bool { return has(l.Pool) }) ||
		slices.ContainsFunc(l.DetachedPools, func(p lb.Pool) bool { return has(&p) })
}

// blockedByMonitor refuses a new port on a load balancer with a health monitor that must not be changed: the load
// balancer would stay PENDING for ever. A monitor that was left PENDING must not be deleted; its pool will be replaced.
func blockedByMonitor(want lb.Listener, have lb.LoadBalancer) Refusal {
	return Refusal{ReasonBlockedByHealthMonitor, fmt.Sprintf(
		"port %s cannot be opened while load balancer %s has a health monitor: in this cloud that would lock the load balancer permanently. "+
			"Delete its monitors that are ACTIVE, or delete the Service and create it again", portText(want.Key()), have.ID)}
}
