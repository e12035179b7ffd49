// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"testing"
)

func TestNetworks(t *testing.T) {
	t.Parallel()
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.30.0/24")
	wish := func() object { return object{"name": g.newName()} }

	state(t, []statement{
		{"the external network is found by router:external, and everybody sees it", func(c *try) {
			for _, user := range []string{k8s, other} {
				a := c.as(user).net("GET", "/networks?router:external=true&fields=id&fields=name&fields=router:external", nil).is(200)
				c.must(slices.Contains(a.texts("networks", "id"), c.cloud.PublicNetwork), "%s sees %s", user, a.Text)
			}
		}},
		{"the private network is not among the external ones", func(c *try) {
			a := c.as(k8s).net("GET", "/networks?router:external=False&fields=id&id="+c.cloud.Network, nil).is(200)
			c.must(slices.Equal(a.texts("networks", "id"), []string{c.cloud.Network}), "found %s", a.Text)
			c.must(len(c.as(k8s).net("GET", "/networks?router:external=true&id="+c.cloud.Network, nil).is(200).list("networks")) == 0, "it is external")
		}},
		{"a network shows the ids of its subnets, and nothing of its provider to a tenant", func(c *try) {
			a := c.as(k8s).net("GET", "/networks/"+mine.network, nil).is(200)
			c.must(slices.Equal(a.list("network.subnets"), list{mine.subnet}), "its subnets are %v", a.at("network.subnets"))
			c.as(admin).net("GET", "/networks/"+mine.network+"?fields=provider:network_type", nil).is(200)
		}},
		{"a network that is shared with one project shows itself shared there, and with no other", func(c *try) {
			c.must(c.as(k8s).net("GET", "/networks/"+c.cloud.PublicNetwork, nil).is(200).at("network.shared") == true, "k8s does not see it shared")
			c.must(c.as(other).net("GET", "/networks/"+c.cloud.PublicNetwork, nil).is(200).at("network.shared") == false, "other sees it shared")
		}},
		{"a tenant does not see another's network, nor can it be changed", func(c *try) {
			path := "/networks/" + mine.network
			c.as(other).net("GET", path, nil).refused(404, "NetworkNotFound")
			c.as(other).net("PUT", path, object{"network": object{"name": "x"}}).refused(404, "NetworkNotFound")
			c.as(other).net("DELETE", path, nil).refused(404, "NetworkNotFound")
		}},
		{"an external network that a tenant sees cannot be changed by it: 403", func(c *try) {
			path := "/networks/" + c.cloud.PublicNetwork
			c.as(k8s).net("PUT", path, object{"network": object{"name": "x"}}).refused(403, "PolicyNotAuthorized")
			c.as(k8s).net("DELETE", path, nil).refused(403, "PolicyNotAuthorized")
		}},
		{"a network is made, renamed and deleted", func(c *try) {
			a := c.as(k8s).make("networks", wish())
			path := "/networks/" + a.text("network.id")
			c.must(a.text("network.status") == "ACTIVE" && a.at("network.admin_state_up") == true, "it is %s", a.Text)
			name := c.newName()
			c.must(c.as(k8s).net("PUT", path, object{"network": object{"name": name}}).is(200).text("network.name") == name, "it is not renamed")
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "NetworkNotFound")
		}},
		{"a network with a port is not deleted: 409; one with a subnet only is, with the subnet", func(c *try) {
			n := c.hasSubnet(k8s, "10.77.31.0/24")
			port := c.has(k8s, "ports", object{"network_id": n.network})
			c.as(k8s).net("DELETE", "/networks/"+n.network, nil).refused(409, "NetworkInUse")
			c.quietly(k8s).net("DELETE", "/ports/"+port, nil).is(204)
			c.as(k8s).net("DELETE", "/networks/"+n.network, nil).is(204)
			c.as(k8s).net("GET", "/subnets/"+n.subnet, nil).refused(404, "SubnetNotFound")
		}},
		{"a tenant can make neither an external nor a shared network: 403", func(c *try) {
			c.as(k8s).net("POST", "/networks", object{"network": object{"name": "x", "router:external": true}}).refused(403, "PolicyNotAuthorized")
			c.as(k8s).net("POST", "/networks", object{"network": object{"name": "x", "shared": true}}).refused(403, "PolicyNotAuthorized")
		}},
		{"several networks can be made by one request", func(c *try) {
			a := c.as(k8s).net("POST", "/networks", object{"networks": list{wish(), wish()}}).is(201)
			c.as(k8s).disposes("networks", a.texts("networks", "id")...)
			c.must(len(a.list("networks")) == 2, "there are %d", len(a.list("networks")))
		}},
		{"networks are found by name, by several ids and by tags", func(c *try) {
			name, tag := c.newName(), c.newName()
			first, second := c.has(k8s, "networks", object{"name": name}), c.has(k8s, "networks", wish())
			c.as(k8s).net("PUT", "/networks/"+second+"/tags", object{"tags": list{tag}}).is(200)
			for _, q := range []struct {
				query string
				want  []string
			}{
				{"name=" + name, []string{first}}, {"id=" + first + "&id=" + second, []string{first, second}},
				{"tags=" + tag, []string{second}}, {"status=ACTIVE&name=" + name, []string{first}},
			} {
				a := c.as(k8s).net("GET", "/networks?fields=id&"+q.query, nil).is(200)
				c.must(sameSet(a.texts("networks", "id"), q.want...), "%s finds %s", q.query, a.Text)
			}
		}},
		{"more networks than the quota are refused with 409", func(c *try) {
			project := c.project()
			c.hasQuota(project, object{"network": 0})
			c.as(admin).net("POST", "/networks", object{"network": object{"project_id": project}}).refused(409, "OverQuota")
		}},
		{"the subnets of an external network are seen by who it is shared with, and by no other tenant", until(release2022, func(c *try) {
			a := c.as(k8s).net("GET", "/subnets?fields=id&network_id="+c.cloud.PublicNetwork, nil).is(200)
			c.must(sameSet(a.texts("subnets", "id"), c.cloud.PublicSubnets...), "k8s sees %s", a.Text)
			c.must(len(c.as(other).net("GET", "/subnets?fields=id&network_id="+c.cloud.PublicNetwork, nil).is(200).list("subnets")) == 0, "other sees some")
			c.as(other).net("GET", "/subnets/"+c.cloud.PublicSubnets[0], nil).refused(404, "SubnetNotFound")
		})},
		{"the subnets of an external network are seen by every tenant", since(release2025, func(c *try) {
			for _, user := range []string{k8s, other} {
				a := c.as(user).net("GET", "/subnets?fields=id&network_id="+c.cloud.PublicNetwork, nil).is(200)
				c.must(sameSet(a.texts("subnets", "id"), c.cloud.PublicSubnets...), "%s sees %s", user, a.Text)
				c.as(user).net("GET", "/subnets/"+c.cloud.PublicSubnets[0], nil).is(200)
			}
		})},
		{"a subnet of the external network is found by its tag", func(c *try) {
			a := c.as(k8s).net("GET", "/subnets?tags=lb-public&fields=id&network_id="+c.cloud.PublicNetwork, nil).is(200)
			c.must(sameSet(a.texts("subnets", "id"), c.cloud.PublicSubnets[1]), "found %s", a.Text)
			c.must(len(c.as(k8s).net("GET", "/subnets?tags=lb-public,absent&network_id="+c.cloud.PublicNetwork, nil).is(200).list("subnets")) == 0, "found")
		}},
		{"the router is seen with its gateway, by its project only", func(c *try) {
			a := c.as(k8s).net("GET", "/routers/"+c.cloud.Router, nil).is(200)
			c.must(a.text("router.external_gateway_info.network_id") == c.cloud.PublicNetwork, "it is %s", a.Text)
			c.as(other).net("GET", "/routers/"+c.cloud.Router, nil).refused(404, "RouterNotFound")
		}},
		{"the router's interfaces are ports with the gateways' addresses", func(c *try) {
			a := c.as(k8s).net("GET", "/ports?device_owner=network:router_interface&device_id="+c.cloud.Router+"&fixed_ips=subnet_id%3D"+c.cloud.Subnet, nil).is(200)
			sub := c.quietly(k8s).net("GET", "/subnets/"+c.cloud.Subnet, nil).is(200)
			c.must(a.text("ports.0.fixed_ips.0.ip_address") == sub.text("subnet.gateway_ip"), "found %s", a.Text)
		}},
		{"a subnet joins a router, once, and leaves it; a router with an interface is not deleted", func(c *try) {
			n := c.hasSubnet(k8s, "10.77.32.0/24")
			path := "/routers/" + c.has(k8s, "routers", wish())
			body := object{"subnet_id": n.subnet}
			c.as(k8s).net("PUT", path+"/add_router_interface", body).is(200)
			c.as(k8s).net("PUT", path+"/add_router_interface", body).refused(400, "BadRequest")
			c.as(k8s).net("DELETE", path, nil).refused(409, "RouterInUse")
			c.as(k8s).net("DELETE", "/subnets/"+n.subnet, nil).refused(409, "SubnetInUse")
			c.as(k8s).net("PUT", path+"/remove_router_interface", body).is(200)
			c.as(k8s).net("PUT", path+"/remove_router_interface", body).is(404)
			c.as(k8s).net("DELETE", path, nil).is(204)
		}},
		{"a router's gateway needs an external network: 400", func(c *try) {
			c.as(k8s).net("POST", "/routers", object{"router": object{"name": c.newName(), "external_gateway_info": object{"network_id": mine.network}}}).refused(400, "BadRequest")
		}},
		{"an extension is asked for by its alias, one that is not loaded is 404", func(c *try) {
			a := c.as(k8s).net("GET", "/extensions/standard-attr-tag", nil).is(200)
			c.must(a.text("extension.alias") == "standard-attr-tag", "it is %s", a.Text)
			c.as(k8s).net("GET", "/extensions/no-such-thing", nil).is(404)
		}},
		{"the list of extensions has those that are counted on", func(c *try) {
			aliases := c.as(k8s).net("GET", "/extensions", nil).is(200).texts("extensions", "alias")
			for _, want := range []string{"router", "security-group", "standard-attr-tag", "revision-if-match", "allowed-address-pairs", "fip-port-details", "quotas", "external-net"} {
				c.must(slices.Contains(aliases, want), "%s is missing in %v", want, aliases)
			}
		}},
		{"how many addresses are left is for admins to see", func(c *try) {
			c.as(k8s).net("GET", "/network-ip-availabilities/"+mine.network, nil).is(404)
			a := c.as(admin).net("GET", "/network-ip-availabilities/"+mine.network, nil).is(200)
			c.must(a.at("network_ip_availability.total_ips") == 100.0, "it says %s", a.Text)
		}},
	})
}

