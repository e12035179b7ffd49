// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// givenPort returns the subnet of a port that a person made and that is to become the VIP.
// Octavia gives a port to a second load balancer without a word, so it is asked first.
func (p *Planner) givenPort(ctx context.Context, id string, family corev1.IPFamily) (subnetID string, err error) {
	subnetID, err = p.Neutron.SubnetOfPort(ctx, id, family == corev1.IPv4Protocol)
	if err != nil {
		return "", err
	}
	others, err := p.Octavia.FindByVIPPort(ctx, id)
	if err == nil && len(others) > 0 {
		err = openstack.NewForeign("use port "+id, fmt.Sprintf("load balancer %s has it already; name a port that nothing uses", others[0].ID))
	}
	return subnetID, err
}

// givenFloatingIP looks up the address of a floating IP that is asked for by its id. Its
// address does not change as long as it is there.
func (p *Planner) givenFloatingIP(ctx context.Context, n *build.Networks, options annotation.Options) error {
	n.FloatingIPAddress = options.FloatingIP
	if _, err := netip.ParseAddr(options.FloatingIP); options.FloatingIP == "" || err == nil {
		return nil
	}
	address, err := p.Neutron.AddressOfFloatingIP(ctx, options.FloatingIP)
	if openstack.Classify(err) == openstack.Gone {
		return &build.Invalid{Reason: build.ReasonInvalidAddress, Message: fmt.Sprintf(
			"annotation %s: the project has no floating IP with the id %s", annotation.FloatingIP, options.FloatingIP)}
	}
	n.FloatingIPAddress = address
	return err
}

// floatingSubnets looks up where a floating IP is to be made.
func (p *Planner) floatingSubnets(ctx context.Context, n *build.Networks, options annotation.Options) error {
	var err error
	if n.FloatingNetworkID == "" {
		if n.FloatingNetworkID, err = p.Neutron.ExternalNetwork(ctx); err != nil {
			return err
		}
	}
	if len(n.FloatingSubnetIDs) > 0 || options.FloatingSubnets.Empty() {
		return nil
	}
	n.FloatingSubnetIDs, err = p.Neutron.Subnets(ctx, n.FloatingNetworkID, options.FloatingSubnets)
	if err == nil && len(n.FloatingSubnetIDs) == 0 {
		return &build.Invalid{Reason: build.ReasonNoSubnet, Message: fmt.Sprintf(
			"external network %s has no subnet with name %q and tags %q that the project sees; change annotations floating-subnet and floating-subnet-tags, or what cloud.conf says, or name a subnet by floating-subnet-id",
			n.FloatingNetworkID, options.FloatingSubnets.Name, options.FloatingSubnets.Tags)}
	}
	return err
}

// lookAtMonitors tells of monitors that are left as they are and do harm. In
// another project's network there may be a metadata port that is not seen.
func (p *Planner) lookAtMonitors(ctx context.Context, in build.Input, observed lb.Observed, wanted *lb.Wanted) error {
	subnet := in.Networks.MemberSubnetID
	monitored := observed.LoadBalancer != nil && slices.ContainsFunc(observed.LoadBalancer.Listeners, func(l lb.Listener) bool {
		return l.Pool != nil && l.Pool.Monitor != nil
	})
	if !monitored || subnet == "" {
		return nil
	}
	if own, err := p.Neutron.OwnsSubnet(ctx, subnet); err != nil || !own {
		return err
	}
	there, err := p.Neutron.HasMetadataPort(ctx, subnet)
	if err == nil && !there {
		wanted.Withheld = append(wanted.Withheld, build.MetadataPortMissing(subnet))
	}
	return err
}

func hasFloatingIP(o lb.Observed) bool {
	return o.LoadBalancer != nil && slices.ContainsFunc(o.FloatingIPs, func(f lb.FloatingIP) bool {
		return f.PortID != "" && f.PortID == o.LoadBalancer.VIP.PortID
	})
}

