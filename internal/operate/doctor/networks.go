// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// placement checks the ids of networks and subnets.
type placement struct {
	facts
	r *Result
	// first has the first section with a value, by key and value, because a class inherits what it does
	// not set.
	first map[[2]string]string
}

func checkNetworks(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok || !r.Has(f.Cloud.Network.Networks.Missing, "openstack network list") || !r.Has(f.Cloud.Network.Subnets.Missing, "openstack subnet list") {
		return
	}
	p := placement{facts: f, r: r, first: map[[2]string]string{}}
	for _, s := range sections(c) {
		p.checkVIP(s)
		p.checkMembers(s)
		if !s.Internal {
			p.checkFloating(s)
			p.checkRouter(s)
		}
	}
	for _, u := range uses(c, "pod-network-ids", func(l config.LoadBalancer) string { return l.PodNetworkIDs }) {
		for id := range strings.SplitSeq(u.value, ",") {
			p.network(u.where, strings.TrimSpace(id))
		}
	}
}

// where returns the name of a key in a section, or in the first section with the same value.
func (p placement) where(s settings, key, value string) string {
	at := [2]string{key, value}
	p.first[at] = cmp.Or(p.first[at], s.section+" "+key)
	return p.first[at]
}

const whyNetwork = "Octavia rejects new load balancers, or clients and members are not reached."

// network returns the network of a key. Without an id or a network it returns nil.
func (p placement) network(where, id string) *Net {
	if id == "" {
		return nil
	}
	all := p.Cloud.Network.Networks.Value
	i := slices.IndexFunc(all, func(n Net) bool { return n.ID == id })
	if i < 0 {
		do := "Set it to the id of a network of `openstack network list`, or ask the operator of the cloud to share the network with the project."
		if p.subnetOf(id) != nil {
			do = "This is the id of a subnet: set the key to the id of its network, " + p.subnetOf(id).NetworkID + "."
		}
		p.r.Found(Error, fmt.Sprintf("%s is %s, but the project sees no such network", where, id), whyNetwork, do)
		return nil
	}
	p.r.Saw(fmt.Sprintf("%s is network %s", where, all[i].Name))
	return &all[i]
}

// subnet returns the subnet of a key. Without an id or a subnet it returns nil.
func (p placement) subnet(where, id string) *Subnet {
	if id == "" {
		return nil
	}
	s := p.subnetOf(id)
	if s == nil {
		p.r.Found(Error, fmt.Sprintf("%s is %s, but the project sees no such subnet", where, id), whyNetwork,
			"Set it to the id of a subnet of `openstack subnet list`, or ask the operator of the cloud to share its network with the project.")
		return nil
	}
	p.r.Saw(fmt.Sprintf("%s is subnet %s (%s)", where, s.Name, s.CIDR))
	return s
}

func (f facts) subnetOf(id string) *Subnet {
	all := f.Cloud.Network.Subnets.Value
	if i := slices.IndexFunc(all, func(s Subnet) bool { return s.ID == id }); i >= 0 {
		return &all[i]
	}
	return nil
}

// checkVIP checks the subnets of VIPs.
func (p placement) checkVIP(s settings) {
	subnetKey := p.where(s, subnetKeyOf(s), s.SubnetID)
	subnet := p.subnet(subnetKey, s.SubnetID)
	network := p.network(p.where(s, "network-id", s.NetworkID), s.NetworkID)
	if subnet != nil && network != nil && subnet.NetworkID != network.ID {
		p.r.Found(Error, fmt.Sprintf("%s is in network %s, and not in network-id %s", subnetKey, subnet.NetworkID, network.ID), whyNetwork,
			"Remove one of the keys, or set network-id = "+subnet.NetworkID+".")
	}
	vipNetwork := s.NetworkID
	if subnet != nil {
		vipNetwork = subnet.NetworkID
	}
	key := p.where(s, "additional-subnet-id", s.AdditionalSubnetID)
	second := p.subnet(key, s.AdditionalSubnetID)
	const do = "Set it to a subnet of the other IP family in the network of the VIP: `openstack subnet list --network %s`."
	switch {
	case second == nil || vipNetwork == "":
	case second.NetworkID != vipNetwork:
		p.r.Found(Error, fmt.Sprintf("%s is in network %s, but VIPs are in network %s", key, second.NetworkID, vipNetwork),
			"Both VIPs of a load balancer are on one port, so they must be in one network.", fmt.Sprintf(do, vipNetwork))
	case subnet != nil && second.IPVersion == subnet.IPVersion:
		p.r.Found(Error, fmt.Sprintf("%s has IPv%d, as subnet-id has", key, second.IPVersion), "It is for the other IP family of dual-stack Services.", fmt.Sprintf(do, vipNetwork))
	}
	if s.SubnetID == "" && s.NetworkID == "" {
		p.r.Saw(s.section + " has no subnet-id and no network-id: VIPs are in the subnet of the nodes")
	}
}

// subnetKeyOf returns the key of the subnet of VIPs.
func subnetKeyOf(s settings) string {
	if s.AtClusterIP != nil {
		return "service-subnet-id"
	}
	return "subnet-id"
}

