// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

// onPort returns a listener with a default pool of the same name and protocol, which has what more
// says.
func onPort(port int, protocol, name string, more object) object {
	return object{"name": name, "protocol": protocol, "protocol_port": port, "default_pool": with(object{
		"name": name, "protocol": protocol, "lb_algorithm": "ROUND_ROBIN",
	}, more)}
}

func TestPools(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"listeners": list{
		onPort(80, "TCP", "tcp", nil), onPort(81, "HTTP", "http", nil), onPort(80, "UDP", "udp", nil),
		object{"name": "bare", "protocol": "TCP", "protocol_port": 85},
	}, "pools": list{object{"name": "free", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "members": list{at("10.1.0.1", 80, nil)}}}})
	onLB := object{"loadbalancer_id": tree.lb, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}
	state(t, slices.Concat(poolCreation(tree, onLB), poolChanges(tree), poolTLS(tree, with(onLB, object{"protocol": "HTTP"})), poolLists(tree)))
}

func TestPoolProtocols(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"listeners": list{
		onPort(80, "TCP", "tcp", nil), onPort(81, "HTTP", "http", nil), onPort(82, "HTTPS", "https", nil),
		onPort(80, "UDP", "udp", nil), onPort(80, "SCTP", "sctp", nil),
		object{"name": "metrics", "protocol": "PROMETHEUS", "protocol_port": 86},
	}})
	// Listeners that have a default pool refuse another one after everything
	// else was checked: 409 says that the pool would have been made.
	onListener := func(name, protocol string) object {
		return object{"listener_id": tree.listeners[name], "protocol": protocol, "lb_algorithm": "ROUND_ROBIN"}
	}
	state(t, slices.Concat(poolProtocols(tree, onListener), poolPersistence(tree, onListener)))
}

