// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// Families are the IP families that the Service asks for: one, or both with the first
// one first.
func (in Input) Families() []corev1.IPFamily {
	switch all := in.Service.Spec.IPFamilies; len(all) {
	case 0:
		return []corev1.IPFamily{corev1.IPv4Protocol}
	default:
		return all[:min(len(all), 2)]
	}
}

// Family is the Service's first IP family, that of the load balancer's VIP.
func (in Input) Family() corev1.IPFamily { return in.Families()[0] }

// required reports whether the Service is to be refused rather than served by one family.
func (in Input) required() bool {
	policy := in.Service.Spec.IPFamilyPolicy
	return policy != nil && *policy == corev1.IPFamilyPolicyRequireDualStack
}

// WantsSubnets reports whether the subnets of VIPs are to be looked for in their network: a
// load balancer is still to be made, for a Service that asks for both families; or for an
// IPv6 Service of which the network is all that is said, where Octavia would choose an
// IPv4 subnet.
func (in Input) WantsSubnets() bool {
	n := in.Networks
	onlyNetwork := n.VIPSubnetID == "" && n.VIPNetworkID != ""
	return in.Found == nil && (len(in.Families()) > 1 || onlyNetwork && in.Family() == corev1.IPv6Protocol)
}

// dualStack decides whether the load balancer serves both families of a Service that asks
// for both. If it does not, either the Service is served by the first one and told why, or
// refused with an *Invalid.
func (in Input) dualStack(options annotation.Options) (both bool, withheld []lb.Withheld, err error) {
	if len(in.Families()) < 2 {
		return false, in.additionalVIPKept(), nil
	}
	obstacle := in.obstacle(options)
	switch {
	case obstacle == nil:
		return true, nil, nil
	case in.required():
		return false, nil, &Invalid{obstacle.Reason, obstacle.Message + ". spec.ipFamilyPolicy is RequireDualStack, so the Service is refused; with PreferDualStack it is served by one family"}
	}
	// Its own reason: the Service is served all the same.
	reason := obstacle.Reason
	if reason == ReasonRequiresReplacement {
		reason = ReasonSingleStackLoadBalancer
	}
	return false, []lb.Withheld{{Reason: reason, Message: fmt.Sprintf(
		"%s. The Service is served by %s only; to accept that, set spec.ipFamilyPolicy to SingleStack", obstacle.Message, in.Family())}}, nil
}

// obstacle is what keeps a Service from being served by both families, or nil.
func (in Input) obstacle(options annotation.Options) *Invalid {
	can, second := in.Capabilities, in.Families()[1]
	restricted := restricts(in.askedSources(options), in.Families())
	// What would be in the way of another load balancer, too, comes before the one that is
	// there.
	switch found := in.Found; {
	case found != nil && found.DualStack():
		// Source ranges are refused then, whichever the policy.
		return nil
	case found != nil && in.Sharer:
		return &Invalid{ReasonRequiresReplacement, fmt.Sprintf(
			"load balancer %s of annotation %s has no %s address; name one that has, or remove the annotation to get a separate load balancer", found.ID, annotation.LoadBalancerID, second)}
	case !can.Has(lb.FeatureAdditionalVIPs):
		return &Invalid{ReasonDualStackUnsupported, fmt.Sprintf(
			"a load balancer with addresses of both families needs %s; this cloud has %s",
			lb.FeatureAdditionalVIPs.Needs(), can.Lacking(lb.FeatureAdditionalVIPs))}
	case restricted:
		return &Invalid{ReasonDualStackUnsupported,
			"Octavia cannot enforce source ranges on a load balancer with addresses of both families; remove the ranges to get both families"}
	case found != nil:
		return &Invalid{ReasonRequiresReplacement, fmt.Sprintf(
			"load balancer %s has no %s address, and Octavia cannot add one; to get one, delete the Service and create it again, in a network with an %s subnet", found.ID, second, second)}
	case in.Networks.AdditionalSubnetID == "":
		return &Invalid{ReasonDualStackUnsupported, fmt.Sprintf(
			"the VIP's network has no %s subnet that the project can see, or the given port has no such address; add a subnet, or name one in annotation %s",
			second, annotation.AdditionalSubnetID)}
	}
	return nil
}

