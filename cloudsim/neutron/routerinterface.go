// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// interfaceInfo is the request about a router's interface, and the answer to it.
type interfaceInfo struct {
	ID        string   `json:"id"`
	TenantID  string   `json:"tenant_id,omitempty"`  // up to 2025.1
	ProjectID string   `json:"project_id,omitempty"` // since the newest release
	PortID    string   `json:"port_id"`
	NetworkID string   `json:"network_id"`
	SubnetID  string   `json:"subnet_id"`
	SubnetIDs []string `json:"subnet_ids"`
}

func (s *Service) routeRouterInterfaces(mux *http.ServeMux) {
	action := func(name string, adding bool, do func(wire.Identity, *router, interfaceInfo) (*port, []string, error)) {
		mux.HandleFunc("PUT /v2.0/routers/{id}/"+name, func(w http.ResponseWriter, r *http.Request) {
			wanted, err := readInterface(r, adding)
			if err != nil {
				writeError(w, err)
				return
			}
			var answer interfaceInfo
			err = s.change(func() error {
				c, id := wire.Caller(r.Context()), r.PathValue("id")
				router := s.routers[id]
				if router == nil || !owns(c, router.project) {
					return routerMissing(id)
				}
				if !s.mayWrite(c) {
					return forbidden("rule:" + name)
				}
				p, subnets, err := do(c, router, wanted)
				if err != nil {
					return err
				}
				s.touch(router)
				answer = interfaceInfo{ID: id, PortID: p.id, NetworkID: p.network, SubnetID: subnets[len(subnets)-1], SubnetIDs: subnets}
				if s.options.Release >= release.Newest {
					answer.ProjectID = p.project
				} else {
					answer.TenantID = p.project
				}
				return nil
			})
			if err != nil {
				writeError(w, err)
				return
			}
			wire.JSON(w, http.StatusOK, answer)
		})
	}
	action("add_router_interface", true, s.addInterface)
	action("remove_router_interface", false, s.removeInterface)
}

// readInterface reads which interface a request names: by port, by subnet or, to remove it, by
// both.
func readInterface(r *http.Request, adding bool) (info interfaceInfo, err error) {
	var body map[string]any
	if json.NewDecoder(r.Body).Decode(&body) != nil {
		return info, badBody("Body contains invalid data")
	}
	_, byPort := body["port_id"]
	_, bySubnet := body["subnet_id"]
	if !byPort && !bySubnet {
		return info, badRequest("router", "Either subnet_id or port_id must be specified")
	}
	for name, to := range map[string]*string{"port_id": &info.PortID, "subnet_id": &info.SubnetID} {
		if _, ok := body[name]; !ok {
			continue
		}
		id, reason := isUUID(body[name])
		if reason != "" {
			return info, badRequest("router", "%s", reason)
		}
		*to = id.(string)
	}
	if adding && byPort && bySubnet {
		return info, badRequest("router", "Cannot specify both subnet-id and port-id")
	}
	return info, nil
}

func (s *Service) addInterface(c wire.Identity, r *router, wanted interfaceInfo) (*port, []string, error) {
	if wanted.PortID != "" {
		return s.addInterfaceByPort(c, r, wanted.PortID)
	}
	sub := s.visibleSubnet(c, wanted.SubnetID)
	switch {
	case sub == nil:
		return nil, nil, subnetMissing(wanted.SubnetID)
	case !sub.gateway.IsValid():
		return nil, nil, badRequest("router", "Subnet for router interface must have a gateway IP")
	case !owns(c, sub.project):
		return nil, nil, badRequest("router", "Cannot add interface to router because subnet %s is not owned by project making the request", sub.id)
	}
	p, err := s.joinSubnet(r, sub)
	return p, []string{sub.id}, err
}

// joinSubnet adds an interface with the subnet's gateway address to the router.
func (s *Service) joinSubnet(r *router, sub *subnet) (*port, error) {
	if err := s.checkOverlap(r, []string{sub.id}); err != nil {
		return nil, err
	}
	n := s.networks[sub.network]
	wish := addressWish{subnet: sub.id, address: sub.gateway}
	if p := s.ipv6Interface(r, n.id); p != nil && sub.ipVersion() == 6 {
		got, err := s.allocateWish(n, wish, ownerRouterInterface)
		if err != nil {
			return nil, err
		}
		p.fixed = append(slices.Clip(p.fixed), got...)
		s.touch(p)
		return p, nil
	}
	p := s.routerPort(r, n.id, ownerRouterInterface)
	if err := s.plug(n, p, []addressWish{wish}); err != nil {
		return nil, err
	}
	r.interfaces = append(slices.Clip(r.interfaces), p.id)
	return p, nil
}