func poolCreation(tree parts, onLB object) []statement {
	return []statement{
		{"a pool may be made on a load balancer alone: no listener has it, and it has defaults", func(c *try) {
			a := c.change(tree.lb, "POST", "/pools", object{"pool": with(onLB, object{"name": "new"})}, 201)
			c.must(a.text("pool.provisioning_status") == "PENDING_CREATE", "it is %s", a.text("pool.provisioning_status"))
			c.must(len(a.list("pool.listeners")) == 0, "it has listeners: %s", a.Text)
			a = c.as(k8s).lb("GET", "/pools/"+a.text("pool.id"), nil).is(200)
			c.must(a.at("pool.admin_state_up") == true && a.at("pool.session_persistence") == nil, "no defaults in %s", a.Text)
		}},
		{"a pool without a health monitor has no key healthmonitor_id at all", func(c *try) {
			a := c.as(k8s).lb("GET", "/pools/"+tree.pools["tcp"], nil).is(200)
			_, has := a.at("pool").(object)["healthmonitor_id"]
			c.must(!has, "there is one in %s", a.Text)
		}},
		{"a pool made on a listener becomes its default pool, and the listener is PENDING_UPDATE meanwhile", func(c *try) {
			body := object{"listener_id": tree.listeners["bare"], "protocol": "PROXYV2", "lb_algorithm": "LEAST_CONNECTIONS", "name": "bare", "tags": list{"b", "a"}}
			c.during(tree.lb, func() {
				a := c.as(k8s).lb("POST", "/pools", object{"pool": body}).is(201)
				tree.pools["bare"] = a.text("pool.id")
				c.must(a.text("pool.listeners.0.id") == tree.listeners["bare"], "no listener in %s", a.Text)
				c.must(a.text("pool.loadbalancers.0.id") == tree.lb, "no load balancer in %s", a.Text)
			}, func() {
				status := c.status("/listeners/"+tree.listeners["bare"], "listener")
				c.must(status == "PENDING_UPDATE", "the listener is %s", status)
			})
			a := c.as(k8s).lb("GET", "/listeners/"+tree.listeners["bare"], nil).is(200)
			c.must(a.text("listener.default_pool_id") == tree.pools["bare"], "another default pool in %s", a.Text)
		}},
		{"a pool must name a load balancer or a listener", func(c *try) {
			c.refuse(400, "POST", "/pools", "pool", with(onLB, object{"loadbalancer_id": missing}))
		}},
		{"a pool of an unknown load balancer is refused with 404, one of an unknown listener fails with 500", func(c *try) {
			c.refuse(404, "POST", "/pools", "pool", with(onLB, object{"loadbalancer_id": unknown}))
			c.refuse(500, "POST", "/pools", "pool", with(onLB, object{"loadbalancer_id": missing, "listener_id": unknown}))
		}},
		{"a second default pool for a listener is refused with 409", func(c *try) {
			c.refuse(409, "POST", "/pools", "pool", with(onLB, object{"loadbalancer_id": missing, "listener_id": tree.listeners["tcp"]}))
		}},
		{"a pool that names both a load balancer and a listener is not checked against the listener's protocol", func(c *try) {
			c.refuse(409, "POST", "/pools", "pool", with(onLB, object{"listener_id": tree.listeners["udp"]}))
		}},
		{"protocol and lb_algorithm must be given and known", func(c *try) {
			c.refuse(400, "POST", "/pools", "pool",
				with(onLB, object{"protocol": missing}), with(onLB, object{"protocol": "QUIC"}),
				with(onLB, object{"protocol": "TERMINATED_HTTPS"}), with(onLB, object{"protocol": "PROMETHEUS"}),
				with(onLB, object{"lb_algorithm": missing}), with(onLB, object{"lb_algorithm": "RANDOM"}))
		}},
		{"null for a protocol or an algorithm fails with 500", func(c *try) {
			c.refuse(500, "POST", "/pools", "pool", with(onLB, object{"protocol": nil}), with(onLB, object{"lb_algorithm": nil}))
		}},
		{"the algorithm SOURCE_IP_PORT is not supported by amphorae, 501", func(c *try) {
			c.refuse(501, "POST", "/pools", "pool", with(onLB, object{"lb_algorithm": "SOURCE_IP_PORT"}))
		}},
		{"members nested in a POST of a pool fail with 500, and so does a health monitor", func(c *try) {
			c.refuse(500, "POST", "/pools", "pool",
				with(onLB, object{"name": "nested", "members": list{object{"address": "10.0.0.9", "protocol_port": 1}}}),
				with(onLB, object{"name": "nested", "healthmonitor": object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}))
			_, there := c.byName("pools", tree.lb)["nested"]
			c.must(!there, "a pool was made all the same")
			c.active(tree.lb)
		}},
		{"texts and tags that are too long, tags that come twice and unknown attributes are refused", func(c *try) {
			c.refuse(400, "POST", "/pools", "pool",
				with(onLB, object{"name": strings.Repeat("n", 256)}), with(onLB, object{"tags": list{strings.Repeat("t", 256)}}),
				with(onLB, object{"tags": "one"}), with(onLB, object{"weight": 1}), with(onLB, object{"admin_state_up": "maybe"}))
			c.refuse(409, "POST", "/pools", "pool", with(onLB, object{"tags": list{"a", "a"}}))
		}},
		{"pools of another project can be neither read nor made, 403", func(c *try) {
			c.as(other).lb("GET", "/pools/"+tree.pools["tcp"], nil).is(403)
			c.as(other).lb("POST", "/pools", object{"pool": onLB}).is(403)
			c.as(other).lb("DELETE", "/pools/"+tree.pools["tcp"], nil).is(403)
		}},
	}
}

