// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// defaultMaxLimit is Nova's default of the maximum number of servers on a page.
const defaultMaxLimit = 1000

func (s *Service) listServers(detail bool) versioned {
	return func(w http.ResponseWriter, r *http.Request, minor int) {
		who := wire.Caller(r.Context())
		p := checkQuery(r.URL.Query())
		if p == nil && isTrue(r.URL.Query().Get("all_tenants")) && !who.Admin() {
			p = &problem{http.StatusForbidden, "forbidden", "Policy doesn't allow os_compute_api:servers:index:get_all_tenants to be performed."}
		}
		if p != nil {
			p.write(w)
			return
		}
		if r.URL.Query().Get("limit") == "0" {
			wire.JSON(w, http.StatusOK, map[string]any{"servers": []any{}})
			return
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		visible := make([]*Server, 0, len(s.servers))
		for _, server := range s.servers {
			if (server.ProjectID == who.ProjectID || isTrue(r.URL.Query().Get("all_tenants"))) && listed(server, r.URL.Query(), who.Admin()) {
				visible = append(visible, server)
			}
		}
		s.collection(r, minor, detail).Write(w, r, visible)
	}
}

// listed reports whether a list with the query includes a server with this status. Lists do not include
// deleted servers that can still be restored (see reclaim_instance_interval), not even with the filter
// status=SOFT_DELETED. Lists of changes since a time include them, and admins may request deleted servers.
func listed(server *Server, query url.Values, admin bool) bool {
	return server.Status != "SOFT_DELETED" || query.Has("changes-since") || admin && isTrue(query.Get("deleted"))
}

func (s *Service) collection(r *http.Request, minor int, detail bool) wire.Collection[*Server] {
	admin := wire.Caller(r.Context()).Admin()
	return wire.Collection[*Server]{
		Key: "servers", ID: func(server *Server) string { return server.ID }, MaxLimit: s.maxLimit, LinkStyle: wire.LinksNext,
		DefaultSort: []string{"created_at:desc", "uuid:desc"}, Filter: s.matches,
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

// matches filters the list of servers. Keys by which Nova does not filter, such as all_tenants,
// match every server.
func (s *Service) matches(server *Server, key string, values []string) (match, known bool) {
	value := values[len(values)-1]
	switch key {
	case "tags", "tags-any", "not-tags", "not-tags-any":
		return false, false // the frame handles it
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
				// Neutron searches the port by a part of the address.
				if ip.Address.Is6() == (key == "ip6") && strings.Contains(ip.Address.String(), value) {
					return true, true
				}
			}
		}
		return false, true
	case "changes-since":
		since, err := time.Parse(time.RFC3339, value)
		return err == nil && !server.Updated.Before(since), true
	case "deleted":
		return !isTrue(value) || server.Status == "SOFT_DELETED", true
	}
	return true, true
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
	"SUSPENDED": {"suspended", 4}, "DELETED": {"deleted", 0}, "VERIFY_RESIZE": {"resized", 1}, "SHELVED": {"shelved", 4},
	"SHELVED_OFFLOADED": {"shelved_offloaded", 4}, "SOFT_DELETED": {"soft-delete", 4},
}

// describe returns the body of a server in the microversion.
func (s *Service) describe(r *http.Request, server *Server, minor int, admin bool) map[string]any {
	created, updated := server.Created.Format(time.RFC3339), server.Updated.Format(time.RFC3339)
	state := stateOf[server.Status]
	metadata := server.Metadata
	if metadata == nil {
		metadata = map[string]string{}
	}
	groups := []any{}
	for _, group := range s.groupsOf(server) {
		groups = append(groups, map[string]string{"name": group.Name})
	}
	d := map[string]any{
		"id": server.ID, "name": server.Name, "status": server.Status, "tenant_id": server.ProjectID, "user_id": server.UserID,
		"metadata": metadata, "hostId": server.HostID, "created": created, "updated": updated,
		"addresses": addresses(server), "accessIPv4": server.AccessIPv4, "accessIPv6": server.AccessIPv6, "links": links(r, "servers", server.ID),
		"image": image(r, server), "flavor": s.describeFlavorOf(r, server, minor), "key_name": nil, "config_drive": "",
		"OS-DCF:diskConfig": "MANUAL", "OS-EXT-AZ:availability_zone": server.AvailabilityZone,
		"OS-SRV-USG:launched_at": server.Created.Format("2006-01-02T15:04:05.000000"), "OS-SRV-USG:terminated_at": nil,
		"OS-EXT-STS:task_state": nil, "OS-EXT-STS:vm_state": state.vm, "OS-EXT-STS:power_state": state.power,
		"os-extended-volumes:volumes_attached": volumes(server, minor), "security_groups": groups,
	}
	if server.Status == "ACTIVE" {
		d["progress"] = 0
	}
	for since, field := range map[int]map[string]any{
		9: {"locked": false}, 19: {"description": server.Name}, 26: {"tags": append([]string{}, server.Tags...)},
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
	if admin && minor >= 3 {
		d["OS-EXT-SRV-ATTR:reservation_id"], d["OS-EXT-SRV-ATTR:launch_index"] = "r-"+server.ID[:min(8, len(server.ID))], 0
		d["OS-EXT-SRV-ATTR:kernel_id"], d["OS-EXT-SRV-ATTR:ramdisk_id"], d["OS-EXT-SRV-ATTR:user_data"] = "", "", nil
		d["OS-EXT-SRV-ATTR:root_device_name"] = "/dev/sda"
	}
	if admin && minor >= 16 {
		d["host_status"] = "UP"
	}
	return d
}

// image returns a reference to the server's image, or "" if it was booted from a volume.
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
