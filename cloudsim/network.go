// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// object has those fields of a Neutron object that are needed here.
type object struct {
	ID       string    `json:"id"`
	MAC      string    `json:"mac_address"`
	FixedIPs []fixedIP `json:"fixed_ips"`
}

type fixedIP struct {
	SubnetID string `json:"subnet_id,omitempty"`
	Address  string `json:"ip_address,omitempty"`
}

// create creates a Neutron object through the API, so that it is validated, but not over the
// network, so that the call is not recorded. The caller is an admin of the project.
func (c *Cloud) create(project, collection, kind string, body map[string]any) (object, error) {
	var answer map[string]object
	err := c.call(project, http.MethodPost, "/v2.0/"+collection, map[string]any{kind: body}, &answer)
	return answer[kind], err
}

func (c *Cloud) call(project, method, path string, body, answer any) error {
	encoded, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r := httptest.NewRequest(method, path, bytes.NewReader(encoded))
	r = r.WithContext(wire.WithCaller(r.Context(), wire.Identity{UserID: c.ids.AdminUser, ProjectID: project, Roles: []string{"admin", "member"}}))
	w := httptest.NewRecorder()
	c.neutron.Mux().ServeHTTP(w, r)
	if w.Code >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: neutron answered %d: %s", method, path, w.Code, w.Body)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(w.Body.Bytes(), answer)
}

// seedNetworks creates the public network in the admin's project, and the private network in the
// project k8s, with a router between them.
func (c *Cloud) seedNetworks() error {
	s := seeder{cloud: c}
	public, err := plan(c.options.PublicCIDR, false)
	if err != nil {
		return err
	}
	private, err := plan(c.options.PrivateCIDR, true)
	if err != nil {
		return err
	}
	c.private = private
	v6 := ula()
	if c.options.PrivateIPv6CIDR != "" {
		v6, err = netip.ParsePrefix(c.options.PrivateIPv6CIDR)
		if err != nil {
			return err
		}
	}
	c.ids.PublicNetwork = s.create(c.ids.AdminProject, "networks", "network", map[string]any{"name": "public", "router:external": true, "is_default": true})
	c.ids.PublicSubnet = s.create(c.ids.AdminProject, "subnets", "subnet", map[string]any{
		"name": "public-subnet", "network_id": c.ids.PublicNetwork, "ip_version": 4, "cidr": public.prefix.String(),
		"gateway_ip": public.gateway.String(), "enable_dhcp": false, "allocation_pools": pools(public),
	})
	c.ids.PrivateNetwork = s.create(c.ids.Project, "networks", "network", map[string]any{"name": "private"})
	c.ids.PrivateSubnet = s.create(c.ids.Project, "subnets", "subnet", map[string]any{
		"name": "private-subnet", "network_id": c.ids.PrivateNetwork, "ip_version": 4, "cidr": private.prefix.String(),
		"gateway_ip": private.gateway.String(), "allocation_pools": pools(private),
	})
	c.ids.PrivateSubnetV6 = s.create(c.ids.Project, "subnets", "subnet", map[string]any{
		"name": "private-subnet-v6", "network_id": c.ids.PrivateNetwork, "ip_version": 6, "cidr": v6.String(), "gateway_ip": v6.Addr().Next().String(),
	})
	c.ids.Router = s.create(c.ids.Project, "routers", "router", map[string]any{
		"name": "router", "external_gateway_info": map[string]any{"network_id": c.ids.PublicNetwork},
	})
	for _, subnet := range []string{c.ids.PrivateSubnet, c.ids.PrivateSubnetV6} {
		s.put(c.ids.Project, "/v2.0/routers/"+c.ids.Router+"/add_router_interface", map[string]any{"subnet_id": subnet})
	}
	return s.err
}

// seeder creates objects until the first error.
type seeder struct {
	cloud *Cloud
	err   error
}

func (s *seeder) create(project, collection, kind string, body map[string]any) string {
	if s.err != nil {
		return ""
	}
	var made object
	made, s.err = s.cloud.create(project, collection, kind, body)
	return made.ID
}

func (s *seeder) put(project, path string, body map[string]any) {
	if s.err == nil {
		s.err = s.cloud.call(project, http.MethodPut, path, body, nil)
	}
}