func poolProtocols(tree parts, onListener func(name, protocol string) object) []statement {
	all := []string{"TCP", "UDP", "SCTP", "HTTP", "HTTPS", "PROXY", "PROXYV2"}
	check := func(listener string, taken ...string) func(*try) {
		return func(c *try) {
			for _, protocol := range all {
				status := 400
				if slices.Contains(taken, protocol) {
					status = 409
				}
				c.refuse(status, "POST", "/pools", "pool", onListener(listener, protocol))
			}
		}
	}
	return []statement{
		{"a TCP listener takes pools of any protocol but UDP and SCTP", check("tcp", "TCP", "HTTP", "HTTPS", "PROXY", "PROXYV2")},
		{"an HTTP listener takes pools of HTTP, PROXY and PROXYV2", check("http", "HTTP", "PROXY", "PROXYV2")},
		{"an HTTPS listener takes pools of HTTPS, TCP, PROXY and PROXYV2", check("https", "HTTPS", "TCP", "PROXY", "PROXYV2")},
		{"a UDP listener takes pools of UDP only", check("udp", "UDP")},
		{"an SCTP listener takes pools of SCTP only", check("sctp", "SCTP")},
		{"a PROMETHEUS listener takes no pool", check("metrics")},
	}
}

func poolPersistence(tree parts, onListener func(name, protocol string) object) []statement {
	post := func(c *try, status int, listener, protocol string, persistences ...object) {
		c.Helper()
		for _, p := range persistences {
			c.refuse(status, "POST", "/pools", "pool", with(onListener(listener, protocol), object{"session_persistence": p}))
		}
	}
	return []statement{
		{"a TCP pool takes any persistence, also by cookies", func(c *try) {
			post(c, 409, "tcp", "TCP", object{"type": "SOURCE_IP"}, object{"type": "HTTP_COOKIE"}, object{"type": "APP_COOKIE", "cookie_name": "sid"})
		}},
		{"APP_COOKIE needs a cookie_name, and nothing else may have one", func(c *try) {
			post(c, 400, "http", "HTTP",
				object{"type": "APP_COOKIE"}, object{"type": "HTTP_COOKIE", "cookie_name": "sid"}, object{"type": "SOURCE_IP", "cookie_name": "sid"},
				object{"type": "APP_COOKIE", "cookie_name": "a b"}, object{"type": "APP_COOKIE", "cookie_name": "a:b"}, object{"type": "APP_COOKIE", "cookie_name": ""})
		}},
		{"a persistence needs a known type", func(c *try) {
			post(c, 400, "http", "HTTP", object{}, object{"type": "COOKIE"}, object{"cookie_name": "sid"}, object{"type": "SOURCE_IP", "timeout": 1})
		}},
		{"timeout and granularity of a persistence are for UDP and SCTP pools only", func(c *try) {
			post(c, 400, "tcp", "TCP", object{"type": "SOURCE_IP", "persistence_timeout": 60}, object{"type": "SOURCE_IP", "persistence_granularity": "255.255.0.0"})
			post(c, 409, "udp", "UDP", object{"type": "SOURCE_IP", "persistence_timeout": 60, "persistence_granularity": "255.255.0.0"})
			post(c, 409, "sctp", "SCTP", object{"type": "SOURCE_IP", "persistence_timeout": 60})
			post(c, 400, "udp", "UDP", object{"type": "SOURCE_IP", "persistence_granularity": "16"})
		}},
		{"a UDP pool takes no persistence by cookies", func(c *try) {
			post(c, 400, "udp", "UDP", object{"type": "HTTP_COOKIE"}, object{"type": "APP_COOKIE", "cookie_name": "sid"}, object{"type": "SOURCE_IP", "cookie_name": "sid"})
		}},
		{"an update may set a persistence, change it without its type, and remove it by null", func(c *try) {
			put := func(p any) answer {
				c.change(tree.lb, "PUT", "/pools/"+tree.pools["http"], object{"pool": object{"session_persistence": p}}, 200)
				return c.as(k8s).lb("GET", "/pools/"+tree.pools["http"], nil).is(200)
			}
			a := put(object{"type": "APP_COOKIE", "cookie_name": "one"})
			c.must(a.text("pool.session_persistence.cookie_name") == "one", "not set: %s", a.Text)
			a = put(object{"cookie_name": "two"})
			c.must(a.text("pool.session_persistence.cookie_name") == "two" && a.text("pool.session_persistence.type") == "APP_COOKIE", "not changed: %s", a.Text)
			a = put(nil)
			c.must(a.at("pool.session_persistence") == nil, "not removed: %s", a.Text)
		}},
		{"an update checks the persistence as a create does", func(c *try) {
			put := func(pool string, persistences ...object) {
				c.Helper()
				for _, p := range persistences {
					c.refuse(400, "PUT", "/pools/"+tree.pools[pool], "pool", object{"session_persistence": p})
				}
			}
			put("tcp", object{"type": "APP_COOKIE"}, object{"type": "SOURCE_IP", "persistence_timeout": 60}, object{"type": "COOKIE"}, object{"cookie_name": "sid"})
			put("udp", object{"type": "HTTP_COOKIE"}, object{"type": "SOURCE_IP", "cookie_name": "sid"})
		}},
	}
}

