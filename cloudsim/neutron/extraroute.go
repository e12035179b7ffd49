// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// defaultMaxRoutes is Neutron's default limit of extra routes per router.
const defaultMaxRoutes = 30

// extraRouteAtomic is the extension with which single routes can be added and removed. Without it,
// clients can only replace all routes.
const extraRouteAtomic = "extraroute-atomic"

// errInternal is answered with 500: the real service does not handle such a request.
var errInternal = fmt.Errorf("unexpected request")

func (s *Service) routeExtraRoutes(mux *http.ServeMux) {
	if !s.has(extraRouteAtomic) {
		return
	}
	for name, combine := range map[string]func(old, named []hostRoute) []hostRoute{"add_extraroutes": addRoutes, "remove_extraroutes": removeRoutes} {
		path := "/v2.0/routers/{id}/" + name
		mux.HandleFunc("PUT "+path, s.changingRoutes(name, combine))
	}
}

// changingRoutes answers a request with this name, which adds routes to a router or removes them.
// Other changes in the same request are ignored.
func (s *Service) changingRoutes(name string, combine func(old, named []hostRoute) []hostRoute) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body any
		if json.NewDecoder(r.Body).Decode(&body) != nil && r.ContentLength != 0 {
			writeError(w, refuse(http.StatusBadRequest, "MalformedRequestBody", "Malformed request body: Cannot understand JSON."))
			return
		}
		bound, err := s.boundTo(r)
		if err != nil {
			writeError(w, err)
			return
		}
		var changed *routerActionView
		err = s.change(func() error {
			c, id := wire.Caller(r.Context()), r.PathValue("id")
			router := s.routers[id]
			if router == nil || !owns(c, router.project) {
				return routerMissing(id)
			}
			if !s.mayWrite(c) {
				return forbidden("rule:" + name)
			}
			named, err := namedRoutes(body)
			if err != nil {
				return err
			}
			wanted := combine(router.routes, named)
			if err := s.checkRoutes(router, wanted); err != nil {
				return err
			}
			if !sameRoutes(router.routes, wanted) { // without a change, the revision is not compared
				if err := match(bound, router); err != nil {
					return err
				}
				router.replaceRoutes(wanted)
				s.touch(router)
			}
			changed = s.viewRouterAction(router)
			return nil
		})
		if err != nil {
			writeError(w, err)
			return
		}
		wire.JSON(w, http.StatusOK, map[string]any{"router": changed})
	}
}

// namedRoutes reads the routes of a request without checking them: all routes of the router are
// checked together later.
func namedRoutes(body any) ([]hostRoute, error) {
	outer, _ := body.(map[string]any)
	inner, _ := outer["router"].(map[string]any)
	list, ok := inner["routes"].([]any)
	if !ok {
		return nil, errInternal
	}
	routes := []hostRoute{}
	for _, each := range list {
		o, _ := each.(map[string]any)
		destination, okDestination := o["destination"].(string)
		nextHop, okNextHop := o["nexthop"].(string)
		if !okDestination || !okNextHop {
			return nil, errInternal
		}
		routes = append(routes, hostRoute{Destination: destination, NextHop: nextHop})
	}
	return routes, nil
}

// addRoutes joins two lists of routes without duplicates. Different routes with the same or
// overlapping destinations are kept.
func addRoutes(old, added []hostRoute) []hostRoute {
	joined := slices.Concat(old, added)
	slices.SortFunc(joined, compareRoutes)
	return slices.Compact(joined)
}

// removeRoutes removes routes; a route that does not exist is not an error.
func removeRoutes(old, removed []hostRoute) []hostRoute {
	return slices.DeleteFunc(slices.Clone(old), func(h hostRoute) bool { return slices.Contains(removed, h) })
}

func compareRoutes(a, b hostRoute) int {
	return cmp.Or(cmp.Compare(a.Destination, b.Destination), cmp.Compare(a.NextHop, b.NextHop))
}

