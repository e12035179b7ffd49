// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) networkResource() *resource {
	res := &resource{one: "network", many: "networks", path: "networks", taggable: true, missing: networkMissing, add: s.addNetwork, set: s.setNetwork}
	res.attributes = withStandard(attributes{
		"name":                      {post: true, put: true, filter: true, sort: true, check: isString(255)},
		"admin_state_up":            {post: true, put: true, filter: true, sort: true, check: isBool},
		"status":                    {filter: true, sort: true},
		"subnets":                   {},
		"shared":                    {post: true, put: true, filter: true, adminOnly: true, check: isBool},
		"router:external":           {post: true, put: true, filter: true, adminOnly: true, check: isBool},
		"is_default":                {post: true, put: true, filter: true, adminOnly: true, check: isBool},
		"mtu":                       {post: true, put: true, filter: true, check: isInt(68, 65536)},
		"port_security_enabled":     {post: true, put: true, filter: true, check: isBool},
		"provider:network_type":     {post: true, filter: true, adminOnly: true, check: isString(32)},
		"provider:physical_network": {post: true, filter: true, adminOnly: true, check: isString(64)},
		"provider:segmentation_id":  {post: true, filter: true, adminOnly: true, check: isInt(0, 1<<24-1)},
	})
	res.find = func(c wire.Identity, id string) (object, bool) {
		if n := s.visibleNetwork(c, id); n != nil {
			return n, owns(c, n.project)
		}
		return nil, false
	}
	res.remove = func(_ wire.Identity, id string) error { return s.removeNetwork(s.networks[id]) }
	// Only the answer to a create shows it for every network.
	res.showNew = func(c wire.Identity, id string) any {
		v := s.viewNetwork(c, s.networks[id])
		v.IsDefault = &s.networks[id].isDefault
		return v
	}
	res.show = func(c wire.Identity, id string) any { return s.viewNetwork(c, s.networks[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*networkView
		for _, n := range s.networks {
			if s.visibleNetwork(c, n.id) != nil {
				views = append(views, s.viewNetwork(c, n))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	return res
}

func networkMissing(id string) *apiError {
	return notFound("NetworkNotFound", "Network %s could not be found.", id)
}

// visibleNetwork returns the network if the caller may see it, or nil.
func (s *Service) visibleNetwork(c wire.Identity, id string) *network {
	n := s.networks[id]
	if n == nil || !owns(c, n.project) && !n.sharedWith(c.ProjectID) && !n.external {
		return nil
	}
	return n
}

func (s *Service) viewNetwork(c wire.Identity, n *network) *networkView {
	v := &networkView{
		standardView: n.view(), Name: n.name, Tags: n.tags, AdminStateUp: n.adminUp, Status: "ACTIVE", Subnets: n.subnets, Shared: n.sharedWith(c.ProjectID),
		External: n.external, MTU: n.mtu, PortSecurity: n.portSecurity, AvailabilityZones: []string{}, AvailabilityHints: []string{},
	}
	if s.options.Release >= release.Newest {
		v.networkTagsView = &networkTagsView{}
	}
	if n.external {
		isDefault := n.isDefault
		v.IsDefault = &isDefault
	}
	if c.Admin() {
		v.networkProviderView = &networkProviderView{NetworkType: n.kind, PhysicalNetwork: n.physical}
		if n.kind != "flat" {
			segment := n.segment
			v.SegmentationID = &segment
		}
	}
	return v
}

func (s *Service) addNetwork(_ wire.Identity, v values) (string, error) {
	project := v.text("project_id")
	if project != "" {
		s.ensureDefaultGroup(project)
	}
	s.segments++
	n := &network{
		standard: s.newStandard("", project, v.text("name"), v.text("description"), nil),
		adminUp:  v.flag("admin_state_up", true), shared: v.flag("shared", false), external: v.flag("router:external", false),
		isDefault: v.flag("is_default", false), portSecurity: v.flag("port_security_enabled", true),
		mtu: s.options.MTU, segment: s.segments, kind: "geneve", subnets: []string{},
	}
	if mtu, ok := v["mtu"].(int); ok {
		n.mtu = mtu
	}
	if kind := v.text("provider:network_type"); kind != "" {
		n.kind = kind
	}
	if physical := v.text("provider:physical_network"); physical != "" {
		n.physical = &physical
	}
	if segment, ok := v["provider:segmentation_id"].(int); ok {
		n.segment = segment
	}
	s.networks[n.id] = n
	return n.id, nil
}

func (s *Service) setNetwork(_ wire.Identity, id string, v values) error {
	n := s.networks[id]
	if n.external && !v.flag("router:external", true) {
		for _, p := range s.ports {
			if p.network == id && (p.deviceOwner == ownerRouterGateway || p.deviceOwner == ownerFloatingIP) {
				return conflict("ExternalNetworkInUse", "External network %s cannot be updated to be made non-external, since it has existing gateway ports.", id)
			}
		}
	}
	v.set("name", &n.name)
	v.setFlag("admin_state_up", &n.adminUp)
	v.setFlag("shared", &n.shared)
	v.setFlag("router:external", &n.external)
	v.setFlag("is_default", &n.isDefault)
	v.setFlag("port_security_enabled", &n.portSecurity)
	if mtu, ok := v["mtu"].(int); ok {
		n.mtu = mtu
	}
	return nil
}

// removeNetwork deletes a network and its subnets, unless it has ports other than those of DHCP.
func (s *Service) removeNetwork(n *network) error {
	inNetwork := inOrder(s.ports, func(p *port) bool { return p.network == n.id })
	var left []string
	for _, p := range inNetwork {
		if p.deviceOwner != ownerDHCP {
			left = append(left, p.id)
		}
	}
	if len(left) > 0 {
		return conflict("NetworkInUse", "Unable to complete operation on network %s. There are one or more ports still in use on the network, id for these ports is: %s.",
			n.id, strings.Join(left, ","))
	}
	for _, p := range inNetwork {
		s.removePort(p)
	}
	for _, id := range n.subnets {
		delete(s.subnets, id)
	}
	delete(s.networks, n.id)
	return nil
}
