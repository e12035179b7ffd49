// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// vipSubnets determines the subnet of the VIP of a new load balancer.
func (b *Builder) vipSubnets(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	n := &in.Networks
	vip, recorded := decide.RecordedVIP(of)
	switch {
	case observed.LoadBalancer != nil:
	case options.PortID != "":
		subnet, err := b.subnetOfUnusedPort(ctx, options.PortID, in.Family())
		if err != nil {
			return in, err
		}
		n.VIPSubnetID, n.MemberSubnetID = subnet, cmp.Or(options.MemberSubnetID, subnet)
	case recorded && vip.SubnetID != "":
		n.VIPSubnetID, n.MemberSubnetID = vip.SubnetID, cmp.Or(options.MemberSubnetID, vip.SubnetID)
	case n.VIPSubnetID == "" && n.VIPNetworkID == "":
		subnet, err := b.nodeSubnet(ctx, in)
		if err != nil {
			return in, err
		}
		n.VIPSubnetID, n.MemberSubnetID = subnet, cmp.Or(n.MemberSubnetID, subnet)
	}
	return in, nil
}

// subnetOfUnusedPort returns the subnet of a port that a user names for the VIP. Octavia would
// use the same port for a second load balancer without an error.
func (b *Builder) subnetOfUnusedPort(ctx context.Context, id string, family corev1.IPFamily) (subnetID string, err error) {
	subnetID, err = b.Neutron.SubnetOfPort(ctx, id, family == corev1.IPv4Protocol)
	if err != nil {
		return "", err
	}
	others, err := b.Octavia.FindByVIPPort(ctx, id)
	if err == nil && len(others) > 0 {
		err = openstack.NewForeign("use port "+id, fmt.Sprintf("load balancer %s already uses it; name an unused port", others[0].ID))
	}
	return subnetID, err
}

// nodeSubnet returns the subnet of the nodes' addresses: that of the first node, by name, whose address is in this
// cloud.
func (b *Builder) nodeSubnet(ctx context.Context, in desired.Input) (string, error) {
	family := in.Family()
	targets, _ := member.Nodes(in.Nodes, member.Choice{Family: family})
	if len(targets) == 0 {
		return "", &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf(
			"no node has an address of family %s that determines the subnet of the VIP; set subnet-id in [LoadBalancer] of cloud.conf", family)}
	}
	var addresses []string
	for _, t := range targets {
		addresses = append(addresses, t.Address.String())
	}
	return b.Neutron.SubnetOfAddress(ctx, addresses...)
}

// subnetsOfFamilies determines the subnets of the VIPs if the subnet of cloud.conf may be of another family: for
// Services with two VIPs, or with IPv6.
func (b *Builder) subnetsOfFamilies(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	n := &in.Networks
	one := len(in.Families()) == 1 && in.Config.AtClusterIP == nil
	_, recorded := decide.RecordedVIP(of)
	switch {
	case !in.WantsSubnets():
		return in, nil
	case one && (observed.LoadBalancer != nil || recorded):
		return in, nil // a load balancer that replaces a failed one is created in the same subnets
	case options.PortID != "":
		return b.additionalSubnetOfPort(ctx, in, options.PortID, observed)
	}
	ipv4, ipv6, err := b.Neutron.SubnetsForVIPs(ctx, n.VIPNetworkID, n.VIPSubnetID, n.AdditionalSubnetID)
	if err != nil || ipv4 == "" && ipv6 == "" {
		return in, err // subnets that the project cannot see may exist: Octavia decides
	}
	for _, given := range []struct{ key, id string }{{annotation.SubnetID, n.VIPSubnetID}, {annotation.AdditionalSubnetID, n.AdditionalSubnetID}} {
		if given.id != "" && given.id != ipv4 && given.id != ipv6 {
			return in, &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf(
				"subnet %s of annotation %s or of cloud.conf is in another network than the other VIP, or has the same family; name another subnet", given.id, in.Spec.Key(given.key))}
		}
	}
	first, second := ipv4, ipv6
	if in.Family() == corev1.IPv6Protocol {
		first, second = ipv6, ipv4
	}
	if first == "" {
		return in, &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf(
			"the project sees no %s subnet in the VIP's network; add one, or name another network by annotation %s", in.Family(), in.Spec.Key(annotation.NetworkID))}
	}
	if named := annotation.Value(in.Spec.Annotations, annotation.SubnetID) != ""; named && one && options.SubnetID != first {
		return in, &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf("annotation %s: the Service has %s, and subnet %s has not; name %s, or another %s subnet",
			in.Spec.Key(annotation.SubnetID), in.Family(), options.SubnetID, first, in.Family())}
	}
	n.VIPSubnetID, n.AdditionalSubnetID = first, second
	n.MemberSubnetID = cmp.Or(options.MemberSubnetID, first)
	return in, nil
}

