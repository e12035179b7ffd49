// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// portForwardings is the extension with which a floating IP without a port forwards each of its TCP
// or UDP ports to another Neutron port.
const portForwardings = "floating-ip-port-forwarding"

// portForwarding is one port of a floating IP and its destination. The simulator forwards no
// packets.
type portForwarding struct {
	ID           string `json:"id"`
	ExternalPort int    `json:"external_port"`
	InternalPort int    `json:"internal_port"`
	Address      string `json:"internal_ip_address"`
	Protocol     string `json:"protocol"`
	PortID       string `json:"internal_port_id"`
}

var forwardingAttributes = attributes{
	"id":                  {filter: true, sort: true},
	"project_id":          {post: true, check: isString(255)},
	"tenant_id":           {post: true, check: isString(255)},
	"external_port":       {post: true, required: true, filter: true, sort: true, check: isInt(1, 65535)},
	"internal_port":       {post: true, required: true, check: isInt(1, 65535)},
	"internal_ip_address": {post: true, required: true, check: isAddress},
	"protocol":            {post: true, required: true, filter: true, sort: true, check: isOneOf("tcp", "udp", "sctp")},
	"internal_port_id":    {post: true, required: true, filter: true, sort: true, check: isUUID},
}

func (s *Service) routePortForwardings(mux *http.ServeMux) {
	if !s.has(portForwardings) {
		return
	}
	path := "/v2.0/floatingips/{id}/port_forwardings"
	mux.HandleFunc("GET "+path, s.listPortForwardings)
	mux.HandleFunc("POST "+path, s.createPortForwarding)
	mux.HandleFunc("DELETE "+path+"/{forwarding}", s.deletePortForwarding)
}

// changingParent returns the floating IP that the path of a request names, if the caller may perform the action,
// a create or a delete, on its port forwardings.
func (s *Service) changingParent(r *http.Request, action string) (*floatingIP, error) {
	f, err := s.parent(r)
	if err == nil && !s.mayWrite(wire.Caller(r.Context())) {
		return nil, forbidden("rule:" + action + "_floatingip_port_forwarding")
	}
	return f, err
}

// parent returns the floating IP that the path of a request names.
func (s *Service) parent(r *http.Request) (*floatingIP, error) {
	id := r.PathValue("id")
	if f := s.floatingIPs[id]; f != nil && owns(wire.Caller(r.Context()), f.project) {
		return f, nil
	}
	return nil, floatingIPMissing(id)
}

func (s *Service) listPortForwardings(w http.ResponseWriter, r *http.Request) {
	if err := forwardingAttributes.query(r.URL.Query()); err != nil {
		writeError(w, err)
		return
	}
	s.mu.Lock()
	f, err := s.parent(r)
	var all []portForwarding
	if f != nil {
		all = f.forwardings
	}
	s.mu.Unlock()
	if err != nil {
		writeError(w, err)
		return
	}
	wire.Collection[portForwarding]{
		Key: "port_forwardings", MaxLimit: s.options.MaxPage, ID: func(p portForwarding) string { return p.ID },
		BadMarker: func(w http.ResponseWriter, marker string) { writeError(w, forwardingMissing(marker)) },
		BadQuery:  func(w http.ResponseWriter, message string) { writeError(w, badBody("%s", message)) },
	}.Write(w, r, all)
}

func (s *Service) createPortForwarding(w http.ResponseWriter, r *http.Request) {
	items, _, err := forwardingAttributes.body(r, "port_forwarding", "", true)
	if err != nil {
		writeError(w, err)
		return
	}
	var made portForwarding
	err = s.change(func() error {
		f, err := s.changingParent(r, "create")
		if err != nil {
			return err
		}
		made, err = s.addPortForwarding(wire.Caller(r.Context()), f, items[0])
		return err
	})
	if err != nil {
		writeError(w, err)
		return
	}
	wire.JSON(w, http.StatusCreated, map[string]any{"port_forwarding": made})
}

func (s *Service) addPortForwarding(c wire.Identity, f *floatingIP, v values) (portForwarding, error) {
	made := portForwarding{
		ID: uuid.NewString(), ExternalPort: v["external_port"].(int), InternalPort: v["internal_port"].(int),
		Address: v["internal_ip_address"].(netip.Addr).String(), Protocol: v.text("protocol"), PortID: v.text("internal_port_id"),
	}
	if err := s.freeForForwarding(f, made); err != nil {
		return made, err
	}
	r, err := s.routerForForwarding(c, f, made)
	if err != nil {
		return made, err
	}
	f.router = r.id
	f.forwardings = append(slices.Clip(f.forwardings), made)
	return made, nil
}

