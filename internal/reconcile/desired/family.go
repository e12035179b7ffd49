// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Families returns the IP families that the Service requests: one, or both in its order.
func (in Input) Families() []corev1.IPFamily {
	if all := in.Spec.Families; len(all) > 0 {
		return all[:min(len(all), 2)]
	}
	return []corev1.IPFamily{corev1.IPv4Protocol}
}

// Family returns the Service's first IP family, that of the load balancer's VIP.
func (in Input) Family() corev1.IPFamily { return in.Families()[0] }

// required reports whether the Service must be refused rather than served by one family.
func (in Input) required() bool {
	return in.Spec.RequireDualStack
}

// WantsSubnets reports whether to look up the subnets of VIPs in their network, for a load balancer that does not exist
// yet. The cases are:
//   - Services with both families,
//   - IPv6 Services: Octavia would choose an IPv4 subnet in a network, and the subnet of cloud.conf usually has IPv4,
//   - cluster-ip mode, where the given subnet has one of the families.
func (in Input) WantsSubnets() bool {
	return in.Found == nil && (len(in.Families()) > 1 || in.Family() == corev1.IPv6Protocol || in.Config.AtClusterIP != nil)
}

// dualStack decides whether the load balancer serves both families of a Service that requests both. If not, the
// Service is served by the first one, with a message, or refused with an *Invalid.
func (in Input) dualStack(options annotation.Options) (both bool, withheld []lb.Withheld, err error) {
	if len(in.Families()) < 2 {
		return false, in.additionalVIPKept(), nil
	}
	obstacle := in.obstacle(options)
	switch {
	case obstacle == nil:
		return true, nil, nil
	case in.required():
		return false, nil, &Invalid{Reason: obstacle.Reason, Message: obstacle.Message + ". spec.ipFamilyPolicy is RequireDualStack, so the Service is refused; with PreferDualStack it is served by one family"}
	}
	// Another reason, because the Service is served nevertheless.
	reason := obstacle.Reason
	if reason == ReasonRequiresReplacement {
		reason = ReasonSingleStackLoadBalancer
	}
	return false, []lb.Withheld{{Reason: reason, Message: fmt.Sprintf(
		"%s. The Service is served by %s only; to accept that, set spec.ipFamilyPolicy to SingleStack", obstacle.Message, in.Family())}}, nil
}

// FamiliesToServe returns the families of the VIPs that a new load balancer would have.
func (in Input) FamiliesToServe(options annotation.Options) []corev1.IPFamily {
	if both, _, err := in.dualStack(options); both && err == nil {
		return in.Families()
	}
	return in.Families()[:1]
}

// obstacle returns the reason why the Service cannot be served by both families, or nil.
func (in Input) obstacle(options annotation.Options) *Invalid {
	second := in.Families()[1]
	restricted := restricts(in.requestedSources(options), in.Families())
	// Obstacles for a new load balancer come before those of the existing one.
	switch found := in.Found; {
	case found != nil && found.DualStack():
		// On such a load balancer, source ranges that cannot be enforced are refused, with any ipFamilyPolicy.
		return nil
	case found != nil && in.Sharer:
		return invalid(ReasonRequiresReplacement, "load balancer %s of annotation %s has no %s address; name one that has, "+
			"or remove the annotation to get a separate load balancer", found.ID, annotation.LoadBalancerID, second)
	case !in.Capabilities.Has(lb.FeatureAdditionalVIPs):
		return invalid(ReasonDualStackUnsupported, "a load balancer with addresses of both families needs %s", in.needs(lb.FeatureAdditionalVIPs))
	case restricted && !in.Capabilities.Has(lb.FeatureDualStackSourceRanges):
		return invalid(ReasonDualStackUnsupported, "source ranges on a load balancer with addresses of both families need %s; "+
			"remove the ranges to get both families", in.needs(lb.FeatureDualStackSourceRanges))
	case found != nil:
		return invalid(ReasonRequiresReplacement, "load balancer %s has no %s address, and Octavia cannot add one; to get one, "+
			"delete the Service and create it again, in a network with an %s subnet", found.ID, second, second)
	case in.Networks.AdditionalSubnetID == "":
		return invalid(ReasonDualStackUnsupported, "the VIP's network has no %s subnet that the project can see, or the given port "+
			"has no such address; add a subnet, or name one in annotation %s", second, in.key(annotation.AdditionalSubnetID))
	}
	return nil
}

// additionalVIPKept reports that the load balancer also has an address of a family that the Service no longer
// requests.
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

// additionalVIPs returns the VIP of the second family, if any.
func (in Input) additionalVIPs() []lb.VIP {
	if !in.both {
		return nil
	}
	return []lb.VIP{{SubnetID: in.Networks.AdditionalSubnetID}}
}

