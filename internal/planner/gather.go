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
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
	"github.com/kube-octavia/kube-octavia/internal/target"
)

// input gathers what the Service's load balancer depends on, but for what has to
// be looked up in the cloud.
func (p *Planner) input(ctx context.Context, service *corev1.Service, observed lb.Observed) (build.Input, error) {
	in := build.Input{Service: service, Config: p.Config, Capabilities: p.Capabilities, Owner: p.Owner(service)}
	options, _ := annotation.Parse(service.Annotations, p.Config)
	in.Networks = build.NetworksOf(options)
	in.Capabilities.Provider = options.Provider
	// How it would be created does not matter to one that is there.
	l := observed.LoadBalancer
	failed := l != nil && l.ProvisioningStatus == lb.Error
	in.Serial = (l == nil || failed) && (p.Config.SerialCreate || p.leavesParts.Load())
	if !failed {
		in.Found = l
	}
	in.Guest, in.Owner.Guest, in.HostAddress = observed.Guest, observed.Guest, observed.Address()
	if l != nil {
		// What is there decides, whatever the settings say by now; of one that failed
		// nothing but its place.
		in.Networks.VIPSubnetID, in.Networks.VIPNetworkID = l.VIP.SubnetID, l.VIP.NetworkID
		if len(l.AdditionalVIPs) > 0 {
			in.Networks.AdditionalSubnetID = l.AdditionalVIPs[0].SubnetID
		}
		if l.Provider != "" && !failed {
			in.Capabilities.Provider = l.Provider
		}
	}
	in.Networks.MemberSubnetID = cmp.Or(in.Networks.MemberSubnetID, in.Networks.VIPSubnetID)
	var nodes corev1.NodeList
	if err := p.Reader.List(ctx, &nodes); err != nil {
		return in, fmt.Errorf("list nodes: %w", err)
	}
	in.Nodes = nodes.Items
	if service.Spec.ExternalTrafficPolicy != corev1.ServiceExternalTrafficPolicyLocal {
		return in, nil
	}
	var endpoints discoveryv1.EndpointSliceList
	of := client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}
	if err := p.Reader.List(ctx, &endpoints, client.InNamespace(service.Namespace), of); err != nil {
		return in, fmt.Errorf("list EndpointSlices: %w", err)
	}
	in.Slices = endpoints.Items
	return in, nil
}

// build looks up what the operator's settings leave open, as far as something is
// still to be made there, and builds what is wanted. The error is an *Invalid, a *decide.GroupWait,
// or that of a call.
func (p *Planner) build(ctx context.Context, in *build.Input, observed lb.Observed) (lb.Wanted, error) {
	// The pools of a Service that is refused below follow the nodes, too.
	if err := p.tellApart(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.checkGroup(ctx, in.Service, observed); err != nil {
		return lb.Wanted{}, err
	}
	n := &in.Networks
	options, _ := annotation.Parse(in.Service.Annotations, p.Config)
	switch {
	case observed.LoadBalancer != nil:
	case options.PortID != "":
		subnet, err := p.givenPort(ctx, options.PortID, in.Family())
		if err != nil {
			return lb.Wanted{}, err
		}
		n.VIPSubnetID = subnet
		n.MemberSubnetID = cmp.Or(options.MemberSubnetID, subnet)
	case n.VIPSubnetID == "" && n.VIPNetworkID == "":
		subnet, err := p.nodeSubnet(ctx, *in)
		if err != nil {
			return lb.Wanted{}, err
		}
		n.VIPSubnetID = subnet
		n.MemberSubnetID = cmp.Or(n.MemberSubnetID, subnet)
	}
	if err := p.vipSubnets(ctx, in, options, observed); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.givenFloatingIP(ctx, n, options); err != nil {
		return lb.Wanted{}, err
	}
	if !options.Internal && !hasFloatingIP(observed) {
		if err := p.floatingSubnets(ctx, n, options); err != nil {
			return lb.Wanted{}, err
		}
	}
	if err := p.tellApart(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.lookAtSharers(ctx, in); err != nil {
		return lb.Wanted{}, err
	}
	if err := p.findCertificate(ctx, in, options, observed); err != nil {
		return lb.Wanted{}, err
	}
	wanted, err := build.Wanted(*in)
	if err == nil {
		err = p.checkCertificates(ctx, wanted, observed)
	}
	if err == nil {
		err = p.awaitGroup(ctx, in.Service, observed)
	}
	if err != nil || !wanted.MonitorsAsFound {
		return wanted, err
	}
	err = p.lookAtMonitors(ctx, *in, observed, &wanted)
	return wanted, err
}

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
