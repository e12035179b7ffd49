// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// wholeTree returns a load balancer with one of everything that goes into a single create, named
// and tagged, and with listeners that share pools.
func (c *try) wholeTree() object {
	return object{
		"name": longestName, "description": "everything", "tags": list{"cluster", "service"}, "project_id": c.cloud.Projects[k8s],
		"pools": list{object{"name": "top", "protocol": "UDP", "lb_algorithm": "SOURCE_IP"}},
		"listeners": list{
			object{
				"name": "a", "description": "a listener", "tags": list{"cluster"}, "protocol": "TCP", "protocol_port": 80, "connection_limit": 100,
				"allowed_cidrs": list{"10.0.0.0/8", "192.0.2.0/24"}, "timeout_client_data": 60000,
				"default_pool": object{
					"name": "p", "description": "a pool", "tags": list{"cluster"}, "protocol": "PROXY", "lb_algorithm": "LEAST_CONNECTIONS",
					"session_persistence": object{"type": "SOURCE_IP"},
					"members": list{
						object{"name": "m1", "tags": list{"node"}, "address": "10.0.0.201", "protocol_port": 30080, "subnet_id": c.cloud.Subnet, "weight": 10, "monitor_port": 30081},
						object{"address": "10.0.0.202", "protocol_port": 30080, "backup": true},
					},
					"healthmonitor": object{"name": "h", "tags": list{"cluster"}, "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2, "url_path": "/healthz", "http_version": 1.1, "domain_name": "example.org"},
				},
			},
			object{"name": "b", "protocol": "TCP", "protocol_port": 81, "default_pool": object{"name": "p"}},
			object{"name": "c", "protocol": "UDP", "protocol_port": 80, "default_pool": object{"name": "top"}},
			object{"name": "d", "protocol": "TCP", "protocol_port": 82},
		},
	}
}

// longestName has as many characters as a name may have.
var longestName = strings.Repeat("ü", 254) + "x"

func TestLoadBalancerCreates(t *testing.T) {
	t.Parallel()
	net := newNetwork(t, k8s)
	lbs := newNursery(t)
	tcpPool := func(name string, more object) object {
		return with(object{"name": name, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}, more)
	}
	refused := func(c *try, status int, wish object) {
		c.Helper()
		lbs.post(c.as(k8s), with(object{"vip_subnet_id": net.subnet}, wish)).is(status)
	}
	first := &try{T: t, cloud: theCloud}
	made := lbs.post(first.as(k8s), with(object{"vip_subnet_id": net.subnet}, first.wholeTree())).is(201)
	id := made.text("loadbalancer.id")
	listeners, pools := map[string]object{}, map[string]object{}
	for _, l := range made.list("loadbalancer.listeners") {
		listeners[l.(object)["name"].(string)] = l.(object)
	}
	for _, p := range made.list("loadbalancer.pools") {
		pools[p.(object)["name"].(string)] = p.(object)
	}

	state(t, []statement{
		{"one create makes listeners, pools, members and monitors, and answers with them all but for the monitors, which are null", until(release2022, func(c *try) {
			c.saw(first)
			c.must(len(listeners) == 4 && len(pools) == 2, "it has %s", made.Text)
			c.must(listeners["a"]["provisioning_status"] == "PENDING_CREATE", "the listener is %v", listeners["a"])
			c.must(len(pools["p"]["members"].(list)) == 2, "the pool is %v", pools["p"])
			hm, known := pools["p"]["healthmonitor"]
			c.must(known && hm == nil, "the monitor is %v", hm)
		})},
		{"one create makes listeners, pools, members and monitors, and answers with them all", since(release2025, func(c *try) {
			c.saw(first)
			c.must(len(listeners) == 4 && len(pools) == 2, "it has %s", made.Text)
			c.must(listeners["a"]["provisioning_status"] == "PENDING_CREATE", "the listener is %v", listeners["a"])
			c.must(len(pools["p"]["members"].(list)) == 2, "the pool is %v", pools["p"])
			hm, _ := pools["p"]["healthmonitor"].(object)
			c.must(hm["type"] == "HTTP", "the monitor is %v", hm)
		})},
		{"a name has up to 255 characters, of any script", func(c *try) {
			c.must(made.text("loadbalancer.name") == longestName, "it is named %s", made.text("loadbalancer.name"))
			refused(c, 400, object{"name": strings.Repeat("x", 256)})
			refused(c, 400, object{"description": strings.Repeat("x", 256)})
			refused(c, 400, object{"tags": list{strings.Repeat("x", 256)}})
		}},
		{"listeners of one create share a pool by its name, whether a listener or the top level defines it", func(c *try) {
			c.must(listeners["a"]["default_pool_id"] == pools["p"]["id"] && listeners["b"]["default_pool_id"] == pools["p"]["id"], "it has %s", made.Text)
			c.must(listeners["c"]["default_pool_id"] == pools["top"]["id"] && listeners["d"]["default_pool_id"] == nil, "it has %s", made.Text)
		}},
		{"when the load balancer is ACTIVE all its parts are", func(c *try) {
			c.active(id)
			l := c.as(k8s).lb("GET", "/listeners/"+listeners["a"]["id"].(string), nil).is(200)
			c.must(l.text("listener.provisioning_status") == "ACTIVE", "the listener is %s", l.Text)
			p := c.as(k8s).lb("GET", "/pools/"+pools["p"]["id"].(string), nil).is(200)
			c.must(p.text("pool.provisioning_status") == "ACTIVE", "the pool is %s", p.Text)
			h := c.as(k8s).lb("GET", "/healthmonitors/"+p.text("pool.healthmonitor_id"), nil).is(200)
			c.must(h.text("healthmonitor.provisioning_status") == "ACTIVE", "the monitor is %s", h.Text)
			m := c.as(k8s).lb("GET", "/pools/"+p.text("pool.id")+"/members?sort=name", nil).is(200)
			c.must(m.text("members.0.provisioning_status") == "ACTIVE" && m.text("members.1.provisioning_status") == "ACTIVE", "the members are %s", m.Text)
		}},

		{"a pool without a name is refused in a create with listeners", func(c *try) {
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP", "protocol_port": 80,
				"default_pool": object{"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}}})
		}},
		{"a pool that is only named and defined nowhere is refused", func(c *try) {
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP", "protocol_port": 80, "default_pool": object{"name": "p"}}}})
		}},
		{"a pool definition without protocol or algorithm is refused", func(c *try) {
			refused(c, 400, object{"pools": list{object{"name": "p", "protocol": "TCP"}}})
			refused(c, 400, object{"pools": list{object{"name": "p", "lb_algorithm": "ROUND_ROBIN"}}})
		}},
		{"pools of one name are refused in a create", func(c *try) {
			refused(c, 400, object{"pools": list{tcpPool("p", nil), tcpPool("p", nil)}})
		}},
		{"a pool whose protocol does not fit the listener's is refused in a create", func(c *try) {
			refused(c, 400, object{"listeners": list{object{"protocol": "UDP", "protocol_port": 80, "default_pool": tcpPool("p", nil)}}})
		}},
		{"two TCP listeners on one port are refused in a create: 409", func(c *try) {
			refused(c, 409, object{"listeners": list{
				object{"protocol": "TCP", "protocol_port": 80}, object{"protocol": "HTTP", "protocol_port": 80}}})
		}},
		{"two members of one address and port are refused in a create: 409", func(c *try) {
			m := object{"address": "10.0.0.201", "protocol_port": 80}
			refused(c, 409, object{"pools": list{tcpPool("p", object{"members": list{m, m}})}})
		}},
		{"an attribute that there is not is refused with its path, at any depth", func(c *try) {
			refused(c, 400, object{"colour": "red"})
			refused(c, 400, object{"colour": "red", "taste": "sweet"})
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP", "protocol_port": 80, "colour": "red"}}})
			refused(c, 400, object{"pools": list{tcpPool("p", object{"members": list{object{"address": "10.0.0.201", "protocol_port": 80, "colour": "red"}}})}})
		}},
		{"a listener without protocol or port, or with a bad one, is refused", func(c *try) {
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP"}}})
			refused(c, 400, object{"listeners": list{object{"protocol_port": 80}}})
			refused(c, 400, object{"listeners": list{object{"protocol": "QUIC", "protocol_port": 80}}})
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP", "protocol_port": 0}}})
		}},
		{"source ranges of the other family than the VIP are refused in a create", func(c *try) {
			refused(c, 400, object{"listeners": list{object{"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": list{"2001:db8::/32"}}}})
		}},
		{"a member may not make a load balancer for another project", func(c *try) {
			refused(c, 403, object{"project_id": c.cloud.Projects[k8s][1:] + "0"})
		}},
		{"a tag given twice is refused with a text about ids: 409", func(c *try) {
			refused(c, 409, object{"tags": list{"a", "a"}})
		}},
		{"a provider that there is not is refused", func(c *try) {
			refused(c, 400, object{"provider": "no-such-provider"})
		}},
		{"a flavor that there is not is refused", func(c *try) {
			refused(c, 400, object{"flavor_id": unknown})
			refused(c, 400, object{"flavor_id": "small"})
		}},
		{"an availability zone that there is not is refused", func(c *try) {
			refused(c, 400, object{"availability_zone": "no-such-zone"})
		}},
	})
}
