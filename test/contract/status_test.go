// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"regexp"
	"slices"
	"testing"
)

// stamp is a timestamp of Octavia's: whole seconds of UTC, without a zone.
var stamp = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d$`)

func TestStatusTree(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"name": "", "listeners": list{
		onPort(80, "HTTP", "web", object{
			"members": list{at("10.1.0.1", 30080, object{"name": "first"}), at("10.1.0.2", 30080, nil)}, "healthmonitor": object{
				"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2, "name": "watch",
			}}),
		object{"name": "bare", "protocol": "TCP", "protocol_port": 81},
		object{"protocol": "HTTP", "protocol_port": 82, "default_pool": object{"name": "web"}},
	}, "pools": list{object{"name": "free", "protocol": "HTTP", "lb_algorithm": "ROUND_ROBIN"}}})
	state(t, slices.Concat(statusShape(tree), statusTimes(tree)))
}

// path of the load balancer.
func (p parts) path() string { return "/loadbalancers/" + p.lb }

// listenerIn returns what the status tree says of a listener.
func listenerIn(a answer, id string) object {
	for _, l := range a.list("statuses.loadbalancer.listeners") {
		if l.(object)["id"] == id {
			return l.(object)
		}
	}
	return nil
}

func statusShape(tree parts) []statement {
	get := func(c *try) answer {
		c.Helper()
		return c.as(k8s).lb("GET", tree.path()+"/status", nil).is(200)
	}
	return []statement{
		{"the status tree has name, id and both statuses of listeners, pools, members and health_monitor, written so", func(c *try) {
			pool := listenerIn(get(c), tree.listeners["web"])["pools"].(list)[0].(object)
			c.must(pool["id"] == tree.pools["web"] && pool["provisioning_status"] == "ACTIVE", "the pool is %v", pool)
			c.must(pool["health_monitor"].(object)["type"] == "HTTP", "no monitor in %v", pool)
			member := pool["members"].(list)[0].(object)
			c.must(member["address"] != nil && member["protocol_port"] == 30080.0, "no address in %v", member)
			_, weight := member["weight"]
			c.must(!weight, "a weight in %v", member)
		}},
		{"the status tree has a pool under each listener that uses it, and omits pools that none uses", func(c *try) {
			a := get(c)
			all := 0
			for _, l := range a.list("statuses.loadbalancer.listeners") {
				for _, p := range l.(object)["pools"].(list) {
					all++
					c.must(p.(object)["id"] == tree.pools["web"], "there is %v", p)
				}
			}
			c.must(all == 2, "it has %d pools", all)
			c.must(len(listenerIn(a, tree.listeners["bare"])["pools"].(list)) == 0, "a listener without a pool has one")
		}},
		{"what has no name has an empty one in the status tree, not null", func(c *try) {
			a := get(c)
			for _, l := range a.list("statuses.loadbalancer.listeners") {
				c.must(l.(object)["name"] != nil, "null in %v", l)
			}
			c.must(a.at("statuses.loadbalancer.name") == "", "the load balancer's name is %v", a.at("statuses.loadbalancer.name"))
		}},
		{"the status tree cannot be cut to fields: 400", func(c *try) {
			c.as(k8s).lb("GET", tree.path()+"/status?fields=id", nil).is(400)
		}},
		{"the status tree of another project is refused with 403, that of nothing with 404", func(c *try) {
			c.as(other).lb("GET", tree.path()+"/status", nil).is(403)
			c.as(k8s).lb("GET", "/loadbalancers/"+unknown+"/status", nil).is(404)
		}},
		{"a change of a member makes the listeners, the pool and the member PENDING_UPDATE, nothing else", func(c *try) {
			var member, monitor string
			pool := listenerIn(c.quietly(k8s).lb("GET", tree.path()+"/status", nil), tree.listeners["web"])["pools"].(list)[0].(object)
			member, monitor = pool["members"].(list)[0].(object)["id"].(string), pool["health_monitor"].(object)["id"].(string)
			c.during(tree.lb, func() {
				c.as(k8s).lb("PUT", tree.members("web")+"/"+member, object{"member": object{"weight": 2}}).is(200)
			}, func() {
				a := c.quietly(k8s).lb("GET", tree.path()+"/status", nil).is(200)
				web := listenerIn(a, tree.listeners["web"])
				c.must(a.text("statuses.loadbalancer.provisioning_status") == "PENDING_UPDATE", "the load balancer is not PENDING_UPDATE")
				c.must(web["provisioning_status"] == "PENDING_UPDATE", "the listener is %v", web["provisioning_status"])
				c.must(listenerIn(a, tree.listeners["bare"])["provisioning_status"] == "ACTIVE", "another listener is not ACTIVE")
				p := web["pools"].(list)[0].(object)
				c.must(p["provisioning_status"] == "PENDING_UPDATE", "the pool is %v", p["provisioning_status"])
				c.must(p["health_monitor"].(object)["id"] == monitor && p["health_monitor"].(object)["provisioning_status"] == "ACTIVE", "the monitor is %v", p["health_monitor"])
				for _, m := range p["members"].(list) {
					want := "ACTIVE"
					if m.(object)["id"] == member {
						want = "PENDING_UPDATE"
					}
					c.must(m.(object)["provisioning_status"] == want, "a member is %v, not %s", m, want)
				}
			})
		}},
		{"children are shown by the fields that are asked for", func(c *try) {
			c.as(k8s).lb("GET", "/listeners/"+tree.listeners["web"]+"?fields=id&fields=provisioning_status", nil).is(200)
			c.as(k8s).lb("GET", "/pools/"+tree.pools["web"]+"?fields=members&fields=healthmonitor_id", nil).is(200)
			c.as(k8s).lb("GET", tree.members("web")+"?fields=address&fields=protocol_port&fields=weight", nil).is(200)
			c.as(k8s).lb("GET", "/pools/"+tree.pools["web"]+"?fields=colour", nil).is(200)
		}},
		{"listeners and pools of a load balancer are listed by loadbalancer_id", func(c *try) {
			a := c.as(k8s).lb("GET", "/listeners?loadbalancer_id="+tree.lb, nil).is(200)
			c.must(len(a.list("listeners")) == 3, "there are %s", a.Text)
			a = c.as(k8s).lb("GET", "/pools?loadbalancer_id="+tree.lb, nil).is(200)
			c.must(len(a.list("pools")) == 2, "there are %s", a.Text)
			a = c.as(k8s).lb("GET", "/pools?loadbalancer_id="+unknown, nil).is(200)
			c.must(len(a.list("pools")) == 0, "there are %s", a.Text)
		}},
	}
}

// statusTimes is about updated_at, by which the controller sees that another
// client changed a load balancer.
func statusTimes(tree parts) []statement {
	updated := func(c *try) string {
		c.Helper()
		return c.quietly(k8s).lb("GET", tree.path()+"?fields=updated_at", nil).is(200).text("loadbalancer.updated_at")
	}
	// moves says that a change moves updated_at of the load balancer.
	moves := func(method string, status int, path func(*try) string, body any) func(*try) {
		return func(c *try) {
			before := updated(c)
			c.laterThan(before)
			c.change(tree.lb, method, path(c), body, status)
			c.must(updated(c) > before, "updated_at stays %s", before)
		}
	}
	fixed := func(path string) func(*try) string { return func(*try) string { return path } }
	var listener, pool string
	member := func(c *try) string {
		return tree.members("web") + "/" + c.inPool(tree, "web")["10.1.0.1:30080"]["id"].(string)
	}
	monitor := func(c *try) string { return c.monitor(tree, "web") }
	return []statement{
		{"timestamps have whole seconds and no zone; created_at stays, updated_at is null in the answer to a create", func(c *try) {
			a := c.as(k8s).lb("GET", tree.path(), nil).is(200)
			for _, key := range []string{"created_at", "updated_at"} {
				c.must(stamp.MatchString(a.text("loadbalancer."+key)), "%s is %v", key, a.at("loadbalancer."+key))
			}
			created := a.text("loadbalancer.created_at")
			before := updated(c)
			c.laterThan(before)
			b := c.change(tree.lb, "POST", "/listeners", object{"listener": object{"loadbalancer_id": tree.lb, "protocol": "TCP", "protocol_port": 90, "name": "new"}}, 201)
			listener = b.text("listener.id")
			c.must(b.at("listener.updated_at") == nil && stamp.MatchString(b.text("listener.created_at")), "the listener has %s", b.Text)
			a = c.as(k8s).lb("GET", tree.path(), nil).is(200)
			c.must(a.text("loadbalancer.created_at") == created, "created_at is now %s", a.text("loadbalancer.created_at"))
			c.must(a.text("loadbalancer.updated_at") > before, "a new listener leaves updated_at at %s", before)
		}},
		{"an update of a listener moves updated_at of its load balancer and its own", func(c *try) {
			path := "/listeners/" + listener
			own := c.quietly(k8s).lb("GET", path, nil).is(200).text("listener.updated_at")
			moves("PUT", 200, fixed(path), object{"listener": object{"connection_limit": 10}})(c)
			a := c.as(k8s).lb("GET", path, nil).is(200)
			c.must(a.text("listener.updated_at") > own, "its own stays %s", own)
		}},
		{"a deleted listener moves updated_at of its load balancer", func(c *try) {
			moves("DELETE", 204, fixed("/listeners/"+listener), nil)(c)
		}},
		{"a new pool moves updated_at of its load balancer", func(c *try) {
			before := updated(c)
			c.laterThan(before)
			a := c.change(tree.lb, "POST", "/pools", object{"pool": object{"loadbalancer_id": tree.lb, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}}, 201)
			pool = a.text("pool.id")
			c.must(updated(c) > before, "updated_at stays %s", before)
		}},
		{"a new member of a pool that no listener uses moves updated_at of its load balancer", func(c *try) {
			moves("POST", 201, fixed("/pools/"+pool+"/members"), object{"member": at("10.1.0.1", 1, nil)})(c)
		}},
		{"a new health monitor of a pool that no listener uses moves updated_at of its load balancer", func(c *try) {
			moves("POST", 201, fixed("/healthmonitors"), object{"healthmonitor": object{"pool_id": pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}})(c)
		}},
		{"a deleted pool moves updated_at of its load balancer", func(c *try) {
			moves("DELETE", 204, fixed("/pools/"+pool), nil)(c)
		}},
		{"an update of a pool moves updated_at of its load balancer and of its listeners, not of others", func(c *try) {
			of := func(name string) string {
				return c.quietly(k8s).lb("GET", "/listeners/"+tree.listeners[name], nil).is(200).text("listener.updated_at")
			}
			web, bare := of("web"), of("bare")
			moves("PUT", 200, fixed("/pools/"+tree.pools["web"]), object{"pool": object{"description": "new"}})(c)
			c.must(of("web") > web, "the listener's stays %s", web)
			c.must(of("bare") == bare, "another listener's moves from %s to %s", bare, of("bare"))
		}},
		{"an update of a member moves updated_at of its load balancer", moves("PUT", 200, member, object{"member": object{"weight": 3}})},
		{"an update of a health monitor moves updated_at of its load balancer", moves("PUT", 200, monitor, object{"healthmonitor": object{"delay": 9}})},
		{"a deleted member moves updated_at of its load balancer", moves("DELETE", 204, member, nil)},
		{"a deleted health monitor moves updated_at of its load balancer", moves("DELETE", 204, monitor, nil)},
		{"an update of the load balancer itself moves its updated_at", moves("PUT", 200, fixed(tree.path()), object{"loadbalancer": object{"description": "new"}})},
		{"a write that is refused leaves updated_at of the load balancer", func(c *try) {
			before := updated(c)
			c.laterThan(before)
			c.refuse(400, "PUT", "/pools/"+tree.pools["web"], "pool", object{"protocol": "TCP"})
			c.refuse(409, "POST", "/listeners", "listener", object{"loadbalancer_id": tree.lb, "protocol": "TCP", "protocol_port": 81})
			c.must(updated(c) == before, "updated_at moves from %s to %s", before, updated(c))
		}},
	}
}
