// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strconv"
	"testing"
)

func TestImmutability(t *testing.T) {
	t.Parallel()
	lbs := newNursery(t)
	monitor := object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}
	pool := func(name string) object {
		return object{"name": name, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN",
			"members": list{object{"address": "10.0.0.201", "protocol_port": 80}}, "healthmonitor": monitor}
	}
	bare := object{"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
	ids := lbs.make(t, object{"listeners": list{
		object{"name": "used", "protocol": "TCP", "protocol_port": 80, "default_pool": pool("used")},
		object{"name": "else", "protocol": "TCP", "protocol_port": 81, "default_pool": pool("else")},
	}}, nil)
	id, free := ids[0], ids[1]
	setup := &try{T: t, cloud: theCloud}
	listeners, pools := setup.byName("listeners", id), setup.byName("pools", id)
	listener, used := "/listeners/"+listeners["used"], "/pools/"+pools["used"]
	shown := setup.quietly(k8s).lb("GET", used, nil).is(200)
	member, monitorPath := used+"/members/"+shown.text("pool.members.0.id"), "/healthmonitors/"+shown.text("pool.healthmonitor_id")

	// call is one that does no harm when it is carried out.
	call := func(c *try, method, path string, body any) func() answer {
		return func() answer { return c.as(k8s).lb(method, path, body) }
	}

	// creating is a load balancer that has listeners enough to be in
	// PENDING_CREATE for some seconds.
	var creating answer
	whileCreating := func(c *try, calls func(lb, listener, pool, member string) []func() answer) {
		c.Helper()
		c.lockedBy([]func() answer{func() answer {
			var last answer
			for _, call := range calls(creating.text("loadbalancer.id"), creating.text("loadbalancer.listeners.0.id"),
				creating.text("loadbalancer.listeners.0.default_pool_id"), creating.text("loadbalancer.pools.0.members.0.id")) {
				if last = call(); last.Status != 409 {
					break
				}
			}
			return last
		}}, func() (string, string) {
			id := creating.text("loadbalancer.id")
			if id == "" || c.status("/loadbalancers/"+id, "loadbalancer") != "PENDING_CREATE" {
				var many list
				for port := range 5 {
					many = append(many, object{"protocol": "TCP", "protocol_port": 80 + port, "default_pool": pool("p" + strconv.Itoa(port))})
				}
				creating = lbs.post(c.quietly(k8s), object{"listeners": many}).is(201)
			}
			return creating.text("loadbalancer.id"), "PENDING_CREATE"
		})
	}

	state(t, []statement{
		{"a load balancer that is PENDING_CREATE can be neither updated nor deleted: 409 with its state", func(c *try) {
			whileCreating(c, func(lb, _, _, _ string) []func() answer {
				return []func() answer{
					call(c, "PUT", "/loadbalancers/"+lb, object{"loadbalancer": object{"name": "late"}}),
					call(c, "DELETE", "/loadbalancers/"+lb+"?cascade=true", nil),
				}
			})
		}},
		{"while a load balancer is PENDING_CREATE no listener is made, changed or deleted: 409 that names the load balancer", func(c *try) {
			whileCreating(c, func(lb, listener, _, _ string) []func() answer {
				return []func() answer{
					call(c, "POST", "/listeners", object{"listener": object{"loadbalancer_id": lb, "protocol": "TCP", "protocol_port": 90}}),
					call(c, "PUT", "/listeners/"+listener, object{"listener": object{"name": "late"}}),
					call(c, "DELETE", "/listeners/"+listener, nil),
				}
			})
		}},
		{"while a load balancer is PENDING_CREATE no pool is made, changed or deleted: 409 that names the load balancer", func(c *try) {
			whileCreating(c, func(lb, _, pool, _ string) []func() answer {
				return []func() answer{
					call(c, "POST", "/pools", object{"pool": with(bare, object{"loadbalancer_id": lb})}),
					call(c, "PUT", "/pools/"+pool, object{"pool": object{"name": "late"}}),
					call(c, "DELETE", "/pools/"+pool, nil),
				}
			})
		}},
		{"while a load balancer is PENDING_CREATE no member is made or replaced: 409", func(c *try) {
			whileCreating(c, func(_, _, pool, _ string) []func() answer {
				return []func() answer{
					call(c, "POST", "/pools/"+pool+"/members", object{"member": object{"address": "10.0.0.202", "protocol_port": 80}}),
					call(c, "PUT", "/pools/"+pool+"/members", object{"members": list{}}),
				}
			})
		}},

		{"a load balancer that is PENDING_UPDATE cannot be updated: 409 with its state", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", "/loadbalancers/"+id, object{"loadbalancer": object{"description": "d"}}))
		}},
		{"while a load balancer is PENDING_UPDATE no listener is made or changed, and a port that is in use is refused as immutable, not as in use", func(c *try) {
			c.refusedWhilePending(id,
				call(c, "POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 80}}),
				call(c, "PUT", listener, object{"listener": object{"name": "used"}}))
		}},
		{"while a load balancer is PENDING_UPDATE no pool is changed", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", used, object{"pool": object{"name": "used"}}))
		}},
		{"while a load balancer is PENDING_UPDATE no member is changed", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", member, object{"member": object{"weight": 1}}))
		}},
		{"while a load balancer is PENDING_UPDATE the members of a pool are not replaced, even by the same ones", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", used+"/members", object{"members": list{object{"address": "10.0.0.201", "protocol_port": 80}}}))
		}},
		{"while a load balancer is PENDING_UPDATE no health monitor is changed", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", monitorPath, object{"healthmonitor": object{"delay": 5}}))
		}},

		{"while a load balancer is PENDING_UPDATE a bad request is still 400, and an unknown part still 404", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{}}).is(200) }, func() {
				c.as(k8s).lb("DELETE", "/loadbalancers/"+id, nil).is(400)
				c.as(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 0}}).is(400)
				c.as(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 90, "default_pool_id": unknown}}).is(404)
				c.as(k8s).lb("PUT", listener, object{"listener": object{"allowed_cidrs": list{"2001:db8::/32"}}}).is(400)
				c.as(k8s).lb("DELETE", "/listeners/"+unknown, nil).is(404)
			})
		}},
		{"while a load balancer is PENDING_UPDATE it and its parts can be read", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{}}).is(200) }, func() {
				c.as(k8s).lb("GET", listener, nil).is(200)
				c.as(k8s).lb("GET", "/pools?loadbalancer_id="+id+"&name=used", nil).is(200)
				c.as(k8s).lb("GET", used+"/members", nil).is(200)
			})
		}},
		{"an update of the load balancer itself leaves its parts ACTIVE", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{}}).is(200) }, func() {
				for path, key := range map[string]string{listener: "listener", used: "pool", member: "member", monitorPath: "healthmonitor"} {
					c.must(c.status(path, key) == "ACTIVE", "%s is not", path)
				}
			})
		}},
		{"an update of a member leaves the other listeners and pools ACTIVE", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", member, object{"member": object{"weight": 7}}).is(200) }, func() {
				c.must(c.status("/listeners/"+listeners["else"], "listener") == "ACTIVE", "the other listener is not")
				c.must(c.status("/pools/"+pools["else"], "pool") == "ACTIVE", "the other pool is not")
			})
		}},
		{"other load balancers are not locked", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", "/loadbalancers/"+id, object{"loadbalancer": object{}}).is(200) }, func() {
				c.as(k8s).lb("PUT", "/loadbalancers/"+free, object{"loadbalancer": object{"description": "free"}}).is(200)
			})
		}},
		{"when the load balancer is ACTIVE again, a write that was refused succeeds", func(c *try) {
			c.refusedWhilePending(id, call(c, "PUT", listener, object{"listener": object{"name": "used"}}))
			c.active(id)
			c.change(id, "PUT", listener, object{"listener": object{"name": "used"}}, 200)
		}},
	})
}
