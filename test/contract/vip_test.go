// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"
)

// network is one that a group has for itself.
type network struct{ id, subnet, subnetV6 string }

// newNetwork creates a network with a subnet of each family, as a user. Refused creates leave VIP
// ports on it, which are deleted with it.
func newNetwork(t *testing.T, user string) network {
	t.Helper()
	c := &try{T: t, cloud: theCloud}
	make := func(kind string, wish object) string {
		a := c.quietly(user).net("POST", "/"+kind+"s", object{kind: wish}).is(http.StatusCreated)
		id := a.text(kind + ".id")
		t.Cleanup(func() { c.quietly(user).net("DELETE", "/"+kind+"s/"+id, nil) })
		return id
	}
	n := network{id: make("network", object{"name": c.newName()})}
	n.subnet = make("subnet", object{"network_id": n.id, "ip_version": 4, "cidr": "10.98.0.0/24", "allocation_pools": highAddresses(c, "10.98.0.0/24")})
	n.subnetV6 = make("subnet", object{"network_id": n.id, "ip_version": 6, "cidr": "fd98::/64"})
	t.Cleanup(func() {
		for _, port := range c.quietly(user).net("GET", "/ports?network_id="+n.id, nil).texts("ports", "id") {
			c.quietly(user).net("DELETE", "/ports/"+port, nil)
		}
	})
	return n
}

