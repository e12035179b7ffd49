// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"net/netip"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func (s *Service) routerResource() *resource {
	res := &resource{one: "router", many: "routers", path: "routers", taggable: true, single: true, startsOver: true, missing: routerMissing, add: s.addRouter, set: s.setRouter}
	res.attributes = withStandard(attributes{
		"name":                  {post: true, put: true, filter: true, sort: true, check: isString(255)},
		"admin_state_up":        {post: true, put: true, filter: true, sort: true, check: isBool},
		"status":                {sort: true},
		"external_gateway_info": {post: true, put: true, check: orNull(isGatewayInfo)},
		"routes":                {put: true, check: s.isRoutes},
		"flavor_id":             {filter: true},
	})
	res.find = func(c wire.Identity, id string) (object, bool) {
		if r := s.routers[id]; r != nil && owns(c, r.project) {
			return r, true
		}
		return nil, false
	}
	res.check = func(id string, v values) error {
		routes, ok := v["routes"].([]hostRoute)
		if !ok {
			return nil
		}
		if err := s.checkRoutes(s.routers[id], routes); err != nil {
			return err
		}
		if len(v) == 1 && sameRoutes(s.routers[id].routes, routes) {
			return errUnchanged
		}
		return nil
	}
	res.remove = func(_ wire.Identity, id string) error { return s.removeRouter(s.routers[id]) }
	res.show = func(_ wire.Identity, id string) any { return s.viewRouter(s.routers[id]) }
	res.list = func(c wire.Identity, r *http.Request) func(http.ResponseWriter) {
		var views []*routerView
		for _, router := range s.routers {
			if owns(c, router.project) {
				views = append(views, s.viewRouter(router))
			}
		}
		return writeList(res, s.options.MaxPage, r, views, nil)
	}
	return res
}

func routerMissing(id string) *apiError {
	return notFound("RouterNotFound", "Router %s could not be found", id)
}

// gatewayInfo describes a router's external gateway in a request.
type gatewayInfo struct {
	network string
	snat    *bool
	wishes  []addressWish
}

func isGatewayInfo(v any) (any, string) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, "'" + shown(v) + "' is not a dictionary"
	}
	if len(object) == 0 {
		return nil, ""
	}
	network, reason := isUUID(object["network_id"])
	if reason != "" {
		return nil, reason
	}
	info := gatewayInfo{network: network.(string)}
	if object["enable_snat"] != nil {
		snat, reason := isBool(object["enable_snat"])
		if reason != "" {
			return nil, reason
		}
		on := snat.(bool)
		info.snat = &on
	}
	if object["external_fixed_ips"] != nil {
		wishes, reason := isFixedIPs(object["external_fixed_ips"])
		if reason != "" {
			return nil, reason
		}
		info.wishes = wishes.([]addressWish)
	}
	return info, ""
}

func (s *Service) viewRouter(r *router) *routerView {
	v := &routerView{
		standardView: r.view(), Name: r.name, Tags: r.tags, AdminStateUp: r.adminUp, Status: "ACTIVE", Routes: r.routes,
		AvailabilityZones: []string{}, AvailabilityHints: []string{},
	}
	if p := s.ports[r.gateway]; p != nil {
		v.Gateway = &gatewayView{NetworkID: p.network, EnableSNAT: r.snat, ExternalFixedIPs: p.fixed}
	}
	return v
}

func (s *Service) addRouter(c wire.Identity, v values) (string, error) {
	r := &router{
		standard: s.newStandard("", v.text("project_id"), v.text("name"), v.text("description"), nil),
		adminUp:  v.flag("admin_state_up", true), snat: true, interfaces: []string{}, routes: []hostRoute{},
	}
	if err := s.setGateway(c, r, v, "create_router"); err != nil {
		return "", err
	}
	s.routers[r.id] = r
	return r.id, nil
}

func (s *Service) setRouter(c wire.Identity, id string, v values) error {
	r := s.routers[id]
	if v.has("external_gateway_info") {
		if err := s.setGateway(c, r, v, "update_router"); err != nil {
			return err
		}
	}
	v.set("name", &r.name)
	v.setFlag("admin_state_up", &r.adminUp)
	if routes, ok := v["routes"].([]hostRoute); ok {
		r.replaceRoutes(routes)
	}
	return nil
}

