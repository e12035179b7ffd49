// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"crypto/rand"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) portResource() *resource {
	res := &resource{one: "port", many: "ports", path: "ports", taggable: true, missing: portMissing, admit: s.admitPort, add: s.addPort, set: s.setPort}
	res.attributes = withStandard(portAttributes)
	res.find = func(c wire.Identity, id string) (object, bool) {
		if p := s.visiblePort(c, id); p != nil {
			return p, true
		}
		return nil, false
	}
	res.remove = func(_ wire.Identity, id string) error {
		p := s.ports[id]
		if err := s.freeOfTrunk(id); err != nil {
			return err
		}
		if isRouterOwned(p.deviceOwner) && len(p.fixed) > 0 && (s.routers[p.deviceID] != nil || s.floatingIPs[p.deviceID] != nil) {
			return conflict("ServicePortInUse", "Port %s cannot be deleted directly via the port API: has device owner %s.", id, p.deviceOwner)
		}
		s.removePort(p)
		return nil
	}
	res.show = func(c wire.Identity, id string) any { return s.viewPort(c, s.ports[id], true) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*portView
		for _, p := range s.ports {
			if s.visiblePort(c, p.id) != nil {
				views = append(views, s.viewPort(c, p, false))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, filterPort)
	}
	return res
}

var portAttributes = attributes{
	"name":                  {post: true, put: true, filter: true, sort: true, check: isString(255)},
	"network_id":            {post: true, required: true, filter: true, sort: true, check: isUUID},
	"admin_state_up":        {post: true, put: true, filter: true, sort: true, check: isBool},
	"mac_address":           {post: true, put: true, filter: true, sort: true, check: isMAC},
	"fixed_ips":             {post: true, put: true, filter: true, check: isFixedIPs},
	"device_id":             {post: true, put: true, filter: true, sort: true, check: isString(255)},
	"device_owner":          {post: true, put: true, filter: true, sort: true, check: isString(255)},
	"status":                {filter: true, sort: true},
	"security_groups":       {post: true, put: true, filter: true, check: isUUIDs},
	"allowed_address_pairs": {post: true, put: true, check: isAddressPairs},
	"port_security_enabled": {post: true, put: true, filter: true, check: isBool},
	"tags":                  {post: true, filter: true, check: isTags},
	"binding:vnic_type":     {post: true, put: true, filter: true, check: isString(64)},
	"binding:host_id":       {post: true, put: true, filter: true, adminOnly: true, check: orNull(isString(255))},
	"binding:profile":       {},
	"binding:vif_type":      {},
	"binding:vif_details":   {},
	"trunk_details":         {},
}

func portMissing(id string) *apiError {
	return notFound("PortNotFound", "Port %s could not be found.", id)
}

func isRouterOwned(owner string) bool {
	return owner == ownerRouterInterface || owner == ownerRouterGateway || owner == ownerFloatingIP
}

// visiblePort returns the port if it or its network belongs to the caller, or nil.
func (s *Service) visiblePort(c wire.Identity, id string) *port {
	p := s.ports[id]
	if p == nil || !owns(c, p.project) && !owns(c, s.networks[p.network].project) {
		return nil
	}
	return p
}

// viewPort returns the port as it is shown alone or in a list.
func (s *Service) viewPort(c wire.Identity, p *port, alone bool) *portView {
	v := &portView{
		standardView: p.view(), Name: p.name, Tags: p.tags, NetworkID: p.network, MACAddress: p.mac, AdminStateUp: p.adminUp, Status: p.status,
		DeviceID: p.deviceID, DeviceOwner: p.deviceOwner, FixedIPs: p.fixed, SecurityGroups: p.groups, AllowedAddressPairs: p.pairs,
		PortSecurity: p.portSecurity, VNICType: p.vnic, ExtraDHCPOptions: []any{}, TrunkDetails: s.trunkDetailsOf(p.id, alone || s.options.Release >= release.Newest),
	}
	if c.Admin() {
		v.portBindingView = &portBindingView{HostID: p.host, Profile: map[string]any{}, VIFType: "unbound", VIFDetails: map[string]any{}}
		if p.host != "" {
			v.VIFType = "ovs"
		}
	}
	return v
}