func TestVIPs(t *testing.T) {
	t.Parallel()
	net, foreign := newNetwork(t, k8s), newNetwork(t, other)
	lbs := newNursery(t)
	// at creates a load balancer whose VIP is where wish says.
	at := func(c *try, wish object) answer {
		c.Helper()
		all := object{"vip_subnet_id": missing}
		maps.Copy(all, wish)
		return lbs.post(c.as(k8s), all)
	}
	port := func(c *try, wish object) string {
		c.Helper()
		a := c.quietly(k8s).net("POST", "/ports", object{"port": with(object{"network_id": net.id, "name": c.newName()}, wish)}).is(201)
		return a.text("port.id")
	}
	on := func(subnet, address string) list {
		return list{object{"subnet_id": subnet, "ip_address": address}}
	}

	// bothFamilies is a load balancer with VIPs of both families; source ranges of one family
	// are answered with that status.
	bothFamilies := func(ofOneFamily int) func(*try) {
		return func(c *try) {
			members := list{object{"address": "10.98.0.5", "protocol_port": 80, "subnet_id": net.subnet}, object{"address": "fd98::5", "protocol_port": 80, "subnet_id": net.subnetV6}}
			a := at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": net.subnetV6, "ip_address": "fd98::99"}},
				"listeners": list{onPort(80, "TCP", "tcp", object{"members": members}), onPort(53, "UDP", "udp", object{"members": members})}}).is(201)
			id := a.text("loadbalancer.id")
			c.must(a.text("loadbalancer.additional_vips.0.ip_address") == "fd98::99", "it has %s", a.Text)
			c.active(id)
			pools := c.as(k8s).lb("GET", "/pools?loadbalancer_id="+id+"&sort=name", nil).is(200)
			for i := range 2 {
				one := c.as(k8s).lb("GET", "/pools/"+pools.text(fmt.Sprintf("pools.%d.id", i))+"/members", nil).is(200)
				c.must(len(one.list("members")) == 2, "there are %s", one.Text)
			}
			c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{"additional_vips": list{}}}).is(400)
			listener := c.as(k8s).lb("GET", "/listeners?loadbalancer_id="+id+"&protocol=TCP", nil).is(200).text("listeners.0.id")
			c.as(k8s).lb("PUT", "/listeners/"+listener, object{"listener": object{"allowed_cidrs": list{"fd98::/64"}}}).is(ofOneFamily)
			c.active(id)
			c.as(k8s).lb("PUT", "/listeners/"+listener, object{"listener": object{"allowed_cidrs": list{}}}).is(200)
			c.active(id)
		}
	}

	state(t, []statement{
		{"a create that names neither subnet nor network nor port is refused", func(c *try) {
			at(c, nil).is(400)
			at(c, object{"vip_address": "10.98.0.10"}).is(400)
		}},
		{"a subnet or network that there is not is refused by its name", func(c *try) {
			at(c, object{"vip_subnet_id": unknown}).is(400)
			at(c, object{"vip_network_id": unknown}).is(400)
			at(c, object{"vip_port_id": unknown}).is(400)
			at(c, object{"vip_subnet_id": "private"}).is(400)
		}},
		{"another project's network or subnet is not found", func(c *try) {
			at(c, object{"vip_subnet_id": foreign.subnet}).is(400)
			at(c, object{"vip_network_id": foreign.id}).is(400)
		}},
		{"a subnet that is not one of the network is refused", func(c *try) {
			at(c, object{"vip_network_id": net.id, "vip_subnet_id": c.cloud.Subnet}).is(400)
		}},
		{"a VIP on a network takes the IPv4 subnet", func(c *try) {
			a := at(c, object{"vip_network_id": net.id}).is(201)
			c.must(a.text("loadbalancer.vip_subnet_id") == net.subnet, "it has %s", a.Text)
		}},
		{"a VIP on a network with an address takes the subnet of the address", func(c *try) {
			a := at(c, object{"vip_network_id": net.id, "vip_address": "fd98::42"}).is(201)
			c.must(a.text("loadbalancer.vip_subnet_id") == net.subnetV6 && a.text("loadbalancer.vip_address") == "fd98::42", "it has %s", a.Text)
		}},
		{"an address that is in none of the network's subnets is refused", func(c *try) {
			at(c, object{"vip_network_id": net.id, "vip_address": "192.0.2.1"}).is(400)
		}},
		{"a VIP has the address that is asked for, and an additional one of the other family", func(c *try) {
			a := at(c, object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.42", "additional_vips": list{object{"subnet_id": net.subnetV6}}}).is(201)
			c.must(a.text("loadbalancer.vip_address") == "10.98.0.42", "it has %s", a.Text)
			c.must(a.text("loadbalancer.additional_vips.0.subnet_id") == net.subnetV6 && a.text("loadbalancer.additional_vips.0.ip_address") != "", "it has %s", a.Text)
			p := c.quietly(k8s).net("GET", "/ports/"+a.text("loadbalancer.vip_port_id"), nil).is(200)
			c.must(len(p.list("port.fixed_ips")) == 2 && p.text("port.device_owner") == "Octavia", "the port is %s", p.Text)
		}},
		{"an address that somebody has is refused with 500", until(release2025, func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.42"}).is(500)
		})},
		{"an address that somebody has is refused with 409", since(newest, func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.42"}).is(409)
		})},
		{"an address outside of the subnet is refused with 500", func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "192.0.2.1"}).is(500)
		}},
		{"an address that is none is refused", func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "web"}).is(400)
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.0/24"}).is(400)
		}},
		{"additional VIPs on one subnet, on the first one's or on another network are refused", func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": net.subnetV6}, object{"subnet_id": net.subnetV6}}}).is(400)
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": net.subnet}}}).is(400)
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": c.cloud.SubnetV6}}}).is(400)
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{}}}).is(400)
		}},
		{"an additional VIP on a subnet that there is not is refused with 500", until(release2025, func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": unknown}}}).is(500)
		})},
		{"an additional VIP on a subnet that there is not is refused with 400", since(newest, func(c *try) {
			at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": unknown}}}).is(400)
		})},
		{"a VIP on a port of the user's has its address; the port is kept when the load balancer goes, but has lost its security groups", func(c *try) {
			p := port(c, object{"fixed_ips": on(net.subnet, "10.98.0.50")})
			a := at(c, object{"vip_port_id": p}).is(201)
			id := a.text("loadbalancer.id")
			c.must(a.text("loadbalancer.vip_address") == "10.98.0.50" && a.text("loadbalancer.vip_subnet_id") == net.subnet, "it has %s", a.Text)
			c.active(id)
			c.as(k8s).lb("DELETE", "/loadbalancers/"+id, nil).is(204)
			c.gone(id)
			kept := c.as(k8s).net("GET", "/ports/"+p, nil).is(200)
			c.must(kept.text("port.device_id") == "" && len(kept.list("port.security_groups")) == 0, "the port is %s", kept.Text)
		}},
		{"a port of the user's that is a load balancer's VIP can be made another one's as well", func(c *try) {
			p := port(c, object{"fixed_ips": on(net.subnet, "10.98.0.55")})
			at(c, object{"vip_port_id": p}).is(201)
			second := at(c, object{"vip_port_id": p}).is(201)
			c.must(second.text("loadbalancer.vip_address") == "10.98.0.55", "it has %s", second.Text)
		}},
		{"the port of a load balancer's VIP that Octavia made is refused to another one", func(c *try) {
			a := at(c, object{"vip_subnet_id": net.subnet}).is(201)
			at(c, object{"vip_port_id": a.text("loadbalancer.vip_port_id")}).is(400)
		}},
		{"of a port with several addresses a subnet or an address must be named, and the first address in that subnet is taken whichever was named", func(c *try) {
			p := port(c, object{"fixed_ips": append(on(net.subnet, "10.98.0.60"), on(net.subnet, "10.98.0.61")...)})
			at(c, object{"vip_port_id": p}).is(400)
			at(c, object{"vip_port_id": p, "vip_address": "10.98.0.62"}).is(400)
			at(c, object{"vip_port_id": p, "vip_subnet_id": net.subnetV6}).is(400)
			a := at(c, object{"vip_port_id": p, "vip_address": "10.98.0.61"}).is(201)
			c.must(a.text("loadbalancer.vip_address") == "10.98.0.60", "it has %s", a.Text)
		}},
		{"a port that a server has is refused", func(c *try) {
			server := c.quietly(k8s).net("GET", "/ports?device_id="+c.cloud.Servers["node-1"], nil).is(200)
			at(c, object{"vip_port_id": server.text("ports.0.id")}).is(400)
		}},
		{"behind VIPs of both families TCP and UDP pools take members of both, in one call, and the VIPs cannot be changed", until(release2022, bothFamilies(400))},
		{"behind VIPs of both families TCP and UDP pools take members of both, in one call, and source ranges may be of one", since(release2025, bothFamilies(200))},
		{"a floating IP on the port of VIPs of both families leads to the IPv4 one, whichever is first", func(c *try) {
			a := lbs.post(c.as(k8s), object{"vip_subnet_id": c.cloud.SubnetV6, "additional_vips": list{object{"subnet_id": c.cloud.Subnet}}}).is(201)
			f := c.as(k8s).make("floatingips", object{"floating_network_id": c.cloud.PublicNetwork, "port_id": a.text("loadbalancer.vip_port_id")})
			four := a.text("loadbalancer.additional_vips.0.ip_address")
			c.must(four != "" && f.text("floatingip.fixed_ip_address") == four, "the VIPs are %s, and it leads to %s", a.Text, f.text("floatingip.fixed_ip_address"))
		}},
		{"source ranges of one family with VIPs of both are taken, put the load balancer into ERROR and leave its listener in PENDING_CREATE; then it refuses changes with 409, and accepts its deletion", until(release2022, func(c *try) {
			// Whether the deletion ends well is chance: the worker may fail at the same
			// rules again. So this one is in another project, and is not waited for.
			network := c.quietly(other).net("POST", "/networks", object{"network": object{"name": c.newName()}}).is(201).text("network.id")
			subnet := func(version int, cidr string) string {
				return c.quietly(other).net("POST", "/subnets", object{"subnet": object{"network_id": network, "ip_version": version, "cidr": cidr}}).is(201).text("subnet.id")
			}
			a := c.as(other).lb("POST", "/loadbalancers", object{"loadbalancer": object{"name": c.newName(),
				"vip_subnet_id": subnet(4, "10.97.0.0/24"), "additional_vips": list{object{"subnet_id": subnet(6, "fd97::/64")}},
				"listeners": list{object{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": list{"192.0.2.0/24"}}}}}).is(201)
			id := a.text("loadbalancer.id")
			status := c.as(other).until(id, "is settled", isSettled)
			c.must(status == "ERROR", "it is %s", status)
			path := "/loadbalancers/" + id
			c.as(other).lb("GET", path, nil).is(200)
			l := c.as(other).lb("GET", "/listeners/"+a.text("loadbalancer.listeners.0.id"), nil).is(200)
			c.must(l.text("listener.provisioning_status") == "PENDING_CREATE", "the listener is %s", l.text("listener.provisioning_status"))
			c.as(other).lb("PUT", path, object{"loadbalancer": object{"name": "late"}}).is(409)
			c.as(other).lb("DELETE", "/listeners/"+a.text("loadbalancer.listeners.0.id"), nil).is(409)
			c.as(other).lb("DELETE", path+"?cascade=true", nil).is(204)
		})},
		{"source ranges of one family with VIPs of both are taken", since(release2025, func(c *try) {
			a := at(c, object{"vip_subnet_id": net.subnet, "additional_vips": list{object{"subnet_id": net.subnetV6}},
				"listeners": list{object{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": list{"192.0.2.0/24"}}}}).is(201)
			id := a.text("loadbalancer.id")
			c.active(id)
			listener := "/listeners/" + a.text("loadbalancer.listeners.0.id")
			c.must(c.status(listener, "listener") == "ACTIVE", "the listener is %s", c.status(listener, "listener"))
			c.as(k8s).lb("PUT", listener, object{"listener": object{"allowed_cidrs": list{"fd98::/64"}}}).is(200)
			c.active(id)
		})},
		{"a create that is refused after the VIP was allocated leaves the VIP's port behind", func(c *try) {
			c.must(len(c.portsAt("10.98.0.70")) == 0, "there is a port already")
			at(c, object{"vip_subnet_id": net.subnet, "vip_address": "10.98.0.70", "listeners": list{
				object{"protocol": "TCP", "protocol_port": 80}, object{"protocol": "TCP", "protocol_port": 80}}}).is(409)
			left := c.portsAt("10.98.0.70")
			c.must(len(left) == 1, "ports are %v", left)
			c.quietly(k8s).net("DELETE", "/ports/"+left[0], nil).is(204)
		}},
	})
}

// portsAt returns the ports that have an address.
func (c *try) portsAt(address string) []string {
	c.Helper()
	return c.as(k8s).net("GET", "/ports?fixed_ips=ip_address%3D"+address+"&fields=id&fields=device_owner", nil).is(200).texts("ports", "id")
}
