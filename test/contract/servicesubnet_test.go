// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

// TestServiceSubnet is about the subnet of ClusterIPs: no DHCP, the gateway and the allocation pool in the upper half, and
// VIPs at the addresses of the lower half that Kubernetes chooses. Members are in other subnets.
func TestServiceSubnet(t *testing.T) {
	t.Parallel()
	net, pods := newNetwork(t, k8s), newNetwork(t, k8s)
	c := &try{T: t, cloud: theCloud}
	services := c.has(k8s, "subnets", object{"network_id": net.id, "ip_version": 4, "cidr": "10.96.8.0/23", "gateway_ip": "10.96.9.1", "enable_dhcp": false,
		"allocation_pools": list{object{"start": "10.96.9.2", "end": "10.96.9.254"}}})
	lbs := newNursery(t) // after the subnet, which is deleted after the load balancers
	at := func(c *try, address string, more object) answer {
		c.Helper()
		return lbs.post(c.as(k8s), with(object{"vip_subnet_id": services, "vip_address": address}, more))
	}
	var lb, pool string
	inPool := func(c *try) map[string]object {
		c.Helper()
		return c.inPool(parts{pools: map[string]string{"pods": pool}}, "pods")
	}

	state(t, []statement{
		{"a VIP may be the first address of a subnet, outside of its allocation pools and without DHCP", func(c *try) {
			a := at(c, "10.96.8.1", object{"listeners": list{onPort(443, "TCP", "pods", object{"members": list{
				at443("10.98.0.5", object{"subnet_id": pods.subnet}), at443("10.0.0.200", object{"subnet_id": c.cloud.Subnet}), at443("10.96.8.77", object{"subnet_id": services}), at443("192.0.2.7", nil),
			}})}}).is(201)
			lb = a.text("loadbalancer.id")
			c.must(a.text("loadbalancer.vip_address") == "10.96.8.1" && a.text("loadbalancer.vip_subnet_id") == services, "it has %s", a.Text)
			c.active(lb)
			pool = c.as(k8s).lb("GET", "/pools?loadbalancer_id="+lb, nil).is(200).text("pools.0.id")
		}},
		{"members of one pool may be in different subnets, in other networks than the VIP, and in none", func(c *try) {
			for address, subnet := range map[string]any{"10.98.0.5": pods.subnet, "10.0.0.200": c.cloud.Subnet, "10.96.8.77": services, "192.0.2.7": nil} {
				m := inPool(c)[address+":443"]
				c.must(m != nil && m["subnet_id"] == subnet, "member %s is %v", address, m)
			}
		}},
		{"a member may be in a subnet that does not contain its address", func(c *try) {
			c.change(lb, "PUT", "/pools/"+pool+"/members?additive_only=true", object{"members": list{at443("198.51.100.9", object{"subnet_id": pods.subnet})}}, 202)
			c.must(inPool(c)["198.51.100.9:443"]["subnet_id"] == pods.subnet, "there are %v", inPool(c))
		}},
		{"a batch PUT with weight 0 for one member leaves the weights of those that it names with theirs, and their subnets", func(c *try) {
			c.change(lb, "PUT", "/pools/"+pool+"/members", object{"members": list{
				at443("10.98.0.5", object{"subnet_id": pods.subnet, "weight": 0}), at443("10.0.0.200", object{"subnet_id": c.cloud.Subnet, "weight": 1}),
			}}, 202)
			now := inPool(c)
			c.must(len(now) == 2 && now["10.98.0.5:443"]["weight"] == 0.0 && now["10.0.0.200:443"]["weight"] == 1.0, "there are %v", now)
			c.must(now["10.98.0.5:443"]["subnet_id"] == pods.subnet && now["10.0.0.200:443"]["subnet_id"] == c.cloud.Subnet, "there are %v", now)
		}},
		{"a VIP without an address gets one of the allocation pool", func(c *try) {
			a := lbs.post(c.as(k8s), object{"vip_subnet_id": services}).is(201)
			address := a.text("loadbalancer.vip_address")
			c.must(len(address) > 8 && address[:8] == "10.96.9.", "it has %s", a.Text)
		}},
		{"an address that another VIP has is refused with 500", until(release2025, func(c *try) {
			at(c, "10.96.8.1", nil).is(500)
		})},
		{"an address that another VIP has is refused with 409", since(newest, func(c *try) {
			at(c, "10.96.8.1", nil).is(409)
		})},
		{"the address of the gateway is refused to a VIP only if the gateway has a port", func(c *try) {
			at(c, "10.96.9.1", nil).is(201)
		}},
	})
}

// at443 returns a member on port 443.
func at443(address string, more object) object { return at(address, 443, more) }