// checkMembers compares the subnet of members with the addresses of the nodes.
func (p placement) checkMembers(s settings) {
	key := p.where(s, "member-subnet-id", s.MemberSubnetID)
	subnet := p.subnet(key, s.MemberSubnetID)
	if subnet == nil || s.TargetType == config.PodTargets {
		return
	}
	cidr, err := netip.ParsePrefix(subnet.CIDR)
	addresses := nodeAddresses(p.Cluster.Nodes.Value)
	if err != nil || len(addresses) == 0 {
		return
	}
	const do = "Set it to the subnet of the nodes' addresses: `kubectl get nodes -o wide` and `openstack subnet list`; or remove the key."
	switch {
	case !slices.ContainsFunc(addresses, func(a netip.Addr) bool { return a.Is4() == cidr.Addr().Is4() }):
		p.r.Found(Error, fmt.Sprintf("%s has IPv%d, but no node has such an address", key, subnet.IPVersion), "No node can become a member.", do)
	case !slices.ContainsFunc(addresses, cidr.Contains):
		p.r.Found(Warning, fmt.Sprintf("%s is %s, but no node has an address in it", key, subnet.CIDR),
			"Load balancers reach the nodes only if a router of this subnet leads to them.", do)
	}
}

// checkFloating checks the network of floating IPs.
func (p placement) checkFloating(s settings) {
	key := p.where(s, "floating-network-id", s.FloatingNetworkID)
	network := p.network(key, s.FloatingNetworkID)
	const list = "`openstack network list --external`"
	switch externals := p.externals(); {
	case network != nil && !network.External:
		p.r.Found(Error, fmt.Sprintf("%s is network %s, which is not external", key, network.Name), "Neutron creates floating IPs only in external networks.",
			"Set it to an id of "+list+".")
	case s.FloatingNetworkID == "" && len(externals) == 0:
		p.r.Found(Error, "the project sees no external network", "External Services need a floating IP.",
			"Ask the operator of the cloud for access to an external network; or set internal-lb = true in [LoadBalancer] if there are only internal Services.")
	case s.FloatingNetworkID == "" && len(externals) > 1 && len(p.reached(s)) == 1:
		p.r.Saw(fmt.Sprintf("%s has no floating-network-id: floating IPs are in network %s, to which the router of the VIPs leads", s.section, p.reached(s)[0]))
	case s.FloatingNetworkID == "" && len(externals) > 1:
		p.r.Found(Warning, fmt.Sprintf("%s has no floating-network-id, and the project sees %s", s.section, Plural(len(externals), "external network")),
			"The one that the router of the VIP's subnet leads to is used. If the project does not see that router, it is the first one by name with IPv4, which may be the wrong one.", "Set floating-network-id to one of "+list+".")
	}
	if s.FloatingSubnetID != "" {
		p.checkFloatingSubnet(s, network)
	}
}

// checkFloatingSubnet checks the subnet against the list of its network: the project may not see the subnet
// itself.
func (p placement) checkFloatingSubnet(s settings, network *Net) {
	key := p.where(s, "floating-subnet-id", s.FloatingSubnetID)
	candidates := p.externals()
	if network != nil {
		candidates = []Net{*network}
	} else if s.FloatingNetworkID != "" {
		return
	}
	known := false
	for _, n := range candidates {
		known = known || len(n.Subnets) > 0
		if slices.Contains(n.Subnets, s.FloatingSubnetID) {
			p.r.Saw(key + " is a subnet of network " + n.Name)
			return
		}
	}
	if !known {
		p.r.Found(Unknown, key+" cannot be checked: the project does not see which subnets the external network has", "It may be wrong.",
			"Ask the operator of the cloud for `openstack subnet show "+s.FloatingSubnetID+"`.")
		return
	}
	p.r.Found(Error, fmt.Sprintf("%s is %s, which is not a subnet of the external network", key, s.FloatingSubnetID), "Neutron rejects new floating IPs.",
		"Set it to one of the subnets of `openstack network show "+candidates[0].ID+"`, or remove the key.")
}

// externals returns the external networks that the project sees.
func (f facts) externals() (all []Net) {
	for _, n := range f.Cloud.Network.Networks.Value {
		if n.External {
			all = append(all, n)
		}
	}
	return all
}

// vipSubnets returns the subnets in which VIPs of a section are allocated, as far as the project sees them.
func (f facts) vipSubnets(s settings) (all []Subnet) {
	inNodes := map[string]bool{}
	if s.SubnetID == "" && s.NetworkID == "" {
		for _, ports := range f.nodePorts() {
			for _, p := range ports {
				for _, ip := range p.FixedIPs {
					inNodes[ip.SubnetID] = true
				}
			}
		}
	}
	for _, n := range f.Cloud.Network.Subnets.Value {
		named := n.ID == s.SubnetID || s.SubnetID == "" && s.NetworkID != "" && n.NetworkID == s.NetworkID
		if named || inNodes[n.ID] {
			all = append(all, n)
		}
	}
	return all
}
