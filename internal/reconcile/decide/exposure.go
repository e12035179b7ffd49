// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// ExposureMatters reports whether a decision depends on what the other owners of a shared load balancer request.
func ExposureMatters(in desired.Input) bool {
	internal := in.Spec.Options.Internal
	switch {
	case in.Found == nil:
		return false
	case in.Sharer:
		return internal
	}
	floating := in.FoundAddress != in.Found.VIP.Address
	return internal == floating && (!floating || diff.Shared(*in.Found, in.Owner))
}

// Exposure returns what the other owners of a shared load balancer request:
//   - For a sharer that is internal: whether the owner requests a floating IP.
//   - For an external owner, if the load balancer has no floating IP: which internal owners a floating IP would
//     expose.
//   - For an internal owner, if the load balancer has a floating IP: which other users need it.
func Exposure(in desired.Input, of claim.Owner, all []claim.Owner) desired.Sharing {
	s, floating := in.Sharing, in.FoundAddress != in.Found.VIP.Address
	switch {
	case in.Sharer:
		i := slices.IndexFunc(all, func(o claim.Owner) bool { return o.Identity.ServiceUID == lb.ServiceUIDOf(in.Found.Tags) })
		s.OwnerExternal = i >= 0 && !floating && !isInternal(all[i])
		s.OwnerInternal = i >= 0 && floating && releasesFloatingIP(all[i])
	case floating:
		s.WouldCutOff = externalUsers(in, all)
	default:
		s.WouldExpose = internalUsers(in, of, all)
	}
	return s
}

// externalUsers names the other users of the Service's own load balancer that need its floating IP. Users that are
// unknown count as external: they may be Services of another cluster.
func externalUsers(in desired.Input, all []claim.Owner) []string {
	var external []string
	unknown := slices.DeleteFunc(lb.NameTags(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
	for _, other := range all {
		if other.Identity.ServiceUID == in.Owner.ServiceUID || !other.Identity.Joined(*in.Found) {
			continue
		}
		unknown = slices.DeleteFunc(unknown, func(tag string) bool { return tag == other.Identity.LoadBalancerName() })
		if other.Serves && !other.Spec.Options.Internal {
			external = append(external, other.Key.String())
		}
	}
	return append(external, unknown...)
}

// releasesFloatingIP reports whether the owner of a load balancer is internal and not refused, so
// that it releases a floating IP that another client attached.
func releasesFloatingIP(of claim.Owner) bool {
	return of.Spec.Options.Internal && len(of.Spec.Problems) == 0 && of.Serves && !of.Recorded.Refused
}

// internalUsers names the internal Services that share the Service's own load balancer or are
// about to. If the Service itself was internal, unknown users count as internal.
func internalUsers(in desired.Input, of claim.Owner, all []claim.Owner) []string {
	var internal []string
	unknown := slices.DeleteFunc(lb.NameTags(*in.Found), func(tag string) bool { return tag == in.Owner.LoadBalancerName() || tag == in.Found.Name })
	for _, other := range all {
		name := other.Identity.LoadBalancerName()
		joins := other.Claimed && other.Recorded.LoadBalancerID == in.Found.ID && !other.Recorded.Refused
		if other.UID != of.UID && (joins || slices.Contains(unknown, name)) && isInternal(other) {
			internal = append(internal, other.Key.String())
		}
		unknown = slices.DeleteFunc(unknown, func(tag string) bool { return tag == name })
	}
	if of.Published() == in.Found.VIP.Address {
		internal = append(internal, unknown...)
	}
	return internal
}

// isInternal reports whether the Service must not be reachable from outside. With invalid
// annotations it counts as internal.
func isInternal(of claim.Owner) bool {
	return of.Spec.Options.Internal || len(of.Spec.Problems) > 0
}
