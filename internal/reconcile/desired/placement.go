// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// loadBalancer returns the load balancer without listeners.
func (in Input) loadBalancer(options annotation.Options) *lb.LoadBalancer {
	if in.Sharer {
		return &lb.LoadBalancer{Tags: in.Owner.SharerTags(), AdditionalVIPs: in.additionalVIPs(), AdminDown: in.Found != nil && in.Found.AdminDown}
	}
	balancer := &lb.LoadBalancer{
		Name:        in.Owner.LoadBalancerName(),
		Description: in.Owner.Description(),
		Tags:        in.tags(options.Tags, options.LoadBalancerTags),
		Provider:    options.Provider,
		VIP:         lb.VIP{SubnetID: in.Networks.VIPSubnetID, NetworkID: in.Networks.VIPNetworkID},

		AdditionalVIPs: in.additionalVIPs(),
	}
	if options.PortID != "" {
		balancer.VIP = lb.VIP{PortID: options.PortID, SubnetID: in.Networks.VIPSubnetID}
	}
	balancer.VIPSecurityGroups = slices.Compact(slices.Sorted(slices.Values(in.Networks.VIPSecurityGroupIDs)))
	if in.Capabilities.Has(lb.FeatureFlavors) {
		balancer.FlavorID = options.FlavorID
	}
	if in.Capabilities.Has(lb.FeatureAvailabilityZones) {
		balancer.AvailabilityZone = options.AvailabilityZone
	}
	return balancer
}

// checkPlacement refuses changes that cannot be made to an existing load balancer. Only annotations count: cloud.conf
// applies to new load balancers.
func (in Input) checkPlacement(options annotation.Options) error {
	have := in.Found
	if have == nil || in.Sharer {
		return nil
	}
	var others []string
	for _, p := range []struct{ key, what, want, have string }{
		{annotation.PortID, "port of the VIP", options.PortID, have.VIP.PortID},
		{annotation.SubnetID, "subnet of the VIP", options.SubnetID, have.VIP.SubnetID},
		{annotation.AdditionalSubnetID, "subnet of the additional VIP", options.AdditionalSubnetID, additionalSubnet(have)},
		{annotation.NetworkID, "network of the VIP", options.NetworkID, have.VIP.NetworkID},
		{annotation.FlavorID, "flavor", options.FlavorID, have.FlavorID},
		{annotation.AvailabilityZone, "availability zone", options.AvailabilityZone, have.AvailabilityZone},
	} {
		if len(in.annotated(p.key)) > 0 && !sameID(p.want, p.have) && !in.overruled(p.key, options) {
			others = append(others, fmt.Sprintf("%s %s instead of %s (annotation %s)", p.what, p.want, cmp.Or(p.have, "none"), in.key(p.key)))
		}
	}
	others = append(others, in.otherVIPs()...)
	if len(others) == 0 {
		return nil
	}
	return invalid(ReasonRequiresReplacement, "Octavia cannot change load balancer %s to have %s", have.ID, strings.Join(others, ", "))
}

// RequiresReplacement returns the *Invalid in err if another load balancer could serve the Service, or nil.
func RequiresReplacement(err error) *Invalid {
	var i *Invalid
	if errors.As(err, &i) && i.Reason == ReasonRequiresReplacement {
		return i
	}
	return nil
}

// overruled reports whether another annotation, the cloud, or cluster-ip mode makes this annotation meaningless.
func (in Input) overruled(key string, options annotation.Options) bool {
	if in.Config.AtClusterIP != nil && slices.Contains([]string{annotation.PortID, annotation.SubnetID, annotation.AdditionalSubnetID, annotation.NetworkID}, key) {
		return true
	}
	switch key {
	case annotation.SubnetID:
		// With both families, either VIP may be in this subnet.
		return options.PortID != "" || in.both && sameID(options.SubnetID, additionalSubnet(in.Found))
	case annotation.AdditionalSubnetID:
		return options.PortID != "" || !in.both || sameID(options.AdditionalSubnetID, in.Found.VIP.SubnetID)
	case annotation.NetworkID:
		return options.PortID != "" || options.SubnetID != ""
	case annotation.FlavorID:
		return !in.Capabilities.Has(lb.FeatureFlavors)
	case annotation.AvailabilityZone:
		return !in.Capabilities.Has(lb.FeatureAvailabilityZones)
	}
	return false
}

func additionalSubnet(l *lb.LoadBalancer) string {
	if len(l.AdditionalVIPs) == 0 {
		return ""
	}
	return l.AdditionalVIPs[0].SubnetID
}

// sameID compares ids, which may have no dashes or capital letters.
func sameID(a, b string) bool {
	plain := func(id string) string { return strings.ToLower(strings.ReplaceAll(id, "-", "")) }
	return a == b || plain(a) == plain(b)
}