func TestSubnets(t *testing.T) {
	t.Parallel()
	g := shared(t)
	network := g.has(k8s, "networks", object{"name": g.newName()})
	g.has(k8s, "subnets", object{"network_id": network, "ip_version": 4, "cidr": "10.77.40.0/24", "name": g.newName()})
	wish := func(cidr string, more object) object {
		w := object{"network_id": network, "ip_version": 4, "cidr": cidr, "name": g.newName()}
		for key, value := range more {
			w[key] = value
		}
		return w
	}
	refused := func(c *try, w object, status int, kind string) {
		c.Helper()
		c.as(k8s).net("POST", "/subnets", object{"subnet": w}).refused(status, kind)
	}

	state(t, []statement{
		{"a subnet has the first address as its gateway and the others as its pool unless it says otherwise", func(c *try) {
			a := c.as(k8s).make("subnets", wish("10.77.41.0/24", nil))
			c.must(a.text("subnet.gateway_ip") == "10.77.41.1" && a.text("subnet.allocation_pools.0.start") == "10.77.41.2" && a.text("subnet.allocation_pools.0.end") == "10.77.41.254", "it is %s", a.Text)
		}},
		{"a subnet may be without a gateway, and then the pool has the first address", func(c *try) {
			a := c.as(k8s).make("subnets", wish("10.77.42.0/24", object{"gateway_ip": nil}))
			c.must(a.at("subnet.gateway_ip") == nil && a.text("subnet.allocation_pools.0.start") == "10.77.42.1", "it is %s", a.Text)
		}},
		{"name servers, pools and routes are kept as given", func(c *try) {
			a := c.as(k8s).make("subnets", wish("10.77.43.0/24", object{
				"dns_nameservers": list{"192.0.2.53"}, "allocation_pools": list{object{"start": "10.77.43.10", "end": "10.77.43.20"}},
				"host_routes": list{object{"destination": "192.0.2.0/24", "nexthop": "10.77.43.5"}}, "enable_dhcp": false,
			}))
			c.must(a.text("subnet.dns_nameservers.0") == "192.0.2.53" && a.text("subnet.allocation_pools.0.end") == "10.77.43.20" && a.text("subnet.host_routes.0.nexthop") == "10.77.43.5", "it is %s", a.Text)
		}},
		{"a subnet of IPv6 has its very first address as its gateway, surprisingly, which IPv4 keeps free", func(c *try) {
			a := c.as(k8s).make("subnets", object{"network_id": network, "ip_version": 6, "cidr": "fd00:77::/64"})
			c.must(a.text("subnet.gateway_ip") == "fd00:77::", "its gateway is %s", a.text("subnet.gateway_ip"))
		}},
		{"a block that overlaps with another of the network is refused with 400", func(c *try) {
			refused(c, wish("10.77.40.128/25", nil), 400, "InvalidInput")
		}},
		{"a block that is none is refused with 400; one with host bits is taken without them", func(c *try) {
			refused(c, wish("here", nil), 400, "InvalidInput")
			a := c.as(k8s).make("subnets", wish("10.77.44.5/24", nil))
			c.must(a.text("subnet.cidr") == "10.77.44.0/24", "it is %s", a.text("subnet.cidr"))
		}},
		{"a block of the other family is refused with 400", func(c *try) {
			refused(c, wish("fd00:78::/64", nil), 400, "InvalidInput")
		}},
		{"a pool outside the block is refused with 400, and so is one that has the gateway", func(c *try) {
			refused(c, wish("10.77.45.0/24", object{"allocation_pools": list{object{"start": "10.77.46.1", "end": "10.77.46.9"}}}), 400, "OutOfBoundsAllocationPool")
			refused(c, wish("10.77.45.0/24", object{"allocation_pools": list{object{"start": "10.77.45.1", "end": "10.77.45.9"}}}), 409, "GatewayConflictWithAllocationPools")
		}},
		{"an unknown network is refused with 404", func(c *try) {
			refused(c, wish("10.77.47.0/24", object{"network_id": nowhere}), 404, "NetworkNotFound")
		}},
		{"a subnet without a block is refused with 400, and so is one without an IP version", func(c *try) {
			refused(c, object{"network_id": network, "ip_version": 4}, 400, "BadRequest")
			refused(c, object{"network_id": network, "cidr": "10.77.48.0/24"}, 400, "HTTPBadRequest")
			refused(c, object{"network_id": network, "cidr": "10.77.48.0/24", "ip_version": 5}, 400, "HTTPBadRequest")
		}},
		{"a name server that is none is refused with 400", func(c *try) {
			refused(c, wish("10.77.49.0/24", object{"dns_nameservers": list{"here"}}), 400, "HTTPBadRequest")
		}},
		{"a subnet's name, name servers and gateway can be changed, its block cannot", func(c *try) {
			path := "/subnets/" + c.has(k8s, "subnets", wish("10.77.50.0/24", object{"allocation_pools": list{object{"start": "10.77.50.10", "end": "10.77.50.20"}}}))
			a := c.as(k8s).net("PUT", path, object{"subnet": object{"name": "x", "dns_nameservers": list{"192.0.2.54"}, "gateway_ip": "10.77.50.2"}}).is(200)
			c.must(a.text("subnet.gateway_ip") == "10.77.50.2" && a.text("subnet.dns_nameservers.0") == "192.0.2.54", "it is %s", a.Text)
			c.as(k8s).net("PUT", path, object{"subnet": object{"cidr": "10.77.51.0/24"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, object{"subnet": object{"gateway_ip": nil}}).is(200)
		}},
		{"a subnet that a port has an address of is not deleted: 409", func(c *try) {
			n := c.hasSubnet(k8s, "10.77.52.0/24")
			c.has(k8s, "ports", object{"network_id": n.network})
			c.as(k8s).net("DELETE", "/subnets/"+n.subnet, nil).refused(409, "SubnetInUse")
		}},
		{"a subnet is deleted, a second time it is not found", func(c *try) {
			path := "/subnets/" + c.has(k8s, "subnets", wish("10.77.53.0/24", nil))
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "SubnetNotFound")
			c.as(k8s).net("GET", path, nil).refused(404, "SubnetNotFound")
		}},
		{"another project's subnet is not found", func(c *try) {
			path := "/subnets/" + c.has(k8s, "subnets", wish("10.77.54.0/24", nil))
			c.as(other).net("GET", path, nil).refused(404, "SubnetNotFound")
			c.as(other).net("PUT", path, object{"subnet": object{"name": "x"}}).refused(404, "SubnetNotFound")
		}},
		{"subnets are found by network, block, name, IP version and gateway", func(c *try) {
			w := wish("10.77.55.0/24", nil)
			id := c.has(k8s, "subnets", w)
			for _, query := range []string{"cidr=10.77.55.0/24", "name=" + w["name"].(string), "gateway_ip=10.77.55.1", "ip_version=4&cidr=10.77.55.0/24", "enable_dhcp=true&cidr=10.77.55.0/24"} {
				a := c.as(k8s).net("GET", "/subnets?fields=id&network_id="+network+"&"+query, nil).is(200)
				c.must(slices.Equal(a.texts("subnets", "id"), []string{id}), "%s finds %s", query, a.Text)
			}
		}},
		{"more subnets than the quota are refused with 409", func(c *try) {
			project := c.project()
			n := c.has(admin, "networks", object{"name": c.newName(), "project_id": project})
			c.hasQuota(project, object{"subnet": 0})
			c.as(admin).net("POST", "/subnets", object{"subnet": object{"network_id": n, "ip_version": 4, "cidr": "10.77.56.0/24", "project_id": project}}).refused(409, "OverQuota")
		}},
		{"who a network is shared with may make a subnet in it, surprisingly; who only sees it may not: 403", until(release2022, func(c *try) {
			common := c.has(admin, "networks", object{"name": c.newName(), "shared": true})
			c.as(other).make("subnets", object{"network_id": common, "ip_version": 4, "cidr": "10.77.59.0/28"})
			c.as(other).net("POST", "/subnets", object{"subnet": object{"network_id": c.cloud.PublicNetwork, "ip_version": 4, "cidr": "10.77.59.0/28"}}).is(403)
		})},
		{"who a network is shared with, or who only sees it, may make no subnet in it: 403", since(release2025, func(c *try) {
			common := c.has(admin, "networks", object{"name": c.newName(), "shared": true})
			for _, network := range []string{common, c.cloud.PublicNetwork} {
				c.as(other).net("POST", "/subnets", object{"subnet": object{"network_id": network, "ip_version": 4, "cidr": "10.77.59.0/28"}}).is(403)
			}
		})},
		{"several subnets can be made by one request", func(c *try) {
			a := c.as(k8s).net("POST", "/subnets", object{"subnets": list{wish("10.77.57.0/24", nil), wish("10.77.58.0/24", nil)}}).is(201)
			c.as(k8s).disposes("subnets", a.texts("subnets", "id")...)
		}},
	})
}