// setGateway connects the router with the external network that the request
// names, or with none.
func (s *Service) setGateway(c wire.Identity, r *router, v values, action string) error {
	info, wanted := v["external_gateway_info"].(gatewayInfo)
	if !wanted {
		return s.dropGateway(r)
	}
	if !c.Admin() && (info.snat != nil || info.wishes != nil) {
		return forbidden("(rule:" + action + " and rule:" + action + ":external_gateway_info)")
	}
	n := s.visibleNetwork(c, info.network)
	if n == nil {
		return networkMissing(info.network)
	}
	if !n.external {
		return badRequest("router", "Network %s is not an external network", n.id)
	}
	if info.snat != nil {
		r.snat = *info.snat
	}
	current := s.ports[r.gateway]
	if current != nil && current.network == n.id {
		if info.wishes != nil {
			return s.reallocate(n, current, info.wishes)
		}
		return nil
	}
	if err := s.dropGateway(r); err != nil {
		return err
	}
	if err := s.checkOverlap(r, n.subnets); err != nil {
		return err
	}
	p := s.routerPort(r, n.id, ownerRouterGateway)
	p.project, p.status = "", "ACTIVE" // never shown to the tenant
	if err := s.plug(n, p, info.wishes); err != nil {
		return err
	}
	r.gateway = p.id
	return nil
}

func (s *Service) dropGateway(r *router) error {
	p := s.ports[r.gateway]
	if p == nil {
		return nil
	}
	for _, f := range s.floatingIPs {
		if f.router == r.id {
			return conflict("RouterExternalGatewayInUseByFloatingIp",
				"Gateway cannot be updated for router %s, since a gateway to external network %s is required by one or more floating IPs.", r.id, p.network)
		}
	}
	s.removePort(p)
	r.gateway = ""
	return nil
}

// routerPort returns a port of the router that is not part of the network yet.
func (s *Service) routerPort(r *router, networkID, owner string) *port {
	return &port{
		standard: s.newStandard("", r.project, "", "", nil), network: networkID, deviceID: r.id, deviceOwner: owner,
		adminUp: true, status: "ACTIVE", vnic: "normal", groups: []string{}, pairs: []addressPair{},
	}
}

// checkOverlap refuses to connect a router with subnets that overlap with those it already has.
func (s *Service) checkOverlap(r *router, subnetIDs []string) error {
	var joined []string
	for _, id := range r.interfaces {
		for _, f := range s.ports[id].fixed {
			joined = append(joined, f.SubnetID)
		}
	}
	if gateway := s.ports[r.gateway]; gateway != nil {
		joined = append(joined, s.networks[gateway.network].subnets...)
	}
	for _, id := range subnetIDs {
		for _, other := range joined {
			a, b := s.subnets[id], s.subnets[other]
			switch {
			case id == other:
				return badRequest("router", "Router already has a port on subnet %s", id)
			case a.cidr.Overlaps(b.cidr):
				return badRequest("router", "Cidr %s of subnet %s overlaps with cidr %s of subnet %s", a.cidr, id, b.cidr, other)
			}
		}
	}
	return nil
}

func (s *Service) removeRouter(r *router) error {
	if len(r.interfaces) > 0 {
		return conflict("RouterInUse", "Router %s has ports still attached: %s", r.id, strings.Join(r.interfaces, ", "))
	}
	if err := s.dropGateway(r); err != nil {
		return err
	}
	delete(s.routers, r.id)
	return nil
}

// routerBetween finds a router between the subnet and the external network, or nil. It prefers one
// that has the subnet's gateway address.
func (s *Service) routerBetween(sub *subnet, externalID string) *router {
	var found *router
	for _, r := range inOrder(s.routers, func(r *router) bool { return s.ports[r.gateway] != nil && s.ports[r.gateway].network == externalID }) {
		for _, id := range r.interfaces {
			for _, f := range s.ports[id].fixed {
				if f.SubnetID != sub.id {
					continue
				}
				if addr, err := netip.ParseAddr(f.IPAddress); err == nil && addr == sub.gateway {
					return r
				}
				if found == nil {
					found = r
				}
			}
		}
	}
	return found
}
