// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import "github.com/kube-octavia/kube-octavia/internal/lb"

// access is what says who may connect to a load balancer.
type access int

const (
	// accessBySources: the source ranges of each listener.
	accessBySources access = iota
	// accessByGroups: the security groups of the VIP. Octavia refuses listeners with source ranges then.
	accessByGroups
	// accessAsFound: it stays as it is, and no port is opened. Octavia cannot exchange source ranges for groups, or the other
	// way round: it refuses each while the other is there, and with neither the ports are open to everybody.
	accessAsFound
)

// vipGroups plans the security groups of the VIP, unless they are those of another owner or client. Octavia refuses them while
// a listener has source ranges, also such that everybody is in. Groups come before new ports, and go after all that is closed.
func (t *changes) vipGroups(want, have lb.LoadBalancer) access {
	groups, ours := have.VIPSecurityGroups, !t.owner.Sharer
	switch {
	case ours && len(want.VIPSecurityGroups) > 0:
		groups = want.VIPSecurityGroups
	case ours && have.VIPGroupsAreOurs():
		groups = nil
	}
	before, after := len(have.VIPSecurityGroups) > 0, len(groups) > 0
	switch {
	case !before && !after:
		return accessBySources
	case have.RestrictsSources() || want.RestrictsSources():
		return accessAsFound
	case lb.SameVIPGroups(groups, have.VIPSecurityGroups):
		return accessByGroups
	}
	set := SetVIPSecurityGroups{ID: have.ID, Groups: groups, Tags: lb.WithVIPGroups(t.tags(want.Tags, have.Tags), groups)}
	if !after {
		t.admitting = append(t.admitting, set)
		return accessByGroups
	}
	for _, l := range have.Listeners {
		if len(l.AllowedCIDRs) > 0 {
			t.restricting = append(t.restricting, UpdateListener{ID: l.ID, Key: l.Key(), AllowedCIDRs: &[]string{}})
		}
	}
	t.restricting = append(t.restricting, set)
	return accessByGroups
}
