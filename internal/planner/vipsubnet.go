// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"cmp"
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

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
