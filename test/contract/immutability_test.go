// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import "testing"

func TestImmutability(t *testing.T) {
	t.Parallel()
	lbs := newNursery(t)
	pool := func(name string) object {
		return object{"name": name, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
	}
	ids := lbs.make(t, object{
		"listeners": list{
			object{"name": "used", "protocol": "TCP", "protocol_port": 80, "default_pool": with(pool("used"), object{
				"members":       list{object{"address": "10.0.0.201", "protocol_port": 80}},
				"healthmonitor": object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2},
			})},
			object{"name": "idle", "protocol": "TCP", "protocol_port": 81},
			object{"name": "third", "protocol": "TCP", "protocol_port": 82, "default_pool": pool("idle")},
		},
	}, nil)
	id, free := ids[0], ids[1]
	setup := &try{T: t, cloud: theCloud}
	listeners, pools := setup.byName("listeners", id), setup.byName("pools", id)
	used := setup.quietly(k8s).lb("GET", "/pools/"+pools["used"], nil).is(200)
	members, member := "/pools/"+pools["used"]+"/members", "/pools/"+pools["used"]+"/members/"+used.text("pool.members.0.id")
	monitor := "/healthmonitors/" + used.text("pool.healthmonitor_id")
	// refused makes calls while the load balancer is PENDING_UPDATE.
	refused := func(c *try, method string, path string, bodies ...object) {
		c.Helper()
		c.whilePending(id, func() {
			if len(bodies) == 0 {
				c.as(k8s).lb(method, path, nil).is(409)
			}
			for _, body := range bodies {
				c.as(k8s).lb(method, path, body).is(409)
			}
		})
	}
	named := func(key string) object { return object{key: object{"name": "late"}} }

	state(t, []statement{
		{"while a load balancer is PENDING_UPDATE it can be neither updated nor deleted: 409 with the state it is in", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("PUT", "/loadbalancers/"+id, named("loadbalancer")).is(409)
				c.as(k8s).lb("DELETE", "/loadbalancers/"+id+"?cascade=true", nil).is(409)
			})
		}},
		{"a delete without cascade of what has parts is 400 also while it is PENDING_UPDATE", func(c *try) {
			c.whilePending(id, func() { c.as(k8s).lb("DELETE", "/loadbalancers/"+id, nil).is(400) })
		}},
		{"while a load balancer is PENDING_UPDATE no listener is made, changed or deleted: 409 that names the load balancer", func(c *try) {
			refused(c, "POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 90}})
			c.whilePending(id, func() {
				c.as(k8s).lb("PUT", "/listeners/"+listeners["idle"], named("listener")).is(409)
				c.as(k8s).lb("PUT", "/listeners/"+listeners["idle"], object{"listener": object{"default_pool_id": pools["used"]}}).is(409)
				c.as(k8s).lb("DELETE", "/listeners/"+listeners["idle"], nil).is(409)
			})
		}},
		{"while a load balancer is PENDING_UPDATE no pool is made, changed or deleted: 409 that names the load balancer", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("POST", "/pools", object{"pool": with(pool("late"), object{"loadbalancer_id": id})}).is(409)
				c.as(k8s).lb("POST", "/pools", object{"pool": with(pool("late"), object{"listener_id": listeners["idle"]})}).is(409)
				c.as(k8s).lb("PUT", "/pools/"+pools["idle"], named("pool")).is(409)
				c.as(k8s).lb("DELETE", "/pools/"+pools["idle"], nil).is(409)
			})
		}},
		{"while a load balancer is PENDING_UPDATE no member is made, changed or deleted: 409", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("POST", members, object{"member": object{"address": "10.0.0.202", "protocol_port": 80}}).is(409)
				c.as(k8s).lb("PUT", member, named("member")).is(409)
				c.as(k8s).lb("DELETE", member, nil).is(409)
			})
		}},
		{"while a load balancer is PENDING_UPDATE the members of a pool are not replaced: 409, even by the same ones", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("PUT", members, object{"members": list{object{"address": "10.0.0.202", "protocol_port": 80}}}).is(409)
				c.as(k8s).lb("PUT", members, object{"members": list{}}).is(409)
				c.as(k8s).lb("PUT", members, object{"members": list{object{"address": "10.0.0.201", "protocol_port": 80}}}).is(409)
			})
		}},
		{"while a load balancer is PENDING_UPDATE no health monitor is made, changed or deleted: 409", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("POST", "/healthmonitors", object{"healthmonitor": object{"pool_id": pools["idle"], "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}).is(409)
				c.as(k8s).lb("PUT", monitor, object{"healthmonitor": object{"delay": 6}}).is(409)
				c.as(k8s).lb("DELETE", monitor, nil).is(409)
			})
		}},
		{"while a load balancer is PENDING_UPDATE a bad request is still 400, and an unknown part still 404", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 0}}).is(400)
				c.as(k8s).lb("POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 90, "default_pool_id": unknown}}).is(404)
				c.as(k8s).lb("PUT", "/listeners/"+listeners["idle"], object{"listener": object{"allowed_cidrs": list{"2001:db8::/32"}}}).is(400)
				c.as(k8s).lb("DELETE", "/listeners/"+unknown, nil).is(404)
			})
		}},
		{"while a load balancer is PENDING_UPDATE a port that is in use is refused as immutable, not as in use", func(c *try) {
			refused(c, "POST", "/listeners", object{"listener": object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 80}})
		}},
		{"while a load balancer is PENDING_UPDATE it and its parts can be read", func(c *try) {
			c.whilePending(id, func() {
				c.as(k8s).lb("GET", "/loadbalancers/"+id+"/status", nil).is(200)
				c.as(k8s).lb("GET", "/listeners?loadbalancer_id="+id+"&name=idle", nil).is(200)
				c.as(k8s).lb("GET", members, nil).is(200)
			})
		}},
		{"an update of the load balancer itself leaves its parts ACTIVE", func(c *try) {
			c.whilePending(id, func() {
				for _, path := range []string{"/listeners/" + listeners["used"], "/pools/" + pools["used"]} {
					a := c.as(k8s).lb("GET", path+"?fields=provisioning_status", nil).is(200)
					c.must(a.text("listener.provisioning_status")+a.text("pool.provisioning_status") == "ACTIVE", "%s is %s", path, a.Text)
				}
			})
		}},
		{"an update of a member locks load balancer, pool and listener, but not what has nothing to do with it", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("PUT", member, object{"member": object{"weight": 7}}).is(200) }, func() {
				for path, wanted := range map[string]string{
					"loadbalancers/" + id: "PENDING_UPDATE", "pools/" + pools["used"]: "PENDING_UPDATE", "listeners/" + listeners["used"]: "PENDING_UPDATE", member[1:]: "PENDING_UPDATE",
					"pools/" + pools["idle"]: "ACTIVE", "listeners/" + listeners["third"]: "ACTIVE", monitor[1:]: "ACTIVE",
				} {
					have := c.quietly(k8s).lb("GET", "/"+path, nil).is(200)
					for _, part := range have.Body.(object) {
						c.must(part.(object)["provisioning_status"] == wanted, "/%s is %v, not %s", path, part.(object)["provisioning_status"], wanted)
					}
				}
			})
		}},
		{"other load balancers are not locked", func(c *try) {
			c.active(free)
			c.whilePending(id, func() {
				c.as(k8s).lb("PUT", "/loadbalancers/"+free, object{"loadbalancer": object{"name": c.newName()}}).is(200)
			})
		}},
		{"what was refused has changed nothing, and succeeds when the load balancer is ACTIVE again", func(c *try) {
			c.active(id)
			l := c.quietly(k8s).lb("GET", "/listeners/"+listeners["idle"], nil).is(200)
			c.must(l.text("listener.name") == "idle" && l.at("listener.default_pool_id") == nil, "the listener is %s", l.Text)
			p := c.quietly(k8s).lb("GET", "/pools/"+pools["used"], nil).is(200)
			c.must(len(p.list("pool.members")) == 1 && p.text("pool.healthmonitor_id") != "", "the pool is %s", p.Text)
			c.must(len(c.byName("listeners", id)) == 3 && len(c.byName("pools", id)) == 2, "there are new parts")
			c.change(id, "PUT", "/listeners/"+listeners["idle"], named("listener"), 200)
			c.change(id, "DELETE", "/pools/"+pools["idle"], nil, 204)
		}},
	})
}