// nodeSubnet is the subnet in which the nodes have their addresses, as told by the first of
// them by name, or by another if that is of another cloud.
func (p *Planner) nodeSubnet(ctx context.Context, in build.Input) (string, error) {
	family := in.Family()
	targets, _ := target.Nodes(in.Nodes, target.Choice{Family: family})
	if len(targets) == 0 {
		return "", &build.Invalid{Reason: build.ReasonNoSubnet, Message: fmt.Sprintf(
			"there is no node with an address of family %s from which to tell the subnet of the VIP; set [LoadBalancer] subnet-id in cloud.conf", family)}
	}
	var addresses []string
	for _, t := range targets {
		addresses = append(addresses, t.Address.String())
	}
	return p.Neutron.SubnetOfAddress(ctx, addresses...)
}

// tellApart looks up which addresses are in the subnets of the members, where a node has
// several to choose from.
func (p *Planner) tellApart(ctx context.Context, in *build.Input) (err error) {
	n, families := &in.Networks, in.Families()
	in.SubnetsUnknown = false
	look := func(i int, subnetID string, cidr *netip.Prefix) {
		if err == nil && i < len(families) && subnetID != "" && target.AnyChoice(in.Nodes, families[i]) {
			*cidr, err = p.Neutron.CIDR(ctx, subnetID)
			in.SubnetsUnknown = err != nil
		}
	}
	look(0, n.MemberSubnetID, &n.MemberCIDR)
	look(1, n.AdditionalSubnetID, &n.AdditionalCIDR)
	return err
}

// vipSubnets looks up in which subnets of their network the VIPs are to be made, where
// that depends on the Service's families.
func (p *Planner) vipSubnets(ctx context.Context, in *build.Input, options annotation.Options, observed lb.Observed) error {
	n := &in.Networks
	switch {
	case !in.WantsSubnets():
		return nil
	case options.PortID != "":
		return p.additionalSubnetOfPort(ctx, in, options.PortID, observed)
	}
	ipv4, ipv6, err := p.Neutron.SubnetsForVIPs(ctx, n.VIPNetworkID, n.VIPSubnetID, n.AdditionalSubnetID)
	if err != nil || ipv4 == "" && ipv6 == "" {
		// What is not seen may be there: Octavia decides.
		return err
	}
	for _, given := range []struct{ key, id string }{{annotation.SubnetID, n.VIPSubnetID}, {annotation.AdditionalSubnetID, n.AdditionalSubnetID}} {
		if given.id != "" && given.id != ipv4 && given.id != ipv6 {
			return &build.Invalid{Reason: build.ReasonNoSubnet, Message: fmt.Sprintf(
				"subnet %s of annotation %s or of cloud.conf is not in the network of the other VIP, or not of another family; name one that is", given.id, given.key)}
		}
	}
	first, second := ipv4, ipv6
	if in.Family() == corev1.IPv6Protocol {
		first, second = ipv6, ipv4
	}
	if first == "" {
		return &build.Invalid{Reason: build.ReasonNoSubnet, Message: fmt.Sprintf(
			"the VIP's network has no %s subnet that the project sees; add one, or name another network by annotation %s", in.Family(), annotation.NetworkID)}
	}
	n.VIPSubnetID, n.AdditionalSubnetID = first, second
	n.MemberSubnetID = cmp.Or(options.MemberSubnetID, first)
	return nil
}

// additionalSubnetOfPort takes the second address of a port that a person made.
func (p *Planner) additionalSubnetOfPort(ctx context.Context, in *build.Input, id string, observed lb.Observed) error {
	families := in.Families()
	if len(families) < 2 || observed.LoadBalancer != nil {
		return nil
	}
	subnet, err := p.Neutron.SubnetOfPort(ctx, id, families[1] == corev1.IPv4Protocol)
	if openstack.Classify(err) == openstack.Invalid {
		err = nil // it has none of that family
	}
	in.Networks.AdditionalSubnetID = subnet
	return err
}