// filterPort applies the filters on lists inside a port. One fixed IP must match all filters on
// fixed IPs ("ip_address=A", "subnet_id=S", "ip_address_substr=T"); several values of one kind are
// alternatives.
func filterPort(v *portView, key string, wanted []string) (match, known bool) {
	switch key {
	case "security_groups":
		return slices.ContainsFunc(v.SecurityGroups, func(id string) bool { return slices.Contains(wanted, id) }), true
	case "fixed_ips":
		by := map[string][]string{}
		for _, w := range wanted {
			kind, value, _ := strings.Cut(w, "=")
			by[kind] = append(by[kind], value)
		}
		among := func(kind string, test func(value string) bool) bool {
			return by[kind] == nil || slices.ContainsFunc(by[kind], test)
		}
		return slices.ContainsFunc(v.FixedIPs, func(f FixedIP) bool {
			return among("ip_address", func(a string) bool { return a == f.IPAddress }) &&
				among("subnet_id", func(id string) bool { return id == f.SubnetID }) &&
				among("ip_address_substr", func(part string) bool { return strings.Contains(f.IPAddress, part) })
		}), true
	}
	return false, false
}

// admitPort refuses ports of callers that may not use the network. Settings that could harm others
// in the network are reserved for its owner.
func (s *Service) admitPort(c wire.Identity, v values) error {
	n := s.visibleNetwork(c, v.text("network_id"))
	switch {
	case n == nil:
		return networkMissing(v.text("network_id"))
	case owns(c, n.project):
		return nil
	case !n.sharedWith(c.ProjectID):
		if s.options.Release >= release.Newest {
			return forbidden("rule:create_port")
		}
		return refuse(http.StatusForbidden, "HTTPForbidden", "Tenant %s not allowed to create port on this network", v.text("project_id"))
	}
	return foreignNetwork("create_port", v)
}

// foreignNetwork refuses settings of a port that only the owner of the network may make.
func foreignNetwork(action string, v values) error {
	wishes, _ := v["fixed_ips"].([]addressWish)
	switch {
	case strings.HasPrefix(v.text("device_owner"), "network:"):
		return forbiddenAttribute(action, "device_owner")
	case slices.ContainsFunc(wishes, func(w addressWish) bool { return w.address.IsValid() }):
		rule := "rule:" + action + ":fixed_ips"
		parts := rule + ":ip_address"
		if slices.ContainsFunc(wishes, func(w addressWish) bool { return w.subnet != "" }) {
			parts += " and " + rule + ":subnet_id"
		}
		return forbidden("(rule:" + action + " and (" + rule + " and (" + parts + ")))")
	}
	for _, name := range []string{"mac_address", "allowed_address_pairs", "port_security_enabled"} {
		if v.has(name) {
			return forbiddenAttribute(action, name)
		}
	}
	return nil
}

func (s *Service) addPort(c wire.Identity, v values) (string, error) {
	n := s.networks[v.text("network_id")]
	p := &port{
		standard: s.newStandard("", v.text("project_id"), v.text("name"), v.text("description"), nil), // no tags: these require an extension
		network:  n.id, mac: v.text("mac_address"), deviceID: v.text("device_id"), deviceOwner: v.text("device_owner"),
		adminUp: v.flag("admin_state_up", true), portSecurity: v.flag("port_security_enabled", n.portSecurity),
		host: v.text("binding:host_id"), vnic: "normal", groups: []string{}, pairs: []addressPair{},
	}
	v.set("binding:vnic_type", &p.vnic)
	if p.mac == "" {
		p.mac = s.newMAC(n.id) // before the address pairs, which inherit it
	}
	if err := s.protect(c, p, v); err != nil {
		return "", err
	}
	var wishes []addressWish
	if v.has("fixed_ips") {
		wishes = v["fixed_ips"].([]addressWish)
	}
	return p.id, s.plug(n, p, wishes)
}

// plug adds a new port to its network, with addresses and, if it has none yet, a MAC address.
func (s *Service) plug(n *network, p *port, wishes []addressWish) (err error) {
	if p.mac == "" {
		p.mac = s.newMAC(n.id)
	} else if s.macInUse(n.id, p.mac) {
		return macInUse(n.id, p.mac)
	}
	p.fixed, err = s.allocate(n, wishes, p.deviceOwner, p.mac)
	if err != nil {
		return err
	}
	if p.status == "" {
		p.setStatus()
	}
	s.ports[p.id] = p
	s.macs[networkMAC{n.id, p.mac}] = struct{}{}
	return nil
}

// setStatus sets the status by whether the port is bound.
func (p *port) setStatus() {
	p.status = "DOWN"
	if p.host != "" && p.adminUp {
		p.status = "ACTIVE"
	}
}

