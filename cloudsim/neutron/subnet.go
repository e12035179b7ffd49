// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) subnetResource() *resource {
	res := &resource{one: "subnet", many: "subnets", path: "subnets", taggable: true, missing: subnetMissing, admit: s.admitSubnet, add: s.addSubnet, set: s.setSubnet}
	res.attributes = withStandard(attributes{
		"name":              {post: true, put: true, filter: true, sort: true, check: isString(255)},
		"network_id":        {post: true, required: true, filter: true, sort: true, check: isUUID},
		"ip_version":        {post: true, required: true, filter: true, sort: true, check: isIPVersion},
		"cidr":              {post: true, filter: true, sort: true, check: orNull(isCIDR)},
		"gateway_ip":        {post: true, put: true, filter: true, sort: true, check: orNull(isAddress)},
		"allocation_pools":  {post: true, put: true, check: isPools},
		"enable_dhcp":       {post: true, put: true, filter: true, sort: true, check: isBool},
		"dns_nameservers":   {post: true, put: true, check: isNameServers},
		"host_routes":       {post: true, put: true, check: s.isRoutes},
		"ipv6_ra_mode":      {post: true, filter: true, sort: true, check: orNull(isIPv6Mode)},
		"ipv6_address_mode": {post: true, filter: true, sort: true, check: orNull(isIPv6Mode)},
		"service_types":     {},
		"subnetpool_id":     {post: true, filter: true, sort: true, check: orNull(isUUID)},
		"shared":            {filter: true},
	})
	res.find = func(c wire.Identity, id string) (object, bool) {
		if sub := s.visibleSubnet(c, id); sub != nil {
			return sub, owns(c, sub.project) || owns(c, s.networks[sub.network].project)
		}
		return nil, false
	}
	res.remove = func(_ wire.Identity, id string) error { return s.removeSubnet(s.subnets[id]) }
	res.show = func(_ wire.Identity, id string) any { return s.viewSubnet(s.subnets[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*subnetView
		shared := map[string]bool{}
		for _, sub := range s.subnets {
			if s.visibleSubnet(c, sub.id) != nil {
				views = append(views, s.viewSubnet(sub))
				shared[sub.id] = s.networks[sub.network].sharedWith(c.ProjectID)
			}
		}
		return writeList(res, s.options.MaxPage, r, views, func(v *subnetView, key string, values []string) (bool, bool) {
			if key != "shared" {
				return false, false
			}
			want, _ := isBool(values[0])
			return shared[v.ID] == (want == true), true
		})
	}
	return res
}

func isIPVersion(v any) (any, string) {
	n, reason := isInt(-1<<31, 1<<31)(v)
	if reason == "" && n != 4 && n != 6 {
		return nil, shown(v) + " is not in valid_values"
	}
	return n, reason
}

var isIPv6Mode = isOneOf("dhcpv6-stateful", "dhcpv6-stateless", "slaac")

func subnetMissing(id string) *apiError {
	return notFound("SubnetNotFound", "Subnet %s could not be found.", id)
}

// visibleSubnet returns the subnet if the caller may see it, or nil. All users see external
// networks, but not their subnets.
func (s *Service) visibleSubnet(c wire.Identity, id string) *subnet {
	sub := s.subnets[id]
	if sub == nil {
		return nil
	}
	n := s.networks[sub.network]
	if owns(c, sub.project) || n.sharedWith(c.ProjectID) || n.external && (s.options.ShowExternalSubnets || s.options.Release >= release.Epoxy) {
		return sub
	}
	return nil
}

func (s *Service) viewSubnet(sub *subnet) *subnetView {
	v := &subnetView{
		standardView: sub.view(), Name: sub.name, Tags: sub.tags, NetworkID: sub.network, IPVersion: sub.ipVersion(), CIDR: sub.cidr.String(),
		AllocationPools: []poolView{}, EnableDHCP: sub.dhcp, DNSNameservers: sub.dns, HostRoutes: sub.routes, ServiceTypes: []string{},
		IPv6RAMode: orNone(sub.raMode), IPv6AddressMode: orNone(sub.addressMode),
	}
	if s.options.Release >= release.Epoxy {
		v.External = new(s.networks[sub.network].external)
	}
	if sub.gateway.IsValid() {
		v.GatewayIP = orNone(sub.gateway.String())
	}
	for _, p := range sub.pools {
		v.AllocationPools = append(v.AllocationPools, poolView{Start: p.First.String(), End: p.Last.String()})
	}
	return v
}

// admitSubnet reserves subnets for the owner of the network. Before 2025.1, projects with which the network is shared
// may, surprisingly, also create them.
func (s *Service) admitSubnet(c wire.Identity, v values) error {
	if text, bad := v["cidr"].(unreadable); bad {
		return invalidInput("%s is not in a CIDR format", text)
	}
	n := s.visibleNetwork(c, v.text("network_id"))
	switch {
	case n == nil:
		return networkMissing(v.text("network_id"))
	case owns(c, n.project), n.sharedWith(c.ProjectID) && s.options.Release < release.Epoxy:
		return nil
	case n.sharedWith(c.ProjectID):
		return forbidden("rule:create_subnet")
	}
	if s.options.Release >= release.Newest {
		return forbidden("rule:create_subnet")
	}
	return refuse(http.StatusForbidden, "HTTPForbidden", "Tenant %s not allowed to create subnet on this network", v.text("project_id"))
}

func (s *Service) addSubnet(_ wire.Identity, v values) (string, error) {
	n := s.networks[v.text("network_id")]
	if v["subnetpool_id"] != nil {
		return "", notFound("SubnetPoolNotFound", "Subnet pool %s could not be found.", v.text("subnetpool_id"))
	}
	cidr, ok := v["cidr"].(netip.Prefix)
	if !ok {
		return "", badRequest("subnets", "a subnetpool must be specified in the absence of a cidr")
	}
	sub := &subnet{
		standard: s.newStandard("", v.text("project_id"), v.text("name"), v.text("description"), nil),
		network:  n.id, cidr: cidr, dhcp: v.flag("enable_dhcp", true), raMode: v.text("ipv6_ra_mode"), addressMode: v.text("ipv6_address_mode"),
		dns: []string{}, routes: []hostRoute{},
	}
	sub.revision = 0
	if version := v["ip_version"].(int); version != sub.ipVersion() {
		return "", invalidInput("cidr '%s' does not match the ip_version '%d'", cidr, version)
	}
	if (sub.raMode != "" || sub.addressMode != "") && (sub.ipVersion() == 4 || !sub.dhcp) {
		return "", invalidInput("ipv6_ra_mode or ipv6_address_mode cannot be set when enable_dhcp is set to False or ip_version is 4")
	}
	if err := checkDHCP(cidr, sub.dhcp); err != nil {
		return "", err
	}
	if err := s.configure(sub, v); err != nil {
		return "", err
	}
	return sub.id, s.attach(n, sub)
}

// configure sets the gateway, pools, name servers and routes of a new subnet.
func (s *Service) configure(sub *subnet, v values) error {
	sub.gateway = sub.cidr.Addr() // an IPv6 router's anycast address
	if sub.ipVersion() == 4 {
		sub.gateway = sub.gateway.Next()
	}
	if v.has("gateway_ip") {
		sub.gateway, _ = v["gateway_ip"].(netip.Addr)
	}
	if err := checkGateway(sub.cidr, sub.gateway); err != nil {
		return err
	}
	sub.pools = defaultPools(sub.cidr, sub.gateway)
	if pools, _ := v["allocation_pools"].([]AddressRange); v.has("allocation_pools") {
		if err := checkPools(sub.cidr, sub.gateway, pools); err != nil {
			return err
		}
		sub.pools = pools
	}
	if dns, ok := v["dns_nameservers"].([]string); ok {
		sub.dns = dns
	}
	if routes, ok := v["host_routes"].([]hostRoute); ok {
		sub.routes = routes
	}
	return nil
}

// attach adds a subnet to its network.
func (s *Service) attach(n *network, sub *subnet) error {
	if sub.cidr.Bits() == 0 {
		return invalidInput("0 is not allowed as CIDR prefix length")
	}
	for _, id := range n.subnets {
		if s.subnets[id].cidr.Overlaps(sub.cidr) {
			return invalidInput("Requested subnet with cidr: %s for network: %s overlaps with another subnet", sub.cidr, n.id)
		}
	}
	sub.free = newAllocator(sub.pools)
	s.subnets[sub.id] = sub
	n.subnets = append(slices.Clip(n.subnets), sub.id)
	return nil
}

func (s *Service) setSubnet(_ wire.Identity, id string, v values) error {
	sub := s.subnets[id]
	gateway, pools := sub.gateway, sub.pools
	if v.has("gateway_ip") {
		gateway, _ = v["gateway_ip"].(netip.Addr)
		if err := checkGateway(sub.cidr, gateway); err != nil {
			return err
		}
		if err := s.checkGatewayUnused(sub, gateway); err != nil {
			return err
		}
	}
	if v.has("allocation_pools") {
		pools = v["allocation_pools"].([]AddressRange)
	}
	if v.has("allocation_pools") || v.has("gateway_ip") {
		if err := checkPools(sub.cidr, gateway, pools); err != nil {
			return err
		}
	}
	if v.flag("enable_dhcp", false) && !sub.dhcp {
		if err := checkDHCP(sub.cidr, true); err != nil {
			return err
		}
	}
	if v.has("allocation_pools") {
		sub.pools = pools
		sub.free.setPools(pools)
	}
	sub.gateway = gateway
	v.set("name", &sub.name)
	v.setFlag("enable_dhcp", &sub.dhcp)
	if dns, ok := v["dns_nameservers"].([]string); ok {
		sub.dns = dns
	}
	if routes, ok := v["host_routes"].([]hostRoute); ok {
		sub.routes = routes
	}
	return nil
}

// checkGatewayUnused refuses to change the gateway while a router has the current address.
func (s *Service) checkGatewayUnused(sub *subnet, gateway netip.Addr) error {
	if !sub.gateway.IsValid() || gateway == sub.gateway || !gateway.IsValid() {
		return nil
	}
	for _, p := range s.ports {
		if p.deviceOwner == ownerRouterInterface && slices.Contains(p.fixed, FixedIP{SubnetID: sub.id, IPAddress: sub.gateway.String()}) {
			return conflict("GatewayIpInUse", "Current gateway ip %s already in use by port %s. Unable to update.", sub.gateway, p.id)
		}
	}
	return nil
}

func (s *Service) removeSubnet(sub *subnet) error {
	var leases []*port
	for _, p := range s.ports {
		if !slices.ContainsFunc(p.fixed, func(f FixedIP) bool { return f.SubnetID == sub.id }) {
			continue
		}
		if p.deviceOwner != ownerDHCP {
			return conflict("SubnetInUse", "Unable to complete operation on subnet %s: One or more ports have an IP allocation from this subnet.", sub.id)
		}
		leases = append(leases, p)
	}
	for _, p := range leases {
		s.removePort(p)
	}
	n := s.networks[sub.network]
	n.subnets = slices.DeleteFunc(slices.Clone(n.subnets), func(id string) bool { return id == sub.id })
	delete(s.subnets, sub.id)
	return nil
}