// freeForForwarding refuses ports that are already forwarded, a floating IP that has a port, and a
// destination port that has a floating IP.
func (s *Service) freeForForwarding(f *floatingIP, wanted portForwarding) error {
	for _, other := range s.floatingIPs {
		for _, p := range other.forwardings {
			if p.Protocol == wanted.Protocol && p.PortID == wanted.PortID && p.Address == wanted.Address && p.InternalPort == wanted.InternalPort {
				return collision("internal_port_range", wanted.InternalPort)
			}
		}
	}
	for _, p := range f.forwardings {
		if p.Protocol == wanted.Protocol && p.ExternalPort == wanted.ExternalPort {
			return collision("external_port_range", wanted.ExternalPort)
		}
	}
	if on := s.floatingOf[wanted.PortID]; len(on) > 0 {
		other := s.floatingIPs[on[0]]
		return conflict("PortHasBindingFloatingIP",
			"Cannot create port forwarding to floating IP %s (%s) with port %s using fixed IP %s, as that port already has a binding floating IP.",
			other.address, other.id, wanted.PortID, wanted.Address)
	}
	if f.port != "" {
		return alreadyAssociated(f, wanted.PortID, wanted.Address)
	}
	return nil
}

func collision(of string, port int) *apiError {
	return badRequest("port_forwarding", "There is a port collision with the %s. The following ranges collides: %d:%d and %d:%d", of, port, port, port, port)
}

// routerForForwarding returns the router between the floating IP and the destination port.
func (s *Service) routerForForwarding(c wire.Identity, f *floatingIP, wanted portForwarding) (*router, error) {
	p := s.visiblePort(c, wanted.PortID)
	if p == nil {
		return nil, portMissing(wanted.PortID)
	}
	at := slices.IndexFunc(p.fixed, func(fixed FixedIP) bool { return fixed.IPAddress == wanted.Address })
	if at < 0 {
		return nil, badRequest("port_forwarding", "Requested internal IP address %s is not suitable for internal neutron port %s, as its fixed_ips are %s",
			wanted.Address, p.id, pythonFixedIPs(p.fixed))
	}
	subnetID := p.fixed[at].SubnetID
	r := s.routerBetween(s.subnets[subnetID], f.network)
	switch {
	case r == nil:
		return nil, badRequest("port_forwarding", "External network %s is not reachable from subnet %s. Cannot set Port forwarding for port %s with Floating IP %s",
			f.network, subnetID, p.id, f.id)
	case f.router != "" && f.router != r.id:
		return nil, badRequest("port_forwarding", "The Floating IP %s had been set on router %s, the internal Neutron port %s can not reach it", f.id, f.router, p.id)
	}
	return r, nil
}

// pythonFixedIPs returns the IPv4 addresses of a port as the real service's messages show them.
func pythonFixedIPs(all []FixedIP) string {
	var shown []string
	for _, f := range all {
		if addr, err := netip.ParseAddr(f.IPAddress); err == nil && addr.Is4() {
			shown = append(shown, fmt.Sprintf("{'subnet_id': '%s', 'ip_address': '%s'}", f.SubnetID, f.IPAddress))
		}
	}
	return "[" + strings.Join(shown, ", ") + "]"
}

func (s *Service) deletePortForwarding(w http.ResponseWriter, r *http.Request) {
	err := s.change(func() error {
		f, err := s.changingParent(r, "delete")
		if err != nil {
			return err
		}
		id, before := r.PathValue("forwarding"), len(f.forwardings)
		f.dropForwardings(func(p portForwarding) bool { return p.ID == id })
		if len(f.forwardings) == before {
			return forwardingMissing(id)
		}
		return nil
	})
	if err != nil {
		writeError(w, err)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func forwardingMissing(id string) *apiError {
	return notFound("PortForwardingNotFound", "Port Forwarding %s could not be found.", id)
}

// dropForwardings deletes port forwardings. When the last one is deleted, the floating IP has no
// router any more.
func (f *floatingIP) dropForwardings(drop func(portForwarding) bool) {
	if len(f.forwardings) == 0 {
		return
	}
	f.forwardings = slices.DeleteFunc(slices.Clone(f.forwardings), drop)
	if len(f.forwardings) == 0 {
		f.router = ""
	}
}

// freeOfForwardings refuses to associate a floating IP with a port, or to delete it, while it has
// port forwardings.
func (f *floatingIP) freeOfForwardings() error {
	if len(f.forwardings) > 0 {
		return conflict("FipInUseByPortForwarding", "Floating IP %s in use by Port Forwarding resources.", f.id)
	}
	return nil
}