// newMAC returns a random MAC address that no port of the network has.
func (s *Service) newMAC(networkID string) string {
	mac := net.HardwareAddr{0xfa, 0x16, 0x3e, 0, 0, 0}
	for {
		_, _ = rand.Read(mac[3:]) // never fails
		if !s.macInUse(networkID, mac.String()) {
			return mac.String()
		}
	}
}

func (s *Service) macInUse(networkID, mac string) bool {
	_, used := s.macs[networkMAC{networkID, mac}]
	return used
}

func macInUse(networkID, mac string) *apiError {
	return conflict("MacAddressInUse", "Unable to complete operation for network %s. The mac address %s is in use.", networkID, mac)
}

// protect sets a port's security groups, address pairs and port security as requested, or refuses
// the request.
func (s *Service) protect(c wire.Identity, p *port, v values) error {
	trusted := strings.HasPrefix(p.deviceOwner, "network:")
	security := v.flag("port_security_enabled", p.portSecurity)
	groups, pairs := p.groups, p.pairs
	if v.has("security_groups") && !trusted {
		groups = v["security_groups"].([]string)
		for _, id := range groups {
			if g := s.groups[id]; g == nil || g.project != p.project && !c.Admin() {
				return groupMissing(id)
			}
		}
	}
	isNew := s.ports[p.id] == nil
	if isNew && security && !trusted && !v.has("security_groups") {
		if id := s.ensureDefaultGroup(p.project); id != "" {
			groups = []string{id}
		}
	}
	if v.has("allowed_address_pairs") {
		var err error
		pairs, err = completePairs(v["allowed_address_pairs"], p.mac, s.options.MaxAddressPairs)
		if err != nil {
			return err
		}
	}
	switch {
	case !security && len(pairs) > 0:
		return conflict("AddressPairAndPortSecurityRequired", "Port Security must be enabled in order to have allowed address pairs on a port.")
	case !security && len(groups) > 0 && v.has("security_groups"):
		return refuse(http.StatusBadRequest, "PortSecurityAndIPRequiredForSecurityGroups", "Port security must be enabled and port must have an IP address in order to use security groups.")
	case !security && len(groups) > 0:
		return conflict("PortSecurityPortHasSecurityGroup", "Port has security group associated. Cannot disable port security or IP address until security group is removed.")
	}
	p.portSecurity, p.groups, p.pairs = security, groups, pairs
	return nil
}

func (s *Service) setPort(c wire.Identity, id string, v values) error {
	p := s.ports[id]
	n := s.networks[p.network]
	if !owns(c, n.project) {
		if err := foreignNetwork("update_port", v); err != nil {
			return err
		}
	}
	if mac := v.text("mac_address"); mac != "" && mac != p.mac && s.macInUse(n.id, mac) {
		return macInUse(n.id, mac)
	}
	groups, pairs, security := p.groups, p.pairs, p.portSecurity
	if err := s.protect(c, p, v); err != nil {
		return err
	}
	if v.has("fixed_ips") {
		if err := s.reallocate(n, p, v["fixed_ips"].([]addressWish)); err != nil {
			p.groups, p.pairs, p.portSecurity = groups, pairs, security
			return err
		}
	}
	v.set("name", &p.name)
	delete(s.macs, networkMAC{n.id, p.mac})
	v.set("mac_address", &p.mac)
	s.macs[networkMAC{n.id, p.mac}] = struct{}{}
	v.set("device_id", &p.deviceID)
	v.set("device_owner", &p.deviceOwner)
	v.set("binding:vnic_type", &p.vnic)
	v.set("binding:host_id", &p.host)
	v.setFlag("admin_state_up", &p.adminUp)
	if !isRouterOwned(p.deviceOwner) && (v.has("binding:host_id") || v.has("admin_state_up")) {
		p.setStatus()
	}
	return nil
}

// removePort deletes a port and the port forwardings to it, frees its addresses and disassociates
// its floating IPs, which stay.
func (s *Service) removePort(p *port) {
	for _, id := range slices.Clone(s.floatingOf[p.id]) {
		s.disassociate(s.floatingIPs[id])
		s.touch(s.floatingIPs[id])
	}
	for _, f := range s.floatingIPs {
		f.dropForwardings(func(to portForwarding) bool { return to.PortID == p.id })
	}
	s.release(p.fixed)
	delete(s.macs, networkMAC{p.network, p.mac})
	delete(s.ports, p.id)
}
