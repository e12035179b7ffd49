// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"testing"
)

func TestFloatingIPs(t *testing.T) {
	t.Parallel()
	g := shared(t)
	public := g.cloud.PublicNetwork
	wish := func(more object) object {
		w := object{"floating_network_id": public, "description": g.newName()}
		for key, value := range more {
			w[key] = value
		}
		return w
	}
	one := func(more object) object { return object{"floatingip": wish(more)} }
	private := object{"network_id": g.cloud.Network, "fixed_ips": list{object{"subnet_id": g.cloud.Subnet}}}
	first, second := g.has(k8s, "ports", private), g.has(k8s, "ports", private)
	lone := g.hasSubnet(k8s, "10.77.1.0/24")
	unreachable := g.has(k8s, "ports", object{"network_id": lone.network})
	twice := g.quietly(k8s).make("ports", object{"network_id": g.cloud.Network, "fixed_ips": list{object{"subnet_id": g.cloud.Subnet}, object{"subnet_id": g.cloud.Subnet}}})
	v6 := g.has(k8s, "ports", object{"network_id": g.cloud.Network, "fixed_ips": list{object{"subnet_id": g.cloud.SubnetV6}}})
	foreign := g.hasSubnet(other, "10.77.2.0/24")
	foreignPort := g.has(other, "ports", object{"network_id": foreign.network})
	loose := "/floatingips/" + g.has(k8s, "floatingips", wish(nil)) // never on a port when a case ends

	state(t, []statement{
		{"a floating IP without a port is DOWN and leads nowhere", func(c *try) {
			a := c.as(k8s).make("floatingips", wish(nil))
			c.must(a.text("floatingip.status") == "DOWN" && a.at("floatingip.port_id") == nil && a.at("floatingip.router_id") == nil, "it is %s", a.Text)
		}},
		{"a floating IP with a subnet has an address of that subnet", func(c *try) {
			a := c.as(k8s).make("floatingips", wish(object{"subnet_id": c.cloud.PublicSubnets[1]}))
			sub := c.as(k8s).net("GET", "/subnets/"+c.cloud.PublicSubnets[1], nil).is(200)
			c.must(holds(sub.text("subnet.cidr"), a.text("floatingip.floating_ip_address")), "%s is not in %s", a.Text, sub.Text)
		}},
		{"a floating IP can be made on a port, and shows the port's address, its router and details of the port", func(c *try) {
			port := c.quietly(k8s).net("GET", "/ports/"+first, nil).is(200)
			a := c.as(k8s).make("floatingips", wish(object{"port_id": first}))
			c.must(a.text("floatingip.fixed_ip_address") == port.text("port.fixed_ips.0.ip_address"), "it leads to %s", a.text("floatingip.fixed_ip_address"))
			c.must(a.text("floatingip.router_id") == c.cloud.Router, "the router is %s", a.text("floatingip.router_id"))
			c.must(a.text("floatingip.port_details.mac_address") == port.text("port.mac_address"), "the port is %v", a.at("floatingip.port_details"))
		}},
		{"a floating IP's port and address that a tenant does not see are found by an admin, and the port cannot be deleted", func(c *try) {
			a := c.as(k8s).make("floatingips", wish(nil))
			query := "?device_id=" + a.text("floatingip.id")
			c.must(len(c.as(k8s).net("GET", "/ports"+query, nil).is(200).list("ports")) == 0, "the tenant sees it")
			found := c.as(admin).net("GET", "/ports"+query, nil).is(200)
			c.must(slices.Equal(found.texts("ports", "device_owner"), []string{"network:floatingip"}), "found %s", found.Text)
			c.as(admin).net("DELETE", "/ports/"+found.text("ports.0.id"), nil).refused(409, "ServicePortInUse")
		}},
		{"an unknown network is refused with 404", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"floating_network_id": nowhere})).refused(404, "NetworkNotFound")
		}},
		{"a network that is not external is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"floating_network_id": c.cloud.Network})).refused(400, "BadRequest")
		}},
		{"a network id that is no UUID is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"floating_network_id": "public"})).refused(400, "HTTPBadRequest")
		}},
		{"a create without a network is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", object{"floatingip": object{"description": "x"}}).refused(400, "HTTPBadRequest")
		}},
		{"an unknown subnet is refused with 404", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"subnet_id": nowhere})).refused(404, "SubnetNotFound")
		}},
		{"a subnet of another network is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"subnet_id": c.cloud.Subnet})).is(400)
		}},
		{"an unknown port is refused with 404", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": nowhere})).refused(404, "PortNotFound")
		}},
		{"a refused create leaves no floating IP behind", func(c *try) {
			description := c.newName()
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": nowhere, "description": description})).is(404)
			c.must(len(c.as(k8s).net("GET", "/floatingips?description="+description, nil).is(200).list("floatingips")) == 0, "it is there")
		}},
		{"an address of one's choice is refused to a tenant with 403", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"floating_ip_address": "172.24.4.200"})).refused(403, "PolicyNotAuthorized")
		}},
		{"an admin may choose the address, and who takes it a second time is refused with 409", func(c *try) {
			mine := c.quietly(k8s).make("floatingips", wish(nil))
			address := mine.text("floatingip.floating_ip_address")
			c.as(admin).net("POST", "/floatingips", one(object{"floating_ip_address": address})).refused(409, "IpAddressAlreadyAllocated")
			c.quietly(k8s).net("DELETE", "/floatingips/"+mine.text("floatingip.id"), nil).is(204)
			a := c.as(admin).make("floatingips", wish(object{"floating_ip_address": address}))
			c.must(a.text("floatingip.floating_ip_address") == address, "it has %s", a.text("floatingip.floating_ip_address"))
		}},
		{"an address that no subnet of the network has is refused with 400", func(c *try) {
			c.as(admin).net("POST", "/floatingips", one(object{"floating_ip_address": "192.0.2.1"})).refused(400, "InvalidIpForNetwork")
		}},
		{"an address that is not in the subnet asked for is refused with 400", func(c *try) {
			c.as(admin).net("POST", "/floatingips", one(object{"floating_ip_address": "192.0.2.1", "subnet_id": c.cloud.PublicSubnets[0]})).refused(400, "InvalidIpForSubnet")
		}},
		{"an address that is none is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"floating_ip_address": "here"})).refused(400, "HTTPBadRequest")
		}},
		{"a port that no router connects with the external network is refused with 404, and so no floating IP is made", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": unreachable})).refused(404, "ExternalGatewayForFloatingIPNotFound")
		}},
		{"a port with IPv6 addresses only is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": v6})).refused(400, "BadRequest")
		}},
		{"a port with two IPv4 addresses is refused with 400 unless one of them is named", func(c *try) {
			id := twice.text("port.id")
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": id})).refused(400, "BadRequest")
			address := twice.text("port.fixed_ips.1.ip_address")
			a := c.as(k8s).make("floatingips", wish(object{"port_id": id, "fixed_ip_address": address}))
			c.must(a.text("floatingip.fixed_ip_address") == address, "it leads to %s", a.text("floatingip.fixed_ip_address"))
		}},
		{"two addresses of one port can have a floating IP each", func(c *try) {
			for _, i := range []string{"0", "1"} {
				c.as(k8s).make("floatingips", wish(object{"port_id": twice.text("port.id"), "fixed_ip_address": twice.text("port.fixed_ips." + i + ".ip_address")}))
			}
		}},
		{"an address that the port does not have is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": first, "fixed_ip_address": "10.0.0.254"})).refused(400, "BadRequest")
		}},
		{"an address of a port without the port is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"fixed_ip_address": "10.0.0.254"})).refused(400, "BadRequest")
		}},
		{"a floating IP is put on a port, moved to another in one PUT, and taken off by null", func(c *try) {
			for _, port := range []string{first, second} {
				a := c.as(k8s).net("PUT", loose, object{"floatingip": object{"port_id": port}}).is(200)
				c.must(a.text("floatingip.port_id") == port, "it leads to %v", a.at("floatingip.port_id"))
			}
			a := c.as(k8s).net("PUT", loose, object{"floatingip": object{"port_id": nil}}).is(200)
			c.must(a.at("floatingip.port_id") == nil && a.at("floatingip.fixed_ip_address") == nil, "it leads to %v", a.at("floatingip.port_id"))
		}},
		{"a port that has a floating IP gets no second one for its address, neither by a create nor by an update: 409", func(c *try) {
			c.quietly(k8s).make("floatingips", wish(object{"port_id": first}))
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": first})).refused(409, "FloatingIPPortAlreadyAssociated")
			c.as(k8s).net("PUT", loose, object{"floatingip": object{"port_id": first}}).refused(409, "FloatingIPPortAlreadyAssociated")
		}},
		{"a floating IP may be put once more on the port that it is on", func(c *try) {
			a := c.quietly(k8s).make("floatingips", wish(object{"port_id": first}))
			c.as(k8s).net("PUT", "/floatingips/"+a.text("floatingip.id"), object{"floatingip": object{"port_id": first}}).is(200)
		}},
		{"a floating IP with a port forwarding is neither put on a port nor deleted, and shows its router; one on a port gets no port forwarding: 409", func(c *try) {
			if c.quietly(k8s).net("GET", "/extensions/floating-ip-port-forwarding", nil).Status == 404 {
				c.Skip("this cloud has no port forwardings")
			}
			port := c.quietly(k8s).net("GET", "/ports/"+first, nil).is(200)
			forwarding := object{"port_forwarding": object{"protocol": "tcp", "external_port": 8080, "internal_port": 80,
				"internal_port_id": first, "internal_ip_address": port.text("port.fixed_ips.0.ip_address")}}
			path := "/floatingips/" + c.has(k8s, "floatingips", wish(nil))
			made := c.quietly(k8s).net("POST", path+"/port_forwardings", forwarding).is(201)
			c.as(k8s).net("PUT", path, object{"floatingip": object{"port_id": second}}).refused(409, "FipInUseByPortForwarding")
			c.as(k8s).net("DELETE", path, nil).refused(409, "FipInUseByPortForwarding")
			a := c.quietly(k8s).net("GET", path, nil).is(200)
			c.must(a.at("floatingip.port_id") == nil && a.text("floatingip.router_id") == c.cloud.Router, "it is %s", a.Text)
			on := c.quietly(k8s).make("floatingips", wish(object{"port_id": second}))
			elsewhere := "/floatingips/" + on.text("floatingip.id") + "/port_forwardings"
			forwarding["port_forwarding"].(object)["external_port"] = 8081
			forwarding["port_forwarding"].(object)["internal_port"] = 81
			c.as(k8s).net("POST", elsewhere, forwarding).refused(409, "FloatingIPPortAlreadyAssociated")
			c.quietly(k8s).net("DELETE", "/floatingips/"+on.text("floatingip.id"), nil).is(204)
			c.as(k8s).net("DELETE", path+"/port_forwardings/"+made.text("port_forwarding.id"), nil).is(204)
			c.must(c.quietly(k8s).net("GET", path, nil).is(200).at("floatingip.router_id") == nil, "it still has its router")
			c.quietly(k8s).net("PUT", path, object{"floatingip": object{"port_id": second}}).is(200)
		}},
		{"an update that does not name the port leaves the floating IP where it is", func(c *try) {
			a := c.quietly(k8s).make("floatingips", wish(object{"port_id": first}))
			changed := c.as(k8s).net("PUT", "/floatingips/"+a.text("floatingip.id"), object{"floatingip": object{"description": "another"}}).is(200)
			c.must(changed.text("floatingip.port_id") == first && changed.text("floatingip.description") == "another", "it is %s", changed.Text)
		}},
		{"an empty update takes the floating IP off its port, surprisingly", func(c *try) {
			a := c.quietly(k8s).make("floatingips", wish(object{"port_id": first}))
			changed := c.as(k8s).net("PUT", "/floatingips/"+a.text("floatingip.id"), object{"floatingip": object{}}).is(200)
			c.must(changed.at("floatingip.port_id") == nil, "it is %s", changed.Text)
		}},
		{"an update to a port that is not there is refused with 404 and changes nothing", func(c *try) {
			path := "/floatingips/" + c.quietly(k8s).make("floatingips", wish(object{"port_id": first})).text("floatingip.id")
			c.as(k8s).net("PUT", path, object{"floatingip": object{"port_id": nowhere}}).refused(404, "PortNotFound")
			c.must(c.as(k8s).net("GET", path, nil).is(200).text("floatingip.port_id") == first, "it has left its port")
		}},
		{"an update to a port that cannot be reached is refused with 404", func(c *try) {
			c.as(k8s).net("PUT", loose, object{"floatingip": object{"port_id": unreachable}}).refused(404, "ExternalGatewayForFloatingIPNotFound")
		}},
		{"the address of a floating IP cannot be changed", func(c *try) {
			c.as(k8s).net("PUT", loose, object{"floatingip": object{"floating_ip_address": "172.24.4.201"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", loose, object{"floatingip": object{"floating_network_id": public}}).refused(400, "HTTPBadRequest")
		}},
		{"tags cannot be given with a create, and so a description must say whose a new floating IP is", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"tags": list{"a"}})).refused(400, "HTTPBadRequest")
		}},
		{"a floating IP has no name", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"name": "x"})).refused(400, "HTTPBadRequest")
		}},
		{"a description longer than 255 is refused with 400, one of 255 is not", func(c *try) {
			long := slices.Repeat([]byte("x"), 255)
			c.as(k8s).make("floatingips", object{"floating_network_id": public, "description": string(long)})
			c.as(k8s).net("POST", "/floatingips", one(object{"description": string(long) + "x"})).refused(400, "HTTPBadRequest")
		}},
		{"a floating IP is deleted at once, a second time it is not found", func(c *try) {
			path := "/floatingips/" + c.quietly(k8s).make("floatingips", wish(object{"port_id": first})).text("floatingip.id")
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "FloatingIPNotFound")
			c.as(k8s).net("GET", path, nil).refused(404, "FloatingIPNotFound")
			c.as(k8s).net("PUT", path, object{"floatingip": object{"port_id": nil}}).refused(404, "FloatingIPNotFound")
		}},
		{"another project's floating IP is not found, neither to read nor to change", func(c *try) {
			c.as(other).net("GET", loose, nil).refused(404, "FloatingIPNotFound")
			c.as(other).net("PUT", loose, object{"floatingip": object{"description": "mine"}}).refused(404, "FloatingIPNotFound")
			c.as(other).net("DELETE", loose, nil).refused(404, "FloatingIPNotFound")
			c.as(admin).net("GET", loose, nil).is(200)
		}},
		{"another project's port is not found", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", one(object{"port_id": foreignPort})).refused(404, "PortNotFound")
		}},
		{"a floating IP for another project is refused with 400, but not to an admin", func(c *try) {
			project := c.project()
			c.as(k8s).net("POST", "/floatingips", one(object{"project_id": project})).refused(400, "HTTPBadRequest")
			c.as(k8s).net("POST", "/floatingips", one(object{"tenant_id": project})).refused(400, "HTTPBadRequest")
			a := c.as(admin).make("floatingips", wish(object{"project_id": project}))
			c.must(a.text("floatingip.project_id") == project && a.text("floatingip.tenant_id") == project, "it is of %s", a.Text)
		}},
		{"a port that is deleted leaves its floating IP, without a port", func(c *try) {
			port := c.has(k8s, "ports", private)
			path := "/floatingips/" + c.quietly(k8s).make("floatingips", wish(object{"port_id": port})).text("floatingip.id")
			c.as(k8s).net("DELETE", "/ports/"+port, nil).is(204)
			a := c.as(k8s).net("GET", path, nil).is(200)
			c.must(a.at("floatingip.port_id") == nil && a.at("floatingip.router_id") == nil && a.at("floatingip.port_details") == nil, "it is %s", a.Text)
		}},
		{"a change for another revision is refused with 412, one for the current revision is made", func(c *try) {
			a := c.quietly(k8s).make("floatingips", wish(nil))
			path, revision := "/floatingips/"+a.text("floatingip.id"), a.at("floatingip.revision_number").(float64)
			body := object{"floatingip": object{"description": "new"}}
			c.as(k8s).net("PUT", path, body, ifMatch(revision+100)).refused(412, "RevisionNumberConstraintFailed")
			c.as(k8s).net("DELETE", path, nil, ifMatch(revision+100)).refused(412, "RevisionNumberConstraintFailed")
			c.as(k8s).net("PUT", path, body, ifMatch(revision)).is(200)
		}},
		{"a revision that is no number is refused with 400, another kind of etag is ignored", func(c *try) {
			body := object{"floatingip": object{"description": "new"}}
			c.as(k8s).net("PUT", loose, body, "If-Match: revision_number=one").is(400)
			c.as(k8s).net("PUT", loose, body, "If-Match: abc").is(200)
		}},
		{"more floating IPs than the quota are refused with 409", func(c *try) {
			project := c.project()
			c.hasQuota(project, object{"floatingip": 1})
			c.as(admin).make("floatingips", wish(object{"project_id": project}))
			c.as(admin).net("POST", "/floatingips", one(object{"project_id": project})).refused(409, "OverQuota")
		}},
		{"several floating IPs in one request are refused with 400, unlike several ports", func(c *try) {
			c.as(k8s).net("POST", "/floatingips", object{"floatingips": list{wish(nil), wish(nil)}}).refused(400, "HTTPBadRequest")
		}},
		{"an interface of a router is kept while a floating IP needs it: 409", func(c *try) {
			n := c.hasSubnet(k8s, "10.77.3.0/24")
			router := c.has(k8s, "routers", object{"name": c.newName(), "external_gateway_info": object{"network_id": public}})
			joined := object{"subnet_id": n.subnet}
			c.as(k8s).net("PUT", "/routers/"+router+"/add_router_interface", joined).is(200)
			port := c.has(k8s, "ports", object{"network_id": n.network})
			fip := c.as(k8s).make("floatingips", wish(object{"port_id": port}))
			c.must(fip.text("floatingip.router_id") == router, "its router is %s", fip.text("floatingip.router_id"))
			c.as(k8s).net("PUT", "/routers/"+router+"/remove_router_interface", joined).refused(409, "RouterInterfaceInUseByFloatingIP")
			c.as(k8s).net("PUT", "/routers/"+router, object{"router": object{"external_gateway_info": nil}}).refused(409, "RouterExternalGatewayInUseByFloatingIp")
			c.quietly(k8s).net("DELETE", "/floatingips/"+fip.text("floatingip.id"), nil).is(204)
			c.as(k8s).net("PUT", "/routers/"+router+"/remove_router_interface", joined).is(200)
		}},
		{"a floating IP can be put on the port of a VIP while the load balancer is PENDING_CREATE, and it stays when the load balancer is deleted, without a port", func(c *try) {
			a := c.quietly(k8s).lb("POST", "/loadbalancers", object{"loadbalancer": object{"name": c.newName(), "vip_subnet_id": c.cloud.Subnet}}).is(201)
			id := a.text("loadbalancer.id")
			c.Cleanup(func() { deleteLB(c.T, id) })
			c.must(a.text("loadbalancer.provisioning_status") == "PENDING_CREATE", "it is %s", a.text("loadbalancer.provisioning_status"))
			made := c.as(k8s).make("floatingips", wish(object{"port_id": a.text("loadbalancer.vip_port_id")}))
			path := "/floatingips/" + made.text("floatingip.id")
			c.must(made.text("floatingip.fixed_ip_address") == a.text("loadbalancer.vip_address"), "it leads to %s", made.text("floatingip.fixed_ip_address"))
			c.must(made.text("floatingip.port_details.device_id") == "lb-"+id, "the port is %v", made.at("floatingip.port_details"))
			c.active(id)
			c.as(k8s).net("GET", path, nil).is(200)
			c.quietly(k8s).lb("DELETE", "/loadbalancers/"+id, nil).is(204)
			c.gone(id)
			c.must(c.as(k8s).net("GET", path, nil).is(200).at("floatingip.port_id") == nil, "it still has a port")
		}},
	})
}