// served returns the families that the load balancer serves.
func (in Input) served() []corev1.IPFamily {
	if in.both {
		return in.Families()
	}
	return in.Families()[:1]
}

// choice is how members are chosen.
type choice struct {
	// pods means that Pods are the members, and nothing below matters.
	pods bool
	// subset determines which nodes are members. addresses determines which address of each node is used, apart from
	// family and subnet; the addresses of existing members are kept.
	subset    member.Subset
	addresses member.Choice
	// known are the targets that were already chosen for another port: most ports of a Service have the same targets.
	// It is nil if each port has its own.
	known map[targetKind][]member.Target
}

// targetKind is what the targets of a port depend on.
type targetKind struct{ once, local bool }

// targets returns the nodes that take the traffic of a port; with local, only those with an endpoint.
//
// With VIPs of both families, HAProxy accepts connections to either VIP, and opens its own connections to members of
// any family. So each node is a member once: with its address of the first family, or else of the second. If nodes with
// both addresses were members twice, they would be counted twice, and connections would fail if the Pods have one
// family only. Linux Virtual Server, which carries UDP and SCTP, forwards packets within a family (Octavia's template
// common/jinja/lvs/templates/macros.j2 has a virtual server per family, with the members of that family), so each node
// is a member once per family. The driver accepts members of every family that a VIP has (_validate_members in
// api/drivers/amphora_driver/v2/driver.py).
func (in Input) targets(protocol corev1.Protocol, local bool) []member.Target {
	once := protocol == corev1.ProtocolTCP
	kind := targetKind{once, local}
	all, known := in.members.known[kind]
	if known {
		return all
	}
	for i, family := range in.served() {
		targets, _ := member.Nodes(in.Nodes, in.addressChoice(i, family))
		if local {
			targets = member.WithEndpoints(targets, ofFamily(in.Slices, family))
		}
		if !once {
			targets = in.members.subset.Of(unique(targets))
		}
		all = append(all, targets...)
	}
	if once {
		all = in.members.subset.Of(unique(oncePerNode(all)))
	}
	if in.members.known != nil {
		in.members.known[kind] = all
	}
	return all
}

// unique returns the targets with each address only once. A node that was created again under another name may share
// its address with the old node for a while, but Octavia accepts each address only once.
func unique(targets []member.Target) []member.Target {
	seen := make(map[netip.Addr]bool, len(targets))
	return slices.DeleteFunc(targets, func(t member.Target) bool {
		again := seen[t.Address]
		seen[t.Address] = true
		return again
	})
}

// oncePerNode returns the first target of each node.
func oncePerNode(targets []member.Target) []member.Target {
	seen := make(map[string]bool, len(targets))
	return slices.DeleteFunc(targets, func(t member.Target) bool {
		again := seen[t.Node]
		seen[t.Node] = true
		return again
	})
}

// memberSubnet returns the subnet from which the address of a node is reached.
func (in Input) memberSubnet(address netip.Addr) string {
	if FamilyOf(address) == in.Family() {
		return in.Networks.MemberSubnetID
	}
	return in.Networks.AdditionalSubnetID
}

// chooseMembers sets whether Pods become members or which nodes, and which of their addresses, as the Service requests.
// With traffic policy Local the number of members is not limited: only nodes with endpoints serve, and there are not
// many of them.
func (in *Input) chooseMembers(options annotation.Options) {
	in.members = choice{pods: options.TargetType == config.PodTargets, known: map[targetKind][]member.Target{}}
	in.members.addresses.Type, in.members.addresses.Named = corev1.NodeAddressType(options.NodeAddressType), options.MemberSubnetID != ""
	if !in.local() {
		in.members.subset = member.Subset{Most: options.MaxMembers, Seed: in.Owner.ServiceUID}
	}
}

// addressChoice returns which address of a node becomes a member of the i-th served family.
func (in Input) addressChoice(i int, family corev1.IPFamily) member.Choice {
	c := in.members.addresses
	c.Family, c.Subnet = family, in.Networks.MemberCIDR
	if i > 0 {
		c.Subnet, c.Named = in.Networks.AdditionalCIDR, false
	}
	return c
}

// ofFamily returns the EndpointSlices with addresses of the family.
func ofFamily(all []discoveryv1.EndpointSlice, family corev1.IPFamily) []discoveryv1.EndpointSlice {
	return slices.DeleteFunc(slices.Clone(all), func(s discoveryv1.EndpointSlice) bool {
		return s.AddressType != "" && string(s.AddressType) != string(family)
	})
}