// additionalSubnetOfPort determines the subnet of the second address of a port that a user
// names for the VIP.
func (b *Builder) additionalSubnetOfPort(ctx context.Context, in desired.Input, id string, observed lb.Observed) (desired.Input, error) {
	families := in.Families()
	if len(families) < 2 || observed.LoadBalancer != nil {
		return in, nil
	}
	subnet, err := b.Neutron.SubnetOfPort(ctx, id, families[1] == corev1.IPv4Protocol)
	if openstack.Classify(err) == openstack.Invalid {
		err = nil // the port has no address of that family
	}
	in.Networks.AdditionalSubnetID = subnet
	return in, err
}

// requestedFloatingIP looks up the address of a floating IP that is requested by its id.
func (b *Builder) requestedFloatingIP(ctx context.Context, of claim.Owner, in desired.Input, _ lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	in.Networks.FloatingIPAddress = options.FloatingIP
	if _, err := netip.ParseAddr(options.FloatingIP); options.FloatingIP == "" || err == nil {
		return in, nil
	}
	address, err := b.Neutron.AddressOfFloatingIP(ctx, options.FloatingIP)
	if openstack.Classify(err) == openstack.Gone {
		return in, &desired.Invalid{Reason: desired.ReasonInvalidAddress, Message: fmt.Sprintf(
			"annotation %s: the project has no floating IP with the id %s", in.Spec.Key(annotation.FloatingIP), options.FloatingIP)}
	}
	in.Networks.FloatingIPAddress = address
	return in, err
}

// vipSecurityGroups looks up the security groups that are requested for the VIP, by id or name.
func (b *Builder) vipSecurityGroups(ctx context.Context, of claim.Owner, in desired.Input, _ lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	if !in.Capabilities.Has(lb.FeatureVIPSecurityGroups) {
		return in, nil // build refuses them
	}
	in.Networks.VIPSecurityGroupIDs = nil
	for _, named := range options.VIPSecurityGroups {
		id, err := b.Neutron.SecurityGroup(ctx, named)
		var found *openstack.Error
		if openstack.Classify(err) == openstack.Invalid && errors.As(err, &found) && found.Status == 0 {
			return in, &desired.Invalid{Reason: desired.ReasonInvalidAnnotation, Message: fmt.Sprintf("annotation %s: %s",
				in.Spec.Key(annotation.VIPSecurityGroups), found.Message)}
		}
		if err != nil {
			return in, err
		}
		in.Networks.VIPSecurityGroupIDs = append(in.Networks.VIPSecurityGroupIDs, id)
	}
	return in, nil
}

// floatingNetwork determines the network and the subnets for a new floating IP.
func (b *Builder) floatingNetwork(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (_ desired.Input, err error) {
	options := of.Spec.Options
	n, l := &in.Networks, observed.LoadBalancer
	if options.Internal || l != nil && decide.HasFloatingIP(*l, observed.FloatingIPs) || !slices.Contains(in.FamiliesToServe(options), corev1.IPv4Protocol) {
		return in, nil
	}
	if n.FloatingNetworkID == "" {
		vips := []lb.VIP{{SubnetID: n.VIPSubnetID, NetworkID: n.VIPNetworkID}, {SubnetID: n.AdditionalSubnetID}}
		n.FloatingNetworkID, err = b.Neutron.ExternalNetwork(ctx, vips...)
		if err != nil {
			return in, err
		}
	}
	if len(n.FloatingSubnetIDs) > 0 || options.FloatingSubnets.Empty() {
		return in, nil
	}
	n.FloatingSubnetIDs, err = b.Neutron.Subnets(ctx, n.FloatingNetworkID, options.FloatingSubnets)
	if err == nil && len(n.FloatingSubnetIDs) == 0 {
		return in, &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf(
			"the project sees no subnet of external network %s with name %q and tags %q; change floating-subnet and floating-subnet-tags (annotations or cloud.conf), or name a subnet by floating-subnet-id",
			n.FloatingNetworkID, options.FloatingSubnets.Name, options.FloatingSubnets.Tags)}
	}
	return in, err
}

