// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// access is how the clients that may connect to a load balancer are determined.
type access int

const (
	// accessBySources: the source ranges of each listener.
	accessBySources access = iota
	// accessByGroups: the security groups of the VIP. Source ranges of listeners have no effect beside groups.
	accessByGroups
	// accessAsFound: access stays as it is, and no port is opened. Octavia refuses source ranges beside groups. Without
	// groups, the ports would be open to every client until they have ranges.
	accessAsFound
)

// vipGroups plans the security groups of the VIP, unless they are those of another owner or client. Groups are set
// before new ports open, and removed after all ports that are closed. They are set beside source ranges, which are
// removed afterwards. They are not set while that would open a port to more clients than intended. This can be a port
// with ranges that is to be closed, or a port of another owner or client.
func (t *changes) vipGroups(want, have lb.LoadBalancer) access {
	groups, ours := have.VIPSecurityGroups, !t.owner.Sharer
	switch {
	case ours && len(want.VIPSecurityGroups) > 0:
		groups = want.VIPSecurityGroups
	case ours && have.VIPGroupsAreOurs():
		groups = nil
	}
	after := len(groups) > 0
	restricts := func(l lb.Listener) bool { return !lb.AdmitsEveryClient(l.AllowedCIDRs, t.dualStack) }
	closes := func(l lb.Listener) bool {
		stays := slices.ContainsFunc(want.Listeners, func(w lb.Listener) bool { return w.Key() == l.Key() })
		return restricts(l) && !stays && t.owner.OwnsListener(l)
	}
	switch {
	case !t.grouped && !after:
		return accessBySources
	case slices.ContainsFunc(want.Listeners, restricts):
		return accessAsFound
	case !t.grouped && (have.RestrictsSourcesOfOthers(t.owner) || slices.ContainsFunc(have.Listeners, closes)):
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