// ipv6Interface returns the router's interface with the IPv6 subnets of the network, or nil.
func (s *Service) ipv6Interface(r *router, networkID string) *port {
	for _, id := range r.interfaces {
		p := s.ports[id]
		if p.network == networkID && slices.ContainsFunc(p.fixed, func(f FixedIP) bool { return s.subnets[f.SubnetID].ipVersion() == 6 }) {
			return p
		}
	}
	return nil
}

func (s *Service) addInterfaceByPort(c wire.Identity, r *router, portID string) (*port, []string, error) {
	p := s.visiblePort(c, portID)
	switch {
	case p == nil:
		return nil, nil, portMissing(portID)
	case p.deviceID != "":
		return nil, nil, conflict("PortInUse", "Unable to complete operation on port %s for network %s. Port already has an attached device %s.", p.id, p.network, p.deviceID)
	case len(p.fixed) == 0:
		return nil, nil, badRequest("router", "Router port must have at least one fixed IP")
	}
	var subnets []string
	v4 := 0
	for _, f := range p.fixed {
		subnets = append(subnets, f.SubnetID)
		if s.subnets[f.SubnetID].ipVersion() == 4 {
			v4++
		}
	}
	if v4 > 1 {
		return nil, nil, badRequest("router", "Cannot have multiple IPv4 subnets on router port")
	}
	if err := s.checkOverlap(r, subnets); err != nil {
		return nil, nil, err
	}
	p.deviceID, p.deviceOwner, p.status = r.id, ownerRouterInterface, "ACTIVE"
	s.touch(p)
	r.interfaces = append(slices.Clip(r.interfaces), p.id)
	return p, subnets, nil
}

func (s *Service) removeInterface(c wire.Identity, r *router, wanted interfaceInfo) (*port, []string, error) {
	var p *port
	var leaving []string // subnets
	for _, id := range r.interfaces {
		for _, f := range s.ports[id].fixed {
			switch {
			case wanted.PortID == id:
				p, leaving = s.ports[id], append(leaving, f.SubnetID)
			case wanted.PortID == "" && wanted.SubnetID == f.SubnetID:
				p, leaving = s.ports[id], []string{f.SubnetID}
			}
		}
	}
	switch {
	case p == nil && wanted.PortID != "":
		return nil, nil, notFound("RouterInterfaceNotFound", "Router %s does not have an interface with id %s", r.id, wanted.PortID)
	case p == nil && s.visibleSubnet(c, wanted.SubnetID) == nil:
		return nil, nil, subnetMissing(wanted.SubnetID)
	case p == nil:
		return nil, nil, notFound("RouterInterfaceNotFoundForSubnet", "Router %s has no interface on subnet %s", r.id, wanted.SubnetID)
	case wanted.PortID != "" && wanted.SubnetID != "" && !slices.Contains(leaving, wanted.SubnetID):
		return nil, nil, refuse(http.StatusBadRequest, "SubnetMismatchForPort", "Subnet on port %s does not match the requested subnet %s.", p.id, wanted.SubnetID)
	}
	for _, id := range leaving {
		if s.neededByFloatingIP(r, s.subnets[id]) {
			return nil, nil, conflict("RouterInterfaceInUseByFloatingIP",
				"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more floating IPs.", id, r.id)
		}
		if r.neededByRoute(s.subnets[id]) {
			return nil, nil, conflict("RouterInterfaceInUseByRoute",
				"Router interface for subnet %s on router %s cannot be deleted, as it is required by one or more routes.", id, r.id)
		}
	}
	s.leaveSubnets(r, p, leaving)
	return p, leaving, nil
}

func (s *Service) neededByFloatingIP(r *router, sub *subnet) bool {
	for _, f := range s.floatingIPs {
		if f.router != r.id {
			continue
		}
		if slices.ContainsFunc(f.forwardings, func(p portForwarding) bool {
			return slices.Contains(s.ports[p.PortID].fixed, FixedIP{sub.id, p.Address})
		}) {
			return true
		}
		if addr, err := netip.ParseAddr(f.fixed); err == nil && sub.cidr.Contains(addr) {
			return true
		}
	}
	return false
}

// leaveSubnets removes the subnets from the interface, and the interface from the router if no
// subnet remains.
func (s *Service) leaveSubnets(r *router, p *port, leaving []string) {
	if len(leaving) == len(p.fixed) {
		r.interfaces = slices.DeleteFunc(slices.Clone(r.interfaces), func(id string) bool { return id == p.id })
		s.removePort(p)
		return
	}
	var kept, dropped []FixedIP
	for _, f := range p.fixed {
		if slices.Contains(leaving, f.SubnetID) {
			dropped = append(dropped, f)
		} else {
			kept = append(kept, f)
		}
	}
	s.release(dropped)
	p.fixed = kept
	s.touch(p)
}