func poolChanges(tree parts) []statement {
	path := func(name string) string { return "/pools/" + tree.pools[name] }
	return []statement{
		{"a pool of a full create that no listener uses stays PENDING_CREATE with its members, which cannot be changed", until(release2022, func(c *try) {
			c.must(c.status(path("free"), "pool") == "PENDING_CREATE", "the pool is %s", c.status(path("free"), "pool"))
			c.as(k8s).lb("PUT", tree.members("free"), object{"members": list{}}).is(409)
			c.refuse(409, "POST", tree.members("free"), "member", at("10.1.0.2", 80, nil))
			c.refuse(409, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("free", nil))
		})},
		{"a pool of a full create that no listener uses is ACTIVE, and so are its members", since(release2025, func(c *try) {
			c.must(c.status(path("free"), "pool") == "ACTIVE", "the pool is %s", c.status(path("free"), "pool"))
			member := c.inPool(tree, "free")["10.1.0.1:80"]["provisioning_status"]
			c.must(member == "ACTIVE", "the member is %v", member)
		})},
		{"such a pool becomes ACTIVE by an update, and its members by a batch PUT", until(release2022, func(c *try) {
			c.change(tree.lb, "PUT", path("free"), object{"pool": object{"name": "free"}}, 200)
			c.must(c.status(path("free"), "pool") == "ACTIVE", "the pool is %s", c.status(path("free"), "pool"))
			member := func() any { return c.inPool(tree, "free")["10.1.0.1:80"]["provisioning_status"] }
			c.must(member() == "PENDING_CREATE", "the member is %v", member())
			c.change(tree.lb, "PUT", tree.members("free"), object{"members": list{at("10.1.0.1", 80, nil)}}, 202)
			c.must(member() == "ACTIVE", "the member is %v", member())
		})},
		{"name, description, algorithm, administrative state and tags of a pool can be changed", func(c *try) {
			a := c.change(tree.lb, "PUT", path("free"), object{"pool": object{
				"name": "renamed", "description": "new", "lb_algorithm": "SOURCE_IP", "admin_state_up": false, "tags": list{"two", "one"},
			}}, 200)
			c.must(a.text("pool.provisioning_status") == "PENDING_UPDATE", "it is %s", a.text("pool.provisioning_status"))
			a = c.as(k8s).lb("GET", path("free"), nil).is(200)
			c.must(a.text("pool.name") == "renamed" && a.text("pool.lb_algorithm") == "SOURCE_IP" && a.at("pool.admin_state_up") == false, "not changed: %s", a.Text)
			c.must(len(a.list("pool.tags")) == 2, "other tags: %s", a.Text)
		}},
		{"null empties the name and the tags of a pool, and switches it off", func(c *try) {
			c.change(tree.lb, "PUT", path("free"), object{"pool": object{"name": nil, "description": nil, "admin_state_up": nil, "tags": list{}}}, 200)
			a := c.as(k8s).lb("GET", path("free"), nil).is(200)
			c.must(a.at("pool.name") == "" && a.at("pool.admin_state_up") == false && len(a.list("pool.tags")) == 0, "not emptied: %s", a.Text)
		}},
		{"protocol, load balancer, listener, members and monitor of a pool cannot be changed", func(c *try) {
			c.refuse(400, "PUT", path("tcp"), "pool",
				object{"protocol": "HTTP"}, object{"loadbalancer_id": tree.lb}, object{"listener_id": tree.listeners["bare"]},
				object{"members": list{}}, object{"healthmonitor": object{}}, object{"project_id": "x"}, object{"protocol": "HTTP", "members": list{}})
		}},
		{"an unknown algorithm is refused in an update with 400, SOURCE_IP_PORT with 501", func(c *try) {
			c.refuse(400, "PUT", path("tcp"), "pool", object{"lb_algorithm": "RANDOM"})
			c.refuse(501, "PUT", path("tcp"), "pool", object{"lb_algorithm": "SOURCE_IP_PORT"})
		}},
		{"a body that is no pool is refused", func(c *try) {
			c.as(k8s).lb("PUT", path("tcp"), "{").is(400)
			c.as(k8s).lb("PUT", path("tcp"), "").is(400)
			c.as(k8s).lb("PUT", path("tcp"), object{"pools": object{}}).is(400)
		}},
		{"a pool may serve several listeners and names them all", func(c *try) {
			c.change(tree.lb, "PUT", "/listeners/"+tree.listeners["bare"], object{"listener": object{"default_pool_id": tree.pools["tcp"]}}, 200)
			a := c.as(k8s).lb("GET", path("tcp"), nil).is(200)
			ids := a.texts("pool.listeners", "id")
			c.must(len(ids) == 2 && slices.Contains(ids, tree.listeners["bare"]) && slices.Contains(ids, tree.listeners["tcp"]), "other listeners in %s", a.Text)
		}},
		{"a pool that listeners use may be deleted: they lose it", func(c *try) {
			c.during(tree.lb, func() {
				c.as(k8s).lb("DELETE", path("tcp"), nil).is(204)
			}, func() {
				c.must(c.status(path("tcp"), "pool") == "PENDING_DELETE", "the pool is not PENDING_DELETE")
			})
			for _, name := range []string{"tcp", "bare"} {
				a := c.as(k8s).lb("GET", "/listeners/"+tree.listeners[name], nil).is(200)
				c.must(a.at("listener.default_pool_id") == nil, "listener %s still has it: %s", name, a.Text)
			}
			c.as(k8s).lb("GET", path("tcp"), nil).is(404)
			c.as(k8s).lb("DELETE", path("tcp"), nil).is(404)
			c.as(k8s).lb("PUT", path("tcp"), object{"pool": object{"name": "x"}}).is(404)
		}},
	}
}

