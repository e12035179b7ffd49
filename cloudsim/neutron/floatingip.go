// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) floatingIPResource() *resource {
	res := &resource{
		one: "floatingip", many: "floatingips", path: "floatingips", taggable: true, single: true, startsOver: true, missing: floatingIPMissing,
		add: s.addFloatingIP, set: s.setFloatingIP,
	}
	res.attributes = withStandard(attributes{
		"floating_network_id": {post: true, required: true, filter: true, sort: true, check: isUUID},
		"floating_ip_address": {post: true, filter: true, sort: true, adminOnly: !s.options.TenantsChooseFloatingIPs, check: orNull(isAddress)},
		"subnet_id":           {post: true, check: orNull(isUUID)},
		"port_id":             {post: true, put: true, filter: true, check: orNull(isUUID)},
		"fixed_ip_address":    {post: true, put: true, filter: true, sort: true, check: orNull(isAddress)},
		"router_id":           {filter: true, sort: true},
		"status":              {filter: true, sort: true},
		"port_details":        {},
	})
	res.find = func(c wire.Identity, id string) (object, bool) {
		if f := s.floatingIPs[id]; f != nil && owns(c, f.project) {
			return f, true
		}
		return nil, false
	}
	res.remove = func(_ wire.Identity, id string) error { return s.removeFloatingIP(s.floatingIPs[id]) }
	res.show = func(_ wire.Identity, id string) any { return s.viewFloatingIP(s.floatingIPs[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*floatingIPView
		for _, f := range s.floatingIPs {
			if owns(c, f.project) {
				views = append(views, s.viewFloatingIP(f))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	return res
}

func floatingIPMissing(id string) *apiError {
	return notFound("FloatingIPNotFound", "Floating IP %s could not be found", id)
}

func (s *Service) viewFloatingIP(f *floatingIP) *floatingIPView {
	v := &floatingIPView{
		standardView: f.view(), Tags: f.tags, FloatingNetworkID: f.network, FloatingIPAddress: f.address.String(),
		FixedIPAddress: orNone(f.fixed), PortID: orNone(f.port), RouterID: orNone(f.router), Status: "DOWN",
	}
	if p := s.ports[f.port]; p != nil {
		v.Status = "ACTIVE"
		v.PortDetails = &portDetailsView{
			Name: p.name, NetworkID: p.network, MACAddress: p.mac, AdminStateUp: p.adminUp, Status: p.status, DeviceID: p.deviceID, DeviceOwner: p.deviceOwner,
		}
	}
	return v
}

func (s *Service) addFloatingIP(c wire.Identity, v values) (string, error) {
	n := s.visibleNetwork(c, v.text("floating_network_id"))
	switch {
	case n == nil:
		return "", networkMissing(v.text("floating_network_id"))
	case !n.external:
		return "", badRequest("floatingip", "Network %s is not a valid external network", n.id)
	case !slices.ContainsFunc(n.subnets, func(id string) bool { return s.subnets[id].ipVersion() == 4 }):
		return "", badRequest("floatingip", "Network %s does not contain any IPv4 subnet", n.id)
	}
	f := &floatingIP{standard: s.newStandard("", v.text("project_id"), "", v.text("description"), nil), network: n.id}
	f.revision = 0
	external, err := s.externalPort(n, f, v)
	if err != nil {
		return "", err
	}
	if err := s.assign(c, f, v); err != nil {
		s.removePort(external)
		return "", err
	}
	s.floatingIPs[f.id] = f
	return f.id, nil
}

// externalPort creates the port that holds a floating IP's address in the external network. Tenants
// never see it.
func (s *Service) externalPort(n *network, f *floatingIP, v values) (*port, error) {
	p := &port{
		standard: s.newStandard("", "", "", "", nil), network: n.id, deviceID: f.id, deviceOwner: ownerFloatingIP,
		adminUp: true, status: "N/A", vnic: "normal", groups: []string{}, pairs: []addressPair{},
	}
	var wishes []addressWish
	address, _ := v["floating_ip_address"].(netip.Addr)
	if v.text("subnet_id") != "" || address.IsValid() {
		wishes = []addressWish{{subnet: v.text("subnet_id"), address: address}}
	}
	if err := s.plug(n, p, wishes); err != nil {
		return nil, err
	}
	for _, fixed := range p.fixed {
		if addr, err := netip.ParseAddr(fixed.IPAddress); err == nil && addr.Is4() {
			f.address, f.subnet, f.external = addr, fixed.SubnetID, p.id
			return p, nil
		}
	}
	s.removePort(p)
	return nil, refuse(http.StatusBadRequest, "ExternalIpAddressExhausted", "Unable to find any IP address on external network %s.", n.id)
}

func (s *Service) setFloatingIP(c wire.Identity, id string, v values) error {
	f := s.floatingIPs[id]
	if len(v) > 0 && !v.has("port_id") && f.port != "" {
		// A request that does not name the port keeps it; only an empty request disassociates it.
		v["port_id"] = f.port
	}
	return s.assign(c, f, v)
}

// assign associates a floating IP with the port that the request names, or with none.
func (s *Service) assign(c wire.Identity, f *floatingIP, v values) error {
	portID := v.text("port_id")
	wanted, _ := v["fixed_ip_address"].(netip.Addr)
	if portID == "" {
		if wanted.IsValid() {
			return badRequest("floatingip", "fixed_ip_address cannot be specified without a port_id")
		}
		s.disassociate(f)
		return nil
	}
	p := s.visiblePort(c, portID)
	switch {
	case p == nil:
		return portMissing(portID)
	case p.project != f.project && !c.Admin():
		return badRequest("floatingip", "Cannot process floating IP association with Port %s, since that port is owned by a different tenant", portID)
	case p.deviceOwner == ownerDHCP:
		return badRequest("floatingip", "Port %s is unable to be assigned a floating IP", portID)
	}
	fixed, err := fixedAddress(p, wanted)
	if err != nil {
		return err
	}
	sub := s.subnets[fixed.SubnetID]
	r := s.routerBetween(sub, f.network)
	if r == nil {
		return notFound("ExternalGatewayForFloatingIPNotFound",
			"External network %s is not reachable from subnet %s.  Therefore, cannot associate Port %s with a Floating IP.", f.network, sub.id, portID)
	}
	if p.id != f.port && s.hasFloatingIP(p, fixed.IPAddress, f.network) {
		return alreadyAssociated(f, portID, fixed.IPAddress)
	}
	if err := f.freeOfForwardings(); err != nil {
		return err
	}
	s.associate(f, p, fixed.IPAddress, r)
	return nil
}

func alreadyAssociated(f *floatingIP, portID, fixed string) *apiError {
	return conflict("FloatingIPPortAlreadyAssociated",
		"Cannot associate floating IP %s (%s) with port %s using fixed IP %s, as that fixed IP already has a floating IP on external network %s.",
		f.address, f.id, portID, fixed, f.network)
}

// fixedAddress chooses the IPv4 address of the port for the floating IP.
func fixedAddress(p *port, wanted netip.Addr) (FixedIP, error) {
	if wanted.IsValid() {
		if !wanted.Is4() {
			return FixedIP{}, badRequest("floatingip", "Cannot process floating IP association with %s, since that is not an IPv4 address", wanted)
		}
		for _, f := range p.fixed {
			if f.IPAddress == wanted.String() {
				return f, nil
			}
		}
		return FixedIP{}, badRequest("floatingip", "Port %s does not have fixed ip %s", p.id, wanted)
	}
	var v4 []FixedIP
	for _, f := range p.fixed {
		if addr, err := netip.ParseAddr(f.IPAddress); err == nil && addr.Is4() {
			v4 = append(v4, f)
		}
	}
	switch len(v4) {
	case 0:
		return FixedIP{}, badRequest("floatingip", "Cannot add floating IP to port %s that has no fixed IPv4 addresses", p.id)
	case 1:
		return v4[0], nil
	}
	return FixedIP{}, badRequest("floatingip", "Port %s has multiple fixed IPv4 addresses.  Must provide a specific IPv4 address when assigning a floating IP", p.id)
}

func (s *Service) hasFloatingIP(p *port, fixed, networkID string) bool {
	return slices.ContainsFunc(s.floatingOf[p.id], func(id string) bool {
		other := s.floatingIPs[id]
		return other.network == networkID && other.fixed == fixed
	})
}

func (s *Service) associate(f *floatingIP, p *port, fixed string, r *router) {
	if f.port == p.id && f.fixed == fixed {
		f.router = r.id
		return
	}
	s.disassociate(f)
	f.port, f.fixed, f.router = p.id, fixed, r.id
	s.floatingOf[p.id] = append(s.floatingOf[p.id], f.id)
	s.touched = append(s.touched, p.id)
}

// disassociate removes a floating IP from its port, if it has one.
func (s *Service) disassociate(f *floatingIP) {
	if f.port == "" {
		return
	}
	left := slices.DeleteFunc(s.floatingOf[f.port], func(id string) bool { return id == f.id })
	if len(left) == 0 {
		delete(s.floatingOf, f.port)
	} else {
		s.floatingOf[f.port] = left
	}
	s.touched = append(s.touched, f.port)
	f.port, f.fixed, f.router = "", "", ""
}

func (s *Service) removeFloatingIP(f *floatingIP) error {
	if err := f.freeOfForwardings(); err != nil {
		return err
	}
	s.disassociate(f)
	s.removePort(s.ports[f.external])
	delete(s.floatingIPs, f.id)
	return nil
}

// PortsOfFloatingAddresses returns the ports of floating IPs, by address.
func (s *Service) PortsOfFloatingAddresses() map[string]string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ports := map[string]string{}
	for portID, ids := range s.floatingOf {
		for _, id := range ids {
			ports[s.floatingIPs[id].address.String()] = portID
		}
	}
	return ports
}

// FloatingAddresses returns the addresses of the floating IPs of the port, in the order of their
// association; none if the port does not exist.
func (s *Service) FloatingAddresses(portID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var addresses []string
	for _, id := range s.floatingOf[portID] {
		addresses = append(addresses, s.floatingIPs[id].address.String())
	}
	return addresses
}
