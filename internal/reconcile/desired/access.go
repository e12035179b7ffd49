// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// checkAccess refuses security groups of the VIP that cannot be set, and source ranges that cannot be enforced beside
// existing groups. Octavia accepts groups beside source ranges, but then the ranges have no effect. It refuses ranges
// beside groups. A change from groups to ranges would leave the ports open to every client in between, so it needs
// another load balancer.
func (in Input) checkAccess(options annotation.Options) error {
	key, groups := in.key(annotation.VIPSecurityGroups), strings.Join(options.VIPSecurityGroups, ",")
	ranges := in.requestedSources(options)
	wants, restricted, have := groups != "", restricts(ranges, in.served()), in.Found
	switch {
	case wants && restricted:
		return invalid(ReasonInvalidAnnotation, "annotation %s=%q and source ranges %s (%s) exclude each other in Octavia; remove one of them",
			key, groups, strings.Join(ranges, ", "), in.sourceOfRanges())
	case wants && !in.Capabilities.Has(lb.FeatureVIPSecurityGroups):
		return invalid(ReasonUnsupported, "annotation %s: security groups of the VIP need %s. Remove the annotation, or restrict the sources elsewhere",
			key, in.needs(lb.FeatureVIPSecurityGroups))
	case wants && !in.Capabilities.Has(lb.FeatureTags):
		return invalid(ReasonUnsupported, "annotation %s: security groups of the VIP need %s", key, in.needs(lb.FeatureTags))
	case have == nil:
		return nil
	case wants && in.Sharer && !lb.SameVIPGroups(in.Networks.VIPSecurityGroupIDs, have.VIPSecurityGroups):
		return invalid(ReasonSharingRefused, "annotation %s=%q: load balancer %s was created for another Service, which decides about its security groups; it has %s. "+
			"Remove the annotation, set it on that Service, or give this one a separate load balancer", key, groups, have.ID, orNone(have.VIPSecurityGroups))
	case wants && len(have.VIPSecurityGroups) == 0 && have.RestrictsSourcesOfOthers(in.Owner):
		return invalid(ReasonSharingRefused, "annotation %s=%q: load balancer %s has source ranges of another Service or client, and security groups would "+
			"override them. Remove the annotation or these ranges, or give this Service a separate load balancer", key, groups, have.ID)
	case !restricted || len(have.VIPSecurityGroups) == 0:
		return nil
	case in.Sharer:
		return invalid(ReasonSharingRefused, "load balancer %s was created for another Service and has security groups %s, with which Octavia enforces no source ranges. "+
			"Remove the ranges, or give this Service a separate load balancer", have.ID, orNone(have.VIPSecurityGroups))
	case have.VIPGroupsAreOurs():
		return invalid(ReasonRequiresReplacement, "Octavia cannot exchange the security groups of load balancer %s for source ranges "+
			"without opening its ports to everybody in between", have.ID)
	}
	return invalid(ReasonUnsupported, "another client has given load balancer %s security groups %s, with which Octavia enforces no source ranges. Remove the ranges; "+
		"or remove the groups, after which everybody can connect to ports without ranges until they are set: openstack loadbalancer unset --vip-sg-id %s", have.ID, orNone(have.VIPSecurityGroups), have.ID)
}

// sourceOfRanges says where the requested source ranges are written.
func (in Input) sourceOfRanges() string {
	switch {
	case len(in.Spec.SourceRanges) > 0:
		return "spec.loadBalancerSourceRanges"
	case len(in.annotated(annotation.SourceRanges)) > 0:
		return "annotation " + in.key(annotation.SourceRanges)
	}
	return fmt.Sprintf("source-ranges in cloud.conf; to allow every client, set annotation %s to an empty value", annotation.SourceRanges)
}

func orNone(ids []string) string {
	if len(ids) == 0 {
		return "none"
	}
	return strings.Join(ids, ", ")
}
