// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import "github.com/kube-octavia/kube-octavia/internal/lb"

// access is what says who may connect to a load balancer.
type access int

const (
	// accessBySources: the source ranges of each listener.
	accessBySources access = iota
	// accessByGroups: the security groups of the VIP. Ranges that listeners have do nothing beside them.
	accessByGroups
	// accessAsFound: it stays as it is, and no port is opened. Octavia refuses source ranges beside groups, and without groups the
	// ports would be open to everybody until they have ranges.
	accessAsFound
)

// vipGroups plans the security groups of the VIP, unless they are those of another owner or client. Groups come before new ports,
// and go after all that is closed. They come beside source ranges, which go afterwards; ranges of another owner or client stay
// in force.
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
	case want.RestrictsSources() || !before && have.RestrictsSourcesOfOthers(t.owner):
		return accessAsFound
	case lb.SameVIPGroups(groups, have.VIPSecurityGroups):
		return accessByGroups
	}
	set := SetVIPSecurityGroups{ID: have.ID, Groups: groups, Tags: lb.WithVIPGroups(t.tags(want.Tags, have.Tags), groups)}
	if after {
		t.restricting = append(t.restricting, set)
	} else {
		t.admitting = append(t.admitting, set)
	}
	return accessByGroups
}