// memberCIDRs looks up the addresses of the members' subnets, if a node has several addresses
// to choose from.
func (b *Builder) memberCIDRs(ctx context.Context, _ claim.Owner, in desired.Input, _ lb.Observed) (_ desired.Input, err error) {
	n, families := &in.Networks, in.Families()
	in.SubnetsUnknown = false // it would be true only if the first call had failed, and that ends all lookups
	lookUp := func(i int, subnetID string, cidr *netip.Prefix) {
		if err == nil && i < len(families) && subnetID != "" && member.AnyChoice(in.Nodes, families[i]) {
			*cidr, err = b.Neutron.CIDR(ctx, subnetID)
			in.SubnetsUnknown = err != nil
		}
	}
	lookUp(0, n.MemberSubnetID, &n.MemberCIDR)
	lookUp(1, n.AdditionalSubnetID, &n.AdditionalCIDR)
	return in, err
}

// How old the known subnets of Pods may be: usually, and if an endpoint is in none of them.
const (
	subnetsAge      = 10 * time.Minute
	freshSubnetsAge = 10 * time.Second
)

// podSubnets looks up the subnets of Pods as members, and those of the nodes for Pods with hostNetwork. Subnets that
// were added to a network are read when an endpoint is in none of the known subnets.
func (b *Builder) podSubnets(ctx context.Context, of claim.Owner, in desired.Input, observed lb.Observed) (desired.Input, error) {
	options := of.Spec.Options
	in.Networks.PodSubnets = nil
	if len(options.PodNetworkIDs) == 0 || !desired.MayHavePods(in, observed.LoadBalancer) {
		return in, nil
	}
	for _, age := range []time.Duration{subnetsAge, freshSubnetsAge} {
		all, err := b.readPodSubnets(ctx, in.Networks, options.PodNetworkIDs, age)
		if err != nil {
			in.SubnetsUnknown = true
			return in, err
		}
		in.Networks.PodSubnets = all
		if len(desired.Unreachable(in)) == 0 {
			break
		}
	}
	return in, nil
}

func (b *Builder) readPodSubnets(ctx context.Context, n desired.Networks, networkIDs []string, maxAge time.Duration) (all []lb.Subnet, err error) {
	for _, id := range networkIDs {
		found, err := b.Neutron.SubnetsOf(ctx, id, maxAge)
		switch {
		case openstack.Classify(err) == openstack.Invalid:
			return nil, &desired.Invalid{Reason: desired.ReasonNoSubnet, Message: fmt.Sprintf(
				"the project sees no subnet of network %s; change pod-network-ids in cloud.conf, or share the network with the project", id)}
		case err != nil:
			return nil, err
		}
		all = append(all, found...)
	}
	for _, id := range []string{n.MemberSubnetID, n.AdditionalSubnetID} {
		if id == "" {
			continue
		}
		cidr, err := b.Neutron.CIDR(ctx, id)
		if err != nil {
			return nil, err
		}
		if cidr.IsValid() {
			all = append(all, lb.Subnet{ID: id, CIDR: cidr})
		}
	}
	return all, nil
}

// checkMonitors reports existing health monitors that cannot work, because nothing in their subnet can check members.
// In the network of another project, there may be a port for such checks that this project does not see. For a PENDING
// monitor, provider ovn may still be creating this port.
func (b *Builder) checkMonitors(ctx context.Context, in desired.Input, observed lb.Observed, wanted lb.Wanted) (lb.Wanted, error) {
	subnet := in.Networks.MemberSubnetID
	monitored := observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.Listeners, func(l lb.Listener) bool {
		return l.Pool != nil && l.Pool.Monitor != nil && !l.Pool.Monitor.ProvisioningStatus.Pending()
	})
	if !monitored || subnet == "" {
		return wanted, nil
	}
	if own, err := b.Neutron.OwnsSubnet(ctx, subnet); err != nil || !own {
		return wanted, err
	}
	has, err := b.Neutron.HasProbePort(ctx, subnet)
	if err == nil && !has {
		wanted.Withheld = append(wanted.Withheld, desired.MetadataPortMissing(subnet))
	}
	return wanted, err
}
