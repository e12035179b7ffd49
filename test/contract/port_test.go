// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

func TestPorts(t *testing.T) {
	t.Parallel()
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.10.0/24")
	foreign := g.hasSubnet(other, "10.77.11.0/24")
	group := g.has(k8s, "security-groups", object{"name": g.newName()})
	foreignGroup := g.has(other, "security-groups", object{"name": g.newName()})
	wish := func(more object) object {
		w := object{"network_id": mine.network, "name": g.newName()}
		for key, value := range more {
			w[key] = value
		}
		return w
	}
	one := func(more object) object { return object{"port": wish(more)} }
	fixed := func(subnet, address string) list {
		f := object{}
		if subnet != "" {
			f["subnet_id"] = subnet
		}
		if address != "" {
			f["ip_address"] = address
		}
		return list{f}
	}

	state(t, []statement{
		{"a port on a network has an address, a MAC address and the project's default security group", func(c *try) {
			a := c.as(k8s).make("ports", wish(nil))
			c.must(holds("10.77.10.0/24", a.text("port.fixed_ips.0.ip_address")) && a.text("port.mac_address") != "", "it has %s", a.Text)
			groups := c.as(k8s).net("GET", "/security-groups?name=default&fields=id", nil).is(200)
			c.must(len(a.list("port.security_groups")) == 1 && a.text("port.security_groups.0") == groups.text("security_groups.0.id"), "it has %v", a.at("port.security_groups"))
		}},
		{"a port can be given its address", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"fixed_ips": fixed(mine.subnet, "10.77.10.77")}))
			c.must(a.text("port.fixed_ips.0.ip_address") == "10.77.10.77", "it has %v", a.at("port.fixed_ips"))
		}},
		{"the subnet is found by the address", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"fixed_ips": fixed("", "10.77.10.78")}))
			c.must(a.text("port.fixed_ips.0.subnet_id") == mine.subnet, "it has %v", a.at("port.fixed_ips"))
		}},
		{"an address that another port has is refused with 409", func(c *try) {
			c.quietly(k8s).make("ports", wish(object{"fixed_ips": fixed(mine.subnet, "10.77.10.79")}))
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(mine.subnet, "10.77.10.79")})).refused(409, "IpAddressAlreadyAllocated")
		}},
		{"an address outside the subnet is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(mine.subnet, "10.77.12.1")})).refused(400, "InvalidIpForSubnet")
		}},
		{"an address outside all subnets of the network is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed("", "10.77.12.1")})).refused(400, "InvalidIpForNetwork")
		}},
		{"the address of the subnet itself and its broadcast address are refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(mine.subnet, "10.77.10.0")})).refused(400, "InvalidIpForSubnet")
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(mine.subnet, "10.77.10.255")})).refused(400, "InvalidIpForSubnet")
		}},
		{"an address that is none is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(mine.subnet, "10.77.10.300")})).refused(400, "HTTPBadRequest")
		}},
		{"an unknown subnet is refused with 404", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(nowhere, "")})).refused(404, "SubnetNotFound")
		}},
		{"a subnet of another network is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"fixed_ips": fixed(c.cloud.Subnet, "")})).is(400)
		}},
		{"a port may have several addresses of a subnet", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"fixed_ips": append(fixed(mine.subnet, "10.77.10.81"), fixed(mine.subnet, "10.77.10.82")...)}))
			c.must(sameSet(a.texts("port.fixed_ips", "ip_address"), "10.77.10.81", "10.77.10.82"), "it has %v", a.at("port.fixed_ips"))
		}},
		{"a port may have no address and no security group", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"fixed_ips": list{}, "security_groups": list{}}))
			c.must(len(a.list("port.fixed_ips")) == 0 && len(a.list("port.security_groups")) == 0, "it has %s", a.Text)
		}},
		{"an unknown network is refused with 404, and so is another project's", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"network_id": nowhere})).refused(404, "NetworkNotFound")
			c.as(k8s).net("POST", "/ports", one(object{"network_id": foreign.network})).refused(404, "NetworkNotFound")
		}},
		{"a port without a network is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", object{"port": object{"name": "x"}}).refused(400, "HTTPBadRequest")
		}},
		{"the external network takes no port of a tenant that it is not shared with: 403", func(c *try) {
			c.as(other).net("POST", "/ports", one(object{"network_id": c.cloud.PublicNetwork})).is(403)
		}},
		{"in a network that is shared with it, a tenant may make a port but not choose its address: 403", func(c *try) {
			c.as(k8s).make("ports", wish(object{"network_id": c.cloud.PublicNetwork}))
			c.as(k8s).net("POST", "/ports", one(object{"network_id": c.cloud.PublicNetwork, "fixed_ips": fixed("", "172.24.4.222")})).refused(403, "PolicyNotAuthorized")
		}},
		{"a MAC address that another port of the network has is refused with 409", func(c *try) {
			a := c.quietly(k8s).make("ports", wish(nil))
			c.as(k8s).net("POST", "/ports", one(object{"mac_address": a.text("port.mac_address")})).refused(409, "MacAddressInUse")
		}},
		{"a MAC address that is none is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"mac_address": "x"})).refused(400, "HTTPBadRequest")
		}},
		{"a full subnet is refused with 409", func(c *try) {
			small := c.has(k8s, "networks", object{"name": c.newName()})
			c.has(k8s, "subnets", object{"network_id": small, "ip_version": 4, "cidr": "10.77.13.0/30"})
			c.as(k8s).make("ports", wish(object{"network_id": small}))
			c.as(k8s).net("POST", "/ports", one(object{"network_id": small})).refused(409, "IpAddressGenerationFailure")
		}},
		{"a network without a subnet gives no address, and refuses one that is asked for with 400", func(c *try) {
			bare := c.has(k8s, "networks", object{"name": c.newName()})
			a := c.as(k8s).make("ports", wish(object{"network_id": bare}))
			c.must(len(a.list("port.fixed_ips")) == 0, "it has %v", a.at("port.fixed_ips"))
			c.as(k8s).net("POST", "/ports", one(object{"network_id": bare, "fixed_ips": fixed("", "10.0.0.9")})).is(400)
		}},
		{"tags that are given with a new port are taken and forgotten, surprisingly, where the extension for them is not loaded", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"tags": list{"a", "b"}}))
			c.must(len(a.list("port.tags")) == 0, "it has %v", a.at("port.tags"))
		}},
		{"a port has no dns_name where the extension for it is not loaded: 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"dns_name": "x"})).refused(400, "HTTPBadRequest")
		}},
		{"a port for another project is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"project_id": c.project()})).refused(400, "HTTPBadRequest")
		}},
		{"the host of a port is for admins to choose: 403", func(c *try) {
			c.as(k8s).net("POST", "/ports", one(object{"binding:host_id": "h"})).refused(403, "PolicyNotAuthorized")
		}},
		{"several ports can be made by one request, all or none", func(c *try) {
			a := c.as(k8s).net("POST", "/ports", object{"ports": list{wish(nil), wish(nil)}}).is(201)
			c.as(k8s).disposes("ports", a.texts("ports", "id")...)
			c.must(len(a.list("ports")) == 2, "there are %d", len(a.list("ports")))
			name := c.newName()
			c.as(k8s).net("POST", "/ports", object{"ports": list{wish(object{"name": name}), wish(object{"fixed_ips": fixed(nowhere, "")})}}).is(404)
			c.must(len(c.as(k8s).net("GET", "/ports?name="+name, nil).is(200).list("ports")) == 0, "the first is there")
		}},
		{"more ports than the quota are refused with 409", func(c *try) {
			project := c.project()
			network := c.has(admin, "networks", object{"name": c.newName(), "project_id": project})
			c.hasQuota(project, object{"port": 1})
			c.as(admin).make("ports", wish(object{"network_id": network, "project_id": project, "security_groups": list{}}))
			c.as(admin).net("POST", "/ports", one(object{"network_id": network, "project_id": project, "security_groups": list{}})).refused(409, "OverQuota")
		}},
		{"security groups are taken by id; an unknown one is refused with 404, and so is another project's", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"security_groups": list{group}}))
			c.must(a.text("port.security_groups.0") == group, "it has %v", a.at("port.security_groups"))
			c.as(k8s).net("POST", "/ports", one(object{"security_groups": list{nowhere}})).refused(404, "SecurityGroupNotFound")
			c.as(k8s).net("POST", "/ports", one(object{"security_groups": list{foreignGroup}})).refused(404, "SecurityGroupNotFound")
			c.as(k8s).net("POST", "/ports", one(object{"security_groups": list{"web"}})).is(400)
		}},
		{"an update replaces the whole set of security groups", func(c *try) {
			path := "/ports/" + c.quietly(k8s).make("ports", wish(nil)).text("port.id")
			for _, groups := range []list{{group}, {}} {
				a := c.as(k8s).net("PUT", path, object{"port": object{"security_groups": groups}}).is(200)
				c.must(len(a.list("port.security_groups")) == len(groups), "it has %v", a.at("port.security_groups"))
			}
			c.as(k8s).net("PUT", path, object{"port": object{"security_groups": list{nowhere}}}).refused(404, "SecurityGroupNotFound")
		}},
		{"an address pair without a MAC address takes that of the port; a pair given twice is refused with 400", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"allowed_address_pairs": list{object{"ip_address": "10.77.10.200"}}}))
			c.must(a.text("port.allowed_address_pairs.0.mac_address") == a.text("port.mac_address"), "it has %v", a.at("port.allowed_address_pairs"))
			pair := object{"ip_address": "10.77.10.201"}
			c.as(k8s).net("PUT", "/ports/"+a.text("port.id"), object{"port": object{"allowed_address_pairs": list{pair, pair}}}).is(400)
			c.as(k8s).net("PUT", "/ports/"+a.text("port.id"), object{"port": object{"allowed_address_pairs": list{object{"mac_address": a.text("port.mac_address")}}}}).is(400)
			c.as(k8s).net("PUT", "/ports/"+a.text("port.id"), object{"port": object{"allowed_address_pairs": list{}}}).is(200)
		}},
		{"without port security a port can have neither security groups nor address pairs", func(c *try) {
			a := c.as(k8s).make("ports", wish(object{"port_security_enabled": false}))
			c.must(len(a.list("port.security_groups")) == 0, "it has %v", a.at("port.security_groups"))
			c.as(k8s).net("PUT", "/ports/"+a.text("port.id"), object{"port": object{"security_groups": list{group}}}).is(400)
			c.as(k8s).net("PUT", "/ports/"+a.text("port.id"), object{"port": object{"allowed_address_pairs": list{object{"ip_address": "10.77.10.200"}}}}).is(409)
		}},
		{"a port's name, description, device and state can be changed, its network cannot", func(c *try) {
			path := "/ports/" + c.quietly(k8s).make("ports", wish(nil)).text("port.id")
			a := c.as(k8s).net("PUT", path, object{"port": object{"name": "new", "description": "d", "device_id": "dev", "device_owner": "me", "admin_state_up": false}}).is(200)
			c.must(a.text("port.name") == "new" && a.text("port.device_owner") == "me" && a.at("port.admin_state_up") == false, "it is %s", a.Text)
			c.as(k8s).net("PUT", path, object{"port": object{"network_id": foreign.network}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, object{"port": object{"status": "ACTIVE"}}).refused(400, "HTTPBadRequest")
		}},
		{"a port's addresses can be replaced", func(c *try) {
			path := "/ports/" + c.quietly(k8s).make("ports", wish(nil)).text("port.id")
			a := c.as(k8s).net("PUT", path, object{"port": object{"fixed_ips": fixed("", "10.77.10.90")}}).is(200)
			c.must(slices.Equal(a.texts("port.fixed_ips", "ip_address"), []string{"10.77.10.90"}), "it has %v", a.at("port.fixed_ips"))
		}},
		{"a port is deleted at once, a second time it is not found", func(c *try) {
			path := "/ports/" + c.quietly(k8s).make("ports", wish(nil)).text("port.id")
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "PortNotFound")
			c.as(k8s).net("GET", path, nil).refused(404, "PortNotFound")
			c.as(k8s).net("PUT", path, object{"port": object{"name": "x"}}).refused(404, "PortNotFound")
		}},
		{"another project's port is not found", func(c *try) {
			path := "/ports/" + c.quietly(k8s).make("ports", wish(nil)).text("port.id")
			c.as(other).net("GET", path, nil).refused(404, "PortNotFound")
			c.as(other).net("PUT", path, object{"port": object{"name": "x"}}).refused(404, "PortNotFound")
			c.as(other).net("DELETE", path, nil).refused(404, "PortNotFound")
		}},
		{"a change for another revision is refused with 412", func(c *try) {
			a := c.quietly(k8s).make("ports", wish(nil))
			path, revision := "/ports/"+a.text("port.id"), a.at("port.revision_number").(float64)
			c.as(k8s).net("PUT", path, object{"port": object{"name": "x"}}, ifMatch(revision+100)).refused(412, "RevisionNumberConstraintFailed")
			c.as(k8s).net("PUT", path, object{"port": object{"name": "x"}}, ifMatch(revision)).is(200)
		}},
		{"the interface of a router is not deleted as a port: 409", func(c *try) {
			ports := c.as(k8s).net("GET", "/ports?fields=id&fields=device_owner&device_owner=network:router_interface&device_id="+c.cloud.Router, nil).is(200)
			c.must(len(ports.list("ports")) > 0, "the router has no interface")
			c.as(k8s).net("DELETE", "/ports/"+ports.text("ports.0.id"), nil).refused(409, "ServicePortInUse")
		}},
		{"the port of a server is found by the server's id, and has the address of the server", func(c *try) {
			a := c.as(k8s).net("GET", "/ports?device_id="+c.cloud.Servers["node-1"], nil).is(200)
			c.must(len(a.list("ports")) == 1 && strings.HasPrefix(a.text("ports.0.device_owner"), "compute:"), "found %s", a.Text)
		}},
	})
}