func poolTLS(tree parts, onLB object) []statement {
	tls := func(more object) object { return with(onLB, with(object{"tls_enabled": true}, more)) }
	return []statement{
		{"a pool with TLS has ciphers, versions and ALPN protocols by default", func(c *try) {
			a := c.change(tree.lb, "POST", "/pools", object{"pool": tls(object{"name": "tls"})}, 201)
			c.must(len(a.list("pool.tls_versions")) == 2 && a.text("pool.tls_ciphers") != "" && len(a.list("pool.alpn_protocols")) > 0, "no defaults in %s", a.Text)
		}},
		{"a pool is refused with TLS versions or ALPN protocols that are unknown or none", func(c *try) {
			c.refuse(400, "POST", "/pools", "pool",
				tls(object{"tls_versions": list{"TLSv9"}}), tls(object{"tls_versions": list{}}), tls(object{"tls_versions": "TLSv1.2"}),
				tls(object{"alpn_protocols": list{"h9"}}), tls(object{"alpn_protocols": list{}}))
		}},
		{"a pool's revocation list needs a CA, and certificates must be readable", func(c *try) {
			ref := "http://127.0.0.1:9311/v1/containers/" + unknown
			c.refuse(400, "POST", "/pools", "pool",
				tls(object{"crl_container_ref": ref}), tls(object{"tls_container_ref": ref}), tls(object{"ca_tls_container_ref": ref}))
		}},
	}
}

