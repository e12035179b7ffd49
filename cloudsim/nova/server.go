// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// serverLimit is the most servers on a page, Nova's default.
const serverLimit = 1000

func (s *Service) listServers(detail bool) versioned {
	return func(w http.ResponseWriter, r *http.Request, minor int) {
		if p := badPatterns(r); p != nil {
			p.write(w)
			return
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		who := wire.Caller(r.Context())
		visible := make([]*Server, 0, len(s.servers))
		for _, server := range s.servers {
			if server.ProjectID == who.ProjectID || who.Admin() {
				visible = append(visible, server)
			}
		}
		s.collection(r, minor, detail).Write(w, r, visible)
	}
}

func (s *Service) collection(r *http.Request, minor int, detail bool) wire.Collection[*Server] {
	admin := wire.Caller(r.Context()).Admin()
	return wire.Collection[*Server]{
		Key: "servers", ID: func(server *Server) string { return server.ID }, MaxLimit: serverLimit, LinkStyle: wire.LinksNext,
		DefaultSort: []string{"created_at:desc"}, Filter: s.matches,
		Render: func(server *Server) any {
			if detail {
				return s.describe(r, server, minor, admin)
			}
			return map[string]any{"id": server.ID, "name": server.Name, "links": links(r, "servers", server.ID)}
		},
		BadMarker: func(w http.ResponseWriter, marker string) { badRequest("marker [" + marker + "] not found").write(w) },
		BadQuery:  func(w http.ResponseWriter, message string) { badRequest(message).write(w) },
	}
}

// matches is the filter of the list of servers. Keys that Nova does not filter
// by, such as all_tenants, let everything through.
func (s *Service) matches(server *Server, key string, values []string) (match, known bool) {
	value := values[len(values)-1]
	switch key {
	case "tags", "tags-any", "not-tags", "not-tags-any":
		return false, false // the frame's
	case "name":
		return patternMatches(value, server.Name), true
	case "status":
		return slices.ContainsFunc(values, func(v string) bool { return strings.EqualFold(v, server.Status) }), true
	case "uuid":
		return slices.Contains(values, server.ID), true
	case "project_id", "tenant_id":
		return value == server.ProjectID, true
	case "flavor":
		f, ok := s.flavorByID(value)
		return ok && f.Name == server.Flavor, true
	case "ip", "ip6":
		for _, nic := range server.Interfaces {
			for _, ip := range nic.FixedIPs {
				if ip.Address.Is6() == (key == "ip6") && patternMatches(value, ip.Address.String()) {
					return true, true
				}
			}
		}
		return false, true
	case "changes-since":
		since, err := time.Parse(time.RFC3339, value)
		return err == nil && !server.Created.Before(since), true
	case "deleted":
		return value == "" || strings.EqualFold(value, "false") || value == "0", true
	}
	return true, true
}

// badPatterns refuses a query whose regular expressions cannot be read.
func badPatterns(r *http.Request) *problem {
	for _, key := range []string{"name", "ip", "ip6"} {
		if _, err := regexp.Compile(r.URL.Query().Get(key)); err != nil {
			return badRequest("Invalid input for query parameters " + key + ". '" + r.URL.Query().Get(key) + "' is not a regular expression.")
		}
	}
	return nil
}

// patternMatches searches text for a regular expression, as Nova's database does
// for names and addresses.
func patternMatches(pattern, text string) bool {
	re, err := regexp.Compile("(?i)" + pattern)
	return err == nil && re.MatchString(text)
}

// find returns the server in the path, if the caller may see it.
func (s *Service) find(r *http.Request) (*Server, *problem) {
	who, id := wire.Caller(r.Context()), r.PathValue("id")
	for _, server := range s.servers {
		if server.ID == id && (server.ProjectID == who.ProjectID || who.Admin()) {
			return server, nil
		}
	}
	return nil, notFound("Instance", id)
}

func (s *Service) showServer(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	d := s.describe(r, server, minor, wire.Caller(r.Context()).Admin())
	if minor >= 71 {
		d["server_groups"] = []string{}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"server": d})
}

func (s *Service) showAddresses(w http.ResponseWriter, r *http.Request, _ int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	plain := map[string][]map[string]any{}
	for network, addresses := range addresses(server) {
		for _, a := range addresses {
			plain[network] = append(plain[network], map[string]any{"addr": a.Address, "version": a.Version})
		}
	}
	wire.JSON(w, http.StatusOK, map[string]any{"addresses": plain})
}

type address struct {
	Version int    `json:"version"`
	Address string `json:"addr"`
	Type    string `json:"OS-EXT-IPS:type"`
	MAC     string `json:"OS-EXT-IPS-MAC:mac_addr"`
}

// addresses lists a server's addresses by the name of the network.
func addresses(server *Server) map[string][]address {
	byNetwork := map[string][]address{}
	for _, nic := range server.Interfaces {
		for _, ip := range nic.FixedIPs {
			byNetwork[nic.NetworkName] = append(byNetwork[nic.NetworkName], address{ipVersion(ip.Address.Is4()), ip.Address.String(), "fixed", nic.MAC})
		}
		for _, ip := range nic.FloatingIPs {
			byNetwork[nic.NetworkName] = append(byNetwork[nic.NetworkName], address{ipVersion(ip.Is4()), ip.String(), "floating", nic.MAC})
		}
	}
	return byNetwork
}

