// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"net/netip"
	"slices"
	"strings"
)

// Security groups of the VIP are only removed if we set them. So the load balancer has a tag with a digest of the
// groups that we set. This tag is written in the same call as the groups. If another client changes the groups, the
// digest no longer matches, and the groups belong to that client.

// WithVIPGroups returns the tags of a load balancer that gets the groups from us. If groups is empty, these are the
// tags of a load balancer that loses the groups that we set.
func WithVIPGroups(tags, groups []string) []string {
	tags = slices.DeleteFunc(slices.Clone(tags), func(t string) bool { return strings.HasPrefix(t, vipGroupsTag) })
	if len(groups) == 0 {
		return tags
	}
	return append(tags, vipGroupsTagOf(groups))
}

// VIPGroupsAreOurs reports whether the load balancer has security groups, and exactly those that we set.
func (l LoadBalancer) VIPGroupsAreOurs() bool {
	return len(l.VIPSecurityGroups) > 0 && slices.Contains(l.Tags, vipGroupsTagOf(l.VIPSecurityGroups))
}

// VIPGroupsAreOthers reports whether the load balancer has security groups that another client set.
func (l LoadBalancer) VIPGroupsAreOthers() bool {
	return len(l.VIPSecurityGroups) > 0 && !l.VIPGroupsAreOurs()
}

func vipGroupsTagOf(groups []string) string {
	return vipGroupsTag + digest(strings.Join(sortedSet(groups), ","))
}

// SameVIPGroups compares sets of ids of security groups.
func SameVIPGroups(a, b []string) bool { return slices.Equal(sortedSet(a), sortedSet(b)) }

func sortedSet(all []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(all)))
}

// AdmitsEveryClient reports whether source ranges exclude no client: there are none, or they have the whole address
// space. On a load balancer of both families, Octavia admits no client of a family without a range (measured with
// Octavia 16). So there the ranges must have the whole address space of both families.
func AdmitsEveryClient(cidrs []string, dualStack bool) bool {
	whole := map[bool]bool{} // the key is whether the family is IPv4
	for _, text := range cidrs {
		if p, err := netip.ParsePrefix(text); err == nil && p.Bits() == 0 {
			whole[p.Addr().Is4()] = true
		}
	}
	return len(cidrs) == 0 || len(whole) == 2 || len(whole) == 1 && !dualStack
}

// RestrictsSources reports whether any listener of the load balancer has source ranges that exclude a client.
func (l LoadBalancer) RestrictsSources() bool {
	dualStack := l.DualStack()
	return slices.ContainsFunc(l.Listeners, func(l Listener) bool { return !AdmitsEveryClient(l.AllowedCIDRs, dualStack) })
}

// RestrictsSourcesOfOthers reports whether a listener that the owner does not own has source ranges that exclude a
// client.
func (l LoadBalancer) RestrictsSourcesOfOthers(owner Owner) bool {
	dualStack := l.DualStack()
	return slices.ContainsFunc(l.Listeners, func(l Listener) bool {
		return !owner.OwnsListener(l) && !AdmitsEveryClient(l.AllowedCIDRs, dualStack)
	})
}