func poolLists(tree parts) []statement {
	ask := func(c *try, query string) answer {
		c.Helper()
		return c.as(k8s).lb("GET", "/pools"+"?loadbalancer_id="+tree.lb+query, nil).is(200)
	}
	return []statement{
		{"pools are listed by load balancer and by name", func(c *try) {
			c.must(len(ask(c, "").list("pools")) == len(c.byName("pools", tree.lb)), "not all pools")
			c.must(len(ask(c, "&name=http").list("pools")) == 1, "not one pool has the name")
			c.must(len(ask(c, "&name=none").list("pools")) == 0, "a pool has a name that none has")
		}},
		{"pools are filtered by protocol, by algorithm and by tags", func(c *try) {
			c.must(slices.Equal(ask(c, "&protocol=UDP").texts("pools", "name"), []string{"udp"}), "not the UDP pool")
			c.must(slices.Equal(ask(c, "&lb_algorithm=LEAST_CONNECTIONS").texts("pools", "name"), []string{"bare"}), "not the pool by algorithm")
			c.must(slices.Equal(ask(c, "&tags=a,b").texts("pools", "name"), []string{"bare"}), "not the pool by its tags")
			c.must(len(ask(c, "&tags=a,c").list("pools")) == 0, "a pool that has but one of the tags")
			c.must(slices.Equal(ask(c, "&tags-any=a,c").texts("pools", "name"), []string{"bare"}), "not the pool by any tag")
			c.must(!slices.Contains(ask(c, "&not-tags=a").texts("pools", "name"), "bare"), "the pool that has the tag")
		}},
		{"a list of pools shows the fields that are asked for, sorted as asked for", func(c *try) {
			names := ask(c, "&fields=name&sort_key=name&sort_dir=desc").texts("pools", "name")
			sorted := slices.Clone(names)
			slices.Sort(sorted)
			slices.Reverse(sorted)
			c.must(slices.Equal(names, sorted), "names are %v", names)
		}},
		{"a list of pools is cut to pages by limit and marker", func(c *try) {
			first := ask(c, "&fields=id&limit=2")
			c.must(len(first.list("pools")) == 2 && first.text("pools_links.0.rel") == "next", "no page of two with a link: %s", first.Text)
			second := ask(c, "&fields=id&limit=2&marker="+first.text("pools.1.id"))
			c.must(len(second.list("pools")) == 2 && second.text("pools.0.id") != first.text("pools.1.id"), "no second page: %s", second.Text)
		}},
		{"a filter that is given twice fails with 500", func(c *try) {
			c.as(k8s).lb("GET", "/pools?name=a&name=b", nil).is(500)
		}},
		{"a filter that pools do not have is refused with 400", func(c *try) {
			for _, query := range []string{"?weight=1", "?listener_id=" + unknown, "?sort_key=weight", "?limit=some", "?sort_key=name&sort_dir=up", "?marker=" + unknown} {
				c.as(k8s).lb("GET", "/pools"+query, nil).is(400)
			}
		}},
		{"another project lists no pools of this load balancer", func(c *try) {
			a := c.as(other).lb("GET", "/pools?loadbalancer_id="+tree.lb, nil).is(200)
			c.must(len(a.list("pools")) == 0, "it lists %s", a.Text)
		}},
	}
}