func ipVersion(is4 bool) int {
	if is4 {
		return 4
	}
	return 6
}

func links(r *http.Request, kind, id string) []any {
	return []any{
		map[string]string{"rel": "self", "href": "http://" + r.Host + "/v2.1/" + kind + "/" + id},
		map[string]string{"rel": "bookmark", "href": "http://" + r.Host + "/" + kind + "/" + id},
	}
}

var stateOf = map[string]struct {
	vm    string
	power int
}{
	"ACTIVE": {"active", 1}, "SHUTOFF": {"stopped", 4}, "ERROR": {"error", 0}, "BUILD": {"building", 0}, "PAUSED": {"paused", 3},
	"SUSPENDED": {"suspended", 4}, "DELETED": {"deleted", 0},
}

// describe makes the body of a server as the microversion shows it.
func (s *Service) describe(r *http.Request, server *Server, minor int, admin bool) map[string]any {
	created := server.Created.Format(time.RFC3339)
	state := stateOf[server.Status]
	metadata := server.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	groups := []any{}
	for _, name := range server.SecurityGroups {
		groups = append(groups, map[string]string{"name": name})
	}
	d := map[string]any{
		"id": server.ID, "name": server.Name, "status": server.Status, "tenant_id": server.ProjectID, "user_id": server.UserID,
		"metadata": metadata, "hostId": "3b9f7f4f5c0a7a1d1f6f7e0c8f6f2f3d5d0a9b8c7d6e5f4a3b2c1d0e", "created": created, "updated": created,
		"addresses": addresses(server), "accessIPv4": "", "accessIPv6": "", "links": links(r, "servers", server.ID),
		"image": image(r, server), "flavor": s.describeFlavorOf(r, server, minor), "key_name": nil, "config_drive": "",
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": "nova",
		"OS-SRV-USG:launched_at": server.Created.Format("2006-01-02T15:04:05.000000"), "OS-SRV-USG:terminated_at": nil,
		"OS-EXT-STS:task_state": nil, "OS-EXT-STS:vm_state": state.vm, "OS-EXT-STS:power_state": state.power,
		"os-extended-volumes:volumes_attached": volumes(server, minor), "security_groups": groups,
	}
	if server.Status == "ACTIVE" {
		d["progress"] = 0
	}
	for since, field := range map[int]map[string]any{
		9: {"locked": false}, 19: {"description": nil}, 26: {"tags": append([]string{}, server.Tags...)},
		63: {"trusted_image_certificates": nil}, 73: {"locked_reason": nil}, 90: {"OS-EXT-SRV-ATTR:hostname": strings.ToLower(server.Name)},
	} {
		for name, value := range field {
			if minor >= since {
				d[name] = value
			}
		}
	}
	if admin {
		d["OS-EXT-SRV-ATTR:host"], d["OS-EXT-SRV-ATTR:hypervisor_hostname"] = "compute-1", "compute-1"
		d["OS-EXT-SRV-ATTR:instance_name"] = "instance-" + server.ID[:min(8, len(server.ID))]
	}
	return d
}

// image is a reference to the server's image, "" when it was booted from a
// volume.
func image(r *http.Request, server *Server) any {
	if server.ImageID == "" {
		return ""
	}
	return map[string]any{"id": server.ImageID, "links": links(r, "images", server.ImageID)[1:]}
}

func volumes(server *Server, minor int) []any {
	if server.ImageID != "" {
		return []any{}
	}
	v := map[string]any{"id": server.volumeID}
	if minor >= 3 {
		v["delete_on_termination"] = true
	}
	return []any{v}
}

func (s *Service) listInterfaces(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	described := []any{}
	for _, nic := range server.Interfaces {
		described = append(described, describeInterface(nic, minor))
	}
	wire.JSON(w, http.StatusOK, map[string]any{"interfaceAttachments": described})
}

func (s *Service) showInterface(w http.ResponseWriter, r *http.Request, minor int) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	server, p := s.find(r)
	if p != nil {
		p.write(w)
		return
	}
	for _, nic := range server.Interfaces {
		if nic.PortID == r.PathValue("nic") {
			wire.JSON(w, http.StatusOK, map[string]any{"interfaceAttachment": describeInterface(nic, minor)})
			return
		}
	}
	notFound("Interface attachment", r.PathValue("nic")).write(w)
}

func describeInterface(nic Interface, minor int) map[string]any {
	ips := []any{}
	for _, ip := range nic.FixedIPs {
		ips = append(ips, map[string]string{"subnet_id": ip.SubnetID, "ip_address": ip.Address.String()})
	}
	d := map[string]any{"port_id": nic.PortID, "net_id": nic.NetworkID, "mac_addr": nic.MAC, "port_state": "ACTIVE", "fixed_ips": ips}
	if minor >= 70 {
		d["tag"] = nil
	}
	return d
}