// additionalVIPKept says that a load balancer is reached at an address that the Service
// has given up.
func (in Input) additionalVIPKept() []lb.Withheld {
	if in.Found == nil || in.Sharer || !in.Found.DualStack() {
		return nil
	}
	vip, _ := in.Found.VIPOf(in.Family() != corev1.IPv4Protocol)
	return []lb.Withheld{{Reason: ReasonAdditionalVIPKept, Message: fmt.Sprintf(
		"load balancer %s also has address %s, of an IP family that the Service no longer uses, and Octavia cannot remove it: "+
			"the ports remain reachable there. To remove it, delete the Service and create it again; to keep using it, set spec.ipFamilyPolicy to PreferDualStack",
		in.Found.ID, vip.Address)}}
}

// additionalVIPs is the VIP of the second family, where there is one.
func (in Input) additionalVIPs() []lb.VIP {
	if !in.both {
		return nil
	}
	return []lb.VIP{{SubnetID: in.Networks.AdditionalSubnetID}}
}

// served are the families that the load balancer serves.
func (in Input) served() []corev1.IPFamily {
	if in.both {
		return in.Families()
	}
	return in.Families()[:1]
}

// place is a target and the subnet from which it is reached.
type place struct {
	target.Target
	subnetID string
}

// targets are where traffic of a port goes; with local only nodes that have an endpoint.
//
// Of a load balancer with VIPs of both families, HAProxy takes connections at either and
// opens its own to the members, of whatever family: each node is there once, by its
// address of the first family, or of the second if it has no other. Once for each would
// count nodes with both twice, and fail where the Pods have one only. Linux Virtual Server,
// which carries UDP and SCTP, forwards packets within a family (octavia's template
// common/jinja/lvs/templates/macros.j2 makes a virtual server for each, with the members
// of that one): there each node is once for each family. The driver takes members of any
// family that a VIP has (_validate_members in api/drivers/amphora_driver/v2/driver.py).
func (in Input) targets(protocol corev1.Protocol, local bool) []place {
	var all []place
	for i, family := range in.served() {
		targets, _ := target.Nodes(in.Nodes, in.choice(i, family))
		if local {
			targets = target.WithEndpoints(targets, ofFamily(in.Slices, family))
		}
		subnet := in.Networks.MemberSubnetID
		if i > 0 {
			subnet = in.Networks.AdditionalSubnetID
		}
		for _, t := range targets {
			there := slices.ContainsFunc(all, func(p place) bool { return p.Node == t.Node })
			if !there || protocol != corev1.ProtocolTCP {
				all = append(all, place{t, subnet})
			}
		}
	}
	return all
}

// prefer notes which addresses of nodes the Service asks for.
func (in *Input) prefer(options annotation.Options) {
	in.addressType, in.memberSubnetNamed = corev1.NodeAddressType(options.NodeAddressType), options.MemberSubnetID != ""
}

// choice says which address of a node becomes a member, of the first family that is served
// (i is 0) or of the second.
func (in Input) choice(i int, family corev1.IPFamily) target.Choice {
	c := target.Choice{Family: family, Type: in.addressType, Subnet: in.Networks.MemberCIDR, Named: in.memberSubnetNamed, Keep: in.keep}
	if i > 0 {
		c.Subnet, c.Named = in.Networks.AdditionalCIDR, false
	}
	return c
}

// ofFamily are the EndpointSlices with addresses of the family.
func ofFamily(all []discoveryv1.EndpointSlice, family corev1.IPFamily) []discoveryv1.EndpointSlice {
	return slices.DeleteFunc(slices.Clone(all), func(s discoveryv1.EndpointSlice) bool {
		return s.AddressType != "" && string(s.AddressType) != string(family)
	})
}