func pools(p subnetPlan) []map[string]string {
	return []map[string]string{{"start": p.first.String(), "end": p.last.String()}}
}

// ula returns a random /64 of unique local IPv6 addresses.
func ula() netip.Prefix {
	id := uuid.New()
	bytes := [16]byte{0: 0xfd}
	copy(bytes[1:6], id[:5])
	return netip.PrefixFrom(netip.AddrFrom16(bytes), 64)
}

// AddServer creates a server in the project k8s with one port on the private network that has the
// addresses. Without addresses the port gets the lowest free one, from the tenth on. It returns the
// server's id.
func (c *Cloud) AddServer(name string, addresses ...netip.Addr) (string, error) {
	c.addingServer.Lock()
	defer c.addingServer.Unlock()
	id := uuid.NewString()
	if len(addresses) == 0 {
		addresses = append(addresses, c.freeNodeAddress())
	}
	ips := make([]fixedIP, 0, len(addresses))
	for _, a := range addresses {
		subnet := c.ids.PrivateSubnet
		if a.Is6() {
			subnet = c.ids.PrivateSubnetV6
		}
		ips = append(ips, fixedIP{SubnetID: subnet, Address: a.String()})
	}
	_, err := c.create(c.ids.Project, "ports", "port", map[string]any{
		"network_id": c.ids.PrivateNetwork, "fixed_ips": ips, "device_id": id, "device_owner": "compute:nova", "binding:host_id": "compute-1",
	})
	if err != nil {
		return "", fmt.Errorf("add the server %s: %w", name, err)
	}
	c.nova.AddServer(nova.Server{ID: id, Name: name, ProjectID: c.ids.Project, UserID: c.ids.User, ImageID: c.glance.ImageID()})
	return id, nil
}

// interfaces returns the ports of all servers, as Nova gets them from Neutron. A server has the
// ports with its id as device, so a port that a test creates for it is one of its interfaces.
func (c *Cloud) interfaces() map[string][]nova.Interface {
	all := map[string][]nova.Interface{}
	for server, ports := range c.neutron.Devices("compute:") {
		for _, p := range ports {
			nic := nova.Interface{PortID: p.ID, NetworkID: p.NetworkID, NetworkName: p.NetworkName, MAC: p.MACAddress, Status: p.Status, FloatingIPs: p.FloatingIPs}
			for _, ip := range p.FixedIPs {
				if a, err := netip.ParseAddr(ip.IPAddress); err == nil { // cannot fail: Neutron has parsed it
					nic.FixedIPs = append(nic.FixedIPs, nova.FixedIP{SubnetID: ip.SubnetID, Address: a})
				}
			}
			all[server] = append(all[server], nic)
		}
	}
	return all
}

// securityGroupsOf returns the security groups of ports, as Nova gets them from Neutron.
func (c *Cloud) securityGroupsOf(portIDs ...string) []nova.SecurityGroup {
	var groups []nova.SecurityGroup
	for _, g := range c.neutron.SecurityGroupsOf(portIDs...) {
		groups = append(groups, nova.SecurityGroup(g))
	}
	return groups
}

// freeNodeAddress returns the lowest address for a node that no server has. It is below the pool of
// VIPs, unless there are thousands of servers.
func (c *Cloud) freeNodeAddress() netip.Addr {
	used := map[netip.Addr]bool{}
	for _, server := range c.nova.Servers() {
		for _, nic := range server.Interfaces {
			for _, ip := range nic.FixedIPs {
				used[ip.Address] = true
			}
		}
	}
	free := offset(c.private.prefix.Addr(), 10)
	for used[free] {
		free = free.Next()
	}
	return free
}

// RemoveServer deletes a server and its ports.
func (c *Cloud) RemoveServer(id string) error {
	for _, server := range c.nova.Servers() {
		if server.ID != id {
			continue
		}
		c.nova.RemoveServer(id)
		for _, nic := range server.Interfaces {
			if err := c.call(c.ids.Project, http.MethodDelete, "/v2.0/ports/"+nic.PortID, nil, nil); err != nil {
				return fmt.Errorf("remove the server %s: %w", server.Name, err)
			}
		}
		return nil
	}
	return fmt.Errorf("no server with the id %s: %w", id, errNotFound)
}
