// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// checkRouter finds a router between the subnets of VIPs and the external network, as far as the project sees it.
func (p placement) checkRouter(s settings) {
	n := p.Cloud.Network
	if s.AtClusterIP != nil || !n.Ports.OK() || !n.Routers.OK() {
		if n.Routers.Kind == Denied || n.Routers.Kind == Failed {
			p.r.Has(n.Routers.Missing, "openstack router list")
		}
		return
	}
	external := s.FloatingNetworkID
	if all := p.externals(); external == "" && len(all) == 1 {
		external = all[0].ID
	}
	i := slices.IndexFunc(n.Networks.Value, func(n Net) bool { return n.ID == external && n.External })
	if i < 0 {
		return // already a finding
	}
	for _, subnet := range p.vipSubnets(s) {
		if subnet.IPVersion == 4 {
			p.checkRouterOf(subnet, n.Networks.Value[i])
		}
	}
}

func (p placement) checkRouterOf(subnet Subnet, external Net) {
	const why = "Neutron attaches a floating IP only if a router connects the subnet of the VIP with the external network."
	connect := fmt.Sprintf("Connect them: `openstack router set --external-gateway %s ROUTER` and `openstack router add subnet ROUTER %s`.", external.ID, subnet.ID)
	routers := p.routersOf(subnet.ID)
	for _, r := range routers {
		if r.Gateway != nil && r.Gateway.NetworkID == external.ID {
			p.r.Saw(fmt.Sprintf("router %s connects subnet %s with network %s", r.Name, subnet.Name, external.Name))
			return
		}
	}
	if len(routers) > 0 {
		p.r.Found(Error, fmt.Sprintf("no router of subnet %s has a gateway in network %s", subnet.Name, external.Name), why, connect)
		return
	}
	p.r.Found(Warning, fmt.Sprintf("the project sees no router between subnet %s and network %s", subnet.Name, external.Name),
		why+" The router may belong to another project.", connect)
}

// reached returns the names of the external networks to which routers of the subnets of VIPs lead, as far as the project
// sees them.
func (p placement) reached(s settings) (names []string) {
	for _, external := range p.externals() {
		leads := func(r Router) bool { return r.Gateway != nil && r.Gateway.NetworkID == external.ID }
		if slices.ContainsFunc(p.vipSubnets(s), func(subnet Subnet) bool { return slices.ContainsFunc(p.routersOf(subnet.ID), leads) }) {
			names = append(names, external.Name)
		}
	}
	return names
}

// routersOf returns the routers with an interface in the subnet.
func (f facts) routersOf(subnetID string) (all []Router) {
	ports := slices.Concat(f.Cloud.Network.Ports.Value, f.Cloud.Network.InVIPNetworks.Value)
	for _, r := range f.Cloud.Network.Routers.Value {
		if slices.ContainsFunc(ports, func(p Port) bool {
			// Distributed and highly available routers have other interfaces: network:router_interface_distributed.
			return p.DeviceID == r.ID && strings.Contains(p.DeviceOwner, "router_interface") && p.In(subnetID)
		}) {
			all = append(all, r)
		}
	}
	return all
}