// checkRoutes refuses routes that the router cannot have. The next hop of each must be in a subnet
// of the router, and must not be an address of the router itself.
func (s *Service) checkRoutes(r *router, routes []hostRoute) error {
	if s.options.Release < release.Newest && len(routes) > s.options.MaxRoutes {
		return refuse(http.StatusBadRequest, "RoutesExhausted",
			"Unable to complete operation for %s. The number of routes exceeds the maximum %d.", r.id, s.options.MaxRoutes)
	}
	var subnets []netip.Prefix
	var own []string
	for _, p := range s.ports {
		if p.deviceID != r.id {
			continue
		}
		for _, f := range p.fixed {
			subnets = append(subnets, s.subnets[f.SubnetID].cidr)
			own = append(own, f.IPAddress)
		}
	}
	for _, route := range routes {
		hop, err := netip.ParseAddr(route.NextHop)
		switch {
		case err != nil:
			return refuse(http.StatusBadRequest, "AddrFormatError", "failed to detect a valid IP address from '%s'", route.NextHop)
		case !slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Contains(hop) }):
			return invalidRoutes(routes, "the nexthop is not connected with router")
		case slices.Contains(own, route.NextHop):
			return invalidRoutes(routes, "the nexthop is used by router")
		}
	}
	if limit := s.limit(r.project, "router_route"); s.options.Release >= release.Newest && limit >= 0 && len(routes) > limit {
		return overQuota("router_route") // a limit per router, although it is a quota of the project
	}
	for _, route := range routes {
		if _, err := netip.ParsePrefix(route.Destination); err == nil {
			continue
		}
		if _, err := netip.ParseAddr(route.Destination); err != nil {
			return refuse(http.StatusBadRequest, "AddrFormatError", "invalid IPNetwork %s", route.Destination)
		}
	}
	return r.checkSpelling(routes)
}

// checkSpelling refuses a route that the router already has with another spelling of its next hop:
// the real service treats them as different, but its database does not.
func (r *router) checkSpelling(routes []hostRoute) error {
	kept := slices.Clone(r.routes)
	for _, route := range routes {
		if slices.Contains(r.routes, route) {
			continue
		}
		kept = append(kept, route.stored())
		if slices.Contains(kept[:len(kept)-1], route.stored()) {
			return conflict("NeutronDbObjectDuplicateEntry", "Failed to create a duplicate RouterRoute: for attribute(s) ['PRIMARY'] with value(s) %s-%s-%s",
				route.Destination, route.stored().NextHop, r.id)
		}
	}
	return nil
}

// stored returns the route as it is stored and shown.
func (h hostRoute) stored() hostRoute {
	if hop, err := netip.ParseAddr(h.NextHop); err == nil {
		h.NextHop = hop.String()
	}
	return h
}

func invalidRoutes(routes []hostRoute, reason string) *apiError {
	var all []string
	for _, h := range routes {
		all = append(all, h.python())
	}
	return refuse(http.StatusBadRequest, "InvalidRoutes", "Invalid format for routes: [%s], %s", strings.Join(all, ", "), reason)
}

// python returns the route as the real service's messages show it.
func (h hostRoute) python() string {
	return fmt.Sprintf("{'destination': '%s', 'nexthop': '%s'}", h.Destination, h.NextHop)
}

// sameRoutes reports whether both have the same routes, in any order.
func sameRoutes(a, b []hostRoute) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.SortFunc(a, compareRoutes)
	slices.SortFunc(b, compareRoutes)
	return slices.Equal(a, b)
}

// replaceRoutes sets the routes of the router, which checkRoutes has checked.
func (r *router) replaceRoutes(routes []hostRoute) {
	r.routes = make([]hostRoute, 0, len(routes))
	for _, route := range routes {
		r.routes = append(r.routes, route.stored())
	}
	slices.SortFunc(r.routes, compareRoutes)
}

// neededByRoute reports whether a route of the router leads into the subnet.
func (r *router) neededByRoute(sub *subnet) bool {
	return slices.ContainsFunc(r.routes, func(h hostRoute) bool {
		return sub.cidr.Contains(netip.MustParseAddr(h.NextHop)) // cannot panic: checkRoutes has parsed it
	})
}

// routerActionView is a router in the answer to a change of its routes, which has more fields than
// other answers.
type routerActionView struct {
	*routerView
	GatewayPort *string `json:"gw_port_id"`
	Distributed bool    `json:"distributed"`
	HA          bool    `json:"ha"`
	HAID        int     `json:"ha_vr_id"`
	// Since 2025.1. Always false here.
	BFD  *bool `json:"enable_default_route_bfd,omitempty"`
	ECMP *bool `json:"enable_default_route_ecmp,omitempty"`
	// Since the newest release.
	SNAT *bool `json:"enable_snat,omitempty"`
}

func (s *Service) viewRouterAction(r *router) *routerActionView {
	v := &routerActionView{routerView: s.viewRouter(r), GatewayPort: orNone(r.gateway)}
	if s.options.Release >= release.Epoxy {
		v.BFD, v.ECMP = new(bool), new(bool)
	}
	if s.options.Release >= release.Newest {
		v.SNAT = new(true)
	}
	return v
}
