// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

// watched returns a listener with a pool of the given protocol, called so, and a health monitor.
func watched(port int, listener, protocol, monitor string, more object) object {
	return with(onPort(port, protocol, protocol, object{"healthmonitor": with(object{
		"type": monitor, "delay": 5, "timeout": 3, "max_retries": 2, "name": protocol,
	}, more)}), object{"protocol": listener})
}

func TestHealthMonitors(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"listeners": list{
		watched(80, "TCP", "TCP", "TCP", object{"tags": list{"x", "y"}}), watched(81, "HTTP", "HTTP", "HTTP", nil),
		watched(82, "TCP", "HTTPS", "TLS-HELLO", nil), watched(83, "TCP", "PROXY", "PING", nil),
		watched(80, "UDP", "UDP", "UDP-CONNECT", nil), watched(80, "SCTP", "SCTP", "SCTP", nil), onPort(84, "TCP", "free", nil),
	}})
	state(t, slices.Concat(monitorCreation(tree), monitorTypes(tree), monitorRanges(tree), monitorChanges(tree), monitorLists(tree)))
}

// monitor returns the path of a pool's health monitor.
func (c *try) monitor(tree parts, pool string) string {
	c.Helper()
	a := c.quietly(k8s).lb("GET", "/pools/"+tree.pools[pool], nil).is(200)
	return "/healthmonitors/" + a.text("pool.healthmonitor_id")
}

// monitorOf returns the body of a request for a monitor of the pool.
func (p parts) monitorOf(pool string, more object) object {
	return with(object{"pool_id": p.pools[pool], "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}, more)
}

func monitorCreation(tree parts) []statement {
	return []statement{
		{"a health monitor needs pool, type, delay, timeout and max_retries, and has defaults for the rest", func(c *try) {
			var a answer
			c.during(tree.lb, func() {
				a = c.as(k8s).lb("POST", "/healthmonitors", object{"healthmonitor": tree.monitorOf("free", nil)}).is(201)
				c.must(a.at("healthmonitor.max_retries_down") == 3.0 && a.at("healthmonitor.url_path") == nil, "no defaults in %s", a.Text)
			}, func() {
				c.must(c.status("/pools/"+tree.pools["free"], "pool") == "PENDING_UPDATE", "the pool is not PENDING_UPDATE")
			})
			pool := c.as(k8s).lb("GET", "/pools/"+tree.pools["free"], nil).is(200)
			c.must(pool.text("pool.healthmonitor_id") == a.text("healthmonitor.id"), "the pool has another monitor: %s", pool.Text)
			for _, name := range []string{"pool_id", "type", "delay", "timeout", "max_retries"} {
				c.refuse(400, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("free", object{name: missing}))
			}
		}},
		{"a pool has one health monitor: a second is refused with 409", func(c *try) {
			c.refuse(409, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("TCP", nil), tree.monitorOf("TCP", object{"type": "PING"}))
			c.active(tree.lb)
		}},
		{"a health monitor of HTTP asks for / with GET and expects 200 by default", func(c *try) {
			a := c.as(k8s).lb("GET", c.monitor(tree, "HTTP"), nil).is(200)
			c.must(a.text("healthmonitor.url_path") == "/" && a.text("healthmonitor.http_method") == "GET" && a.text("healthmonitor.expected_codes") == "200", "other defaults in %s", a.Text)
			c.must(a.at("healthmonitor.http_version") == nil && a.at("healthmonitor.domain_name") == nil, "a version or a domain in %s", a.Text)
		}},
		{"a health monitor of an unknown pool is refused with 404", func(c *try) {
			c.refuse(404, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("free", object{"pool_id": unknown}))
			c.as(k8s).lb("GET", "/healthmonitors/"+unknown, nil).is(404)
			c.as(k8s).lb("PUT", "/healthmonitors/"+unknown, object{"healthmonitor": object{"delay": 9}}).is(404)
			c.as(k8s).lb("DELETE", "/healthmonitors/"+unknown, nil).is(404)
		}},
		{"a health monitor of another project can be neither read nor written, 403", func(c *try) {
			path := c.monitor(tree, "TCP")
			c.as(other).lb("GET", path, nil).is(403)
			c.as(other).lb("PUT", path, object{"healthmonitor": object{"delay": 9}}).is(403)
			c.as(other).lb("DELETE", path, nil).is(403)
			c.as(other).lb("POST", "/healthmonitors", object{"healthmonitor": tree.monitorOf("TCP", nil)}).is(403)
		}},
	}
}

// monitorTypes uses that a pool that has a monitor refuses another one after
// everything else was checked: 409 says that it would have been made.
func monitorTypes(tree parts) []statement {
	all := []string{"HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO", "UDP-CONNECT", "SCTP"}
	check := func(pool string, taken ...string) func(*try) {
		return func(c *try) {
			for _, kind := range all {
				status := 400
				if slices.Contains(taken, kind) {
					status = 409
				}
				c.refuse(status, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf(pool, object{"type": kind}))
			}
		}
	}
	return []statement{
		{"a TCP pool takes health monitors of any type but UDP-CONNECT and SCTP", check("TCP", "HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO")},
		{"an HTTP pool takes health monitors of the same types as a TCP pool", check("HTTP", "HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO")},
		{"a PROXY pool takes health monitors of the same types as a TCP pool", check("PROXY", "HTTP", "HTTPS", "PING", "TCP", "TLS-HELLO")},
		{"a UDP pool takes health monitors of UDP-CONNECT, SCTP, TCP and HTTP", check("UDP", "UDP-CONNECT", "SCTP", "TCP", "HTTP")},
		{"an SCTP pool takes health monitors of the same types as a UDP pool", check("SCTP", "UDP-CONNECT", "SCTP", "TCP", "HTTP")},
		{"an unknown type of health monitor is refused with 400", func(c *try) {
			c.refuse(400, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("TCP", object{"type": "GRPC"}), tree.monitorOf("TCP", object{"type": "tcp"}))
		}},
		{"UDP-CONNECT asks for a delay of at least 3 seconds", func(c *try) {
			c.refuse(400, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("UDP", object{"type": "UDP-CONNECT", "delay": 2}))
			c.refuse(409, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("UDP", object{"type": "UDP-CONNECT", "delay": 3}))
		}},
	}
}

func monitorRanges(tree parts) []statement {
	tcp := func(c *try, status int, changes ...object) {
		c.Helper()
		for _, change := range changes {
			c.refuse(status, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("TCP", change))
		}
	}
	http := func(c *try, status int, changes ...object) {
		c.Helper()
		for _, change := range changes {
			c.refuse(status, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("HTTP", with(object{"type": "HTTP"}, change)))
		}
	}
	return []statement{
		{"delay and timeout are numbers from 0, and nobody minds a timeout that is longer than the delay", func(c *try) {
			tcp(c, 400, object{"delay": -1}, object{"timeout": -1}, object{"delay": "often"})
			tcp(c, 409, object{"delay": 0}, object{"timeout": 0}, object{"delay": 5, "timeout": 60}, object{"delay": "5"})
		}},
		{"max_retries and max_retries_down are 1 to 10", func(c *try) {
			tcp(c, 400, object{"max_retries": 0}, object{"max_retries": 11}, object{"max_retries_down": 0}, object{"max_retries_down": 11})
			tcp(c, 409, object{"max_retries": 10, "max_retries_down": 10})
		}},
		{"null for what a health monitor must have is refused with 400", func(c *try) {
			tcp(c, 400, object{"delay": nil}, object{"timeout": nil}, object{"max_retries": nil}, object{"type": nil})
		}},
		{"a health monitor of TCP takes no attributes of HTTP but version and domain", func(c *try) {
			tcp(c, 400, object{"http_method": "GET"}, object{"url_path": "/"}, object{"expected_codes": "200"})
			tcp(c, 409, object{"http_version": 1.1, "domain_name": "example.org"})
		}},
		{"HTTP methods are those of the standard, in upper case", func(c *try) {
			for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "OPTIONS", "CONNECT", "PATCH"} {
				http(c, 409, object{"http_method": method})
			}
			http(c, 400, object{"http_method": "get"}, object{"http_method": "FETCH"})
		}},
		{"a URL path begins with a slash and has neither a host nor blanks", func(c *try) {
			http(c, 409, object{"url_path": "/healthz?deep=1"}, object{"url_path": "/a%20b#c"})
			http(c, 400, object{"url_path": "healthz"}, object{"url_path": "http://example.org/"}, object{"url_path": "//example.org/"}, object{"url_path": "/a b"}, object{"url_path": ""})
		}},
		{"expected codes are one, a list or a range", func(c *try) {
			http(c, 409, object{"expected_codes": "200"}, object{"expected_codes": "200,202, 204"}, object{"expected_codes": "200-299"}, object{"expected_codes": "999"})
			http(c, 400, object{"expected_codes": "200-299,301"}, object{"expected_codes": "20"}, object{"expected_codes": "ok"}, object{"expected_codes": ""}, object{"expected_codes": 200})
		}},
		{"a domain name needs HTTP version 1.1", func(c *try) {
			http(c, 400, object{"domain_name": "example.org"}, object{"domain_name": "example.org", "http_version": 1.0}, object{"http_version": 2}, object{"http_version": "new"})
			http(c, 409, object{"domain_name": "example.org", "http_version": 1.1}, object{"http_version": 1.0}, object{"http_version": "1.1"})
		}},
		{"a domain name is checked", func(c *try) {
			for _, good := range []string{"a", "example.org.", "xn--bcher-kva.example", "_sip.example", "1.2.3.4", strings.Repeat("a", 63) + ".example"} {
				http(c, 409, object{"domain_name": good, "http_version": 1.1})
			}
			for _, bad := range []string{"", "-a.example", "a-.example", "a..example", "a b", "a_b.example", strings.Repeat("a", 64) + ".example", "a.b_c.example"} {
				http(c, 400, object{"domain_name": bad, "http_version": 1.1})
			}
		}},
		{"texts that are too long, tags that come twice and unknown attributes of a health monitor are refused", func(c *try) {
			tcp(c, 400, object{"name": strings.Repeat("n", 256)}, object{"description": "new"}, object{"port": 80}, object{"loadbalancer_id": tree.lb})
			c.refuse(409, "POST", "/healthmonitors", "healthmonitor", tree.monitorOf("TCP", object{"tags": list{"a", "a"}}))
		}},
	}
}

func monitorChanges(tree parts) []statement {
	put := func(c *try, pool string, change object) answer {
		c.Helper()
		path := c.monitor(tree, pool)
		c.change(tree.lb, "PUT", path, object{"healthmonitor": change}, 200)
		return c.as(k8s).lb("GET", path, nil).is(200)
	}
	return []statement{
		{"an update of a health monitor changes what it names", func(c *try) {
			a := put(c, "HTTP", object{"delay": 9, "timeout": 12, "max_retries": 1, "max_retries_down": 1, "url_path": "/healthz", "expected_codes": "204", "http_method": "HEAD",
				"http_version": 1.1, "domain_name": "example.org", "name": "renamed", "admin_state_up": false, "tags": list{"z"}})
			c.must(a.at("healthmonitor.delay") == 9.0 && a.text("healthmonitor.url_path") == "/healthz" && a.at("healthmonitor.http_version") == 1.1, "not changed: %s", a.Text)
		}},
		{"null in an update of a health monitor stands for the default", func(c *try) {
			a := put(c, "HTTP", object{"max_retries_down": nil, "url_path": nil, "expected_codes": nil, "http_method": nil, "name": nil})
			c.must(a.at("healthmonitor.max_retries_down") == 3.0 && a.text("healthmonitor.url_path") == "/" && a.text("healthmonitor.expected_codes") == "200", "no defaults in %s", a.Text)
		}},
		{"type and pool of a health monitor cannot be changed, and what it must have cannot be null", func(c *try) {
			c.refuse(400, "PUT", c.monitor(tree, "TCP"), "healthmonitor",
				object{"type": "HTTP"}, object{"pool_id": tree.pools["free"]}, object{"delay": nil}, object{"timeout": nil}, object{"max_retries": nil},
				object{"max_retries": 11}, object{"delay": -1}, object{"http_method": "GET"}, object{"url_path": nil}, object{"domain_name": "example.org"})
			c.refuse(400, "PUT", c.monitor(tree, "HTTP"), "healthmonitor", object{"http_version": 1.0})
		}},
		{"an update of a UDP pool's UDP-CONNECT monitor must name the delay: without it fails with 500", until(release2022, func(c *try) {
			c.refuse(500, "PUT", c.monitor(tree, "UDP"), "healthmonitor", object{"timeout": 4})
			c.refuse(400, "PUT", c.monitor(tree, "UDP"), "healthmonitor", object{"delay": 2})
			a := put(c, "UDP", object{"delay": 10, "timeout": 4})
			c.must(a.at("healthmonitor.delay") == 10.0 && a.at("healthmonitor.timeout") == 4.0, "not changed: %s", a.Text)
		})},
		{"an update of a UDP pool's UDP-CONNECT monitor need not name the delay", since(release2025, func(c *try) {
			a := put(c, "UDP", object{"timeout": 4})
			c.must(a.at("healthmonitor.timeout") == 4.0, "not changed: %s", a.Text)
		})},
		{"a health monitor is deleted with 204, and its pool has no key healthmonitor_id any more", func(c *try) {
			path := c.monitor(tree, "SCTP")
			c.during(tree.lb, func() { c.as(k8s).lb("DELETE", path, nil).is(204) }, func() {
				c.must(c.status(path, "healthmonitor") == "PENDING_DELETE", "it is not PENDING_DELETE")
			})
			c.as(k8s).lb("GET", path, nil).is(404)
			a := c.as(k8s).lb("GET", "/pools/"+tree.pools["SCTP"], nil).is(200)
			_, has := a.at("pool").(object)["healthmonitor_id"]
			c.must(!has, "there is one in %s", a.Text)
		}},
	}
}

func monitorLists(tree parts) []statement {
	return []statement{
		{"health monitors cannot be listed by load balancer: 400", func(c *try) {
			c.as(k8s).lb("GET", "/healthmonitors?loadbalancer_id="+tree.lb, nil).is(400)
			c.as(k8s).lb("GET", "/healthmonitors?colour=red", nil).is(400)
		}},
		{"health monitors are listed by pool, name, type and tags", func(c *try) {
			a := c.as(k8s).lb("GET", "/healthmonitors?pool_id="+tree.pools["TCP"], nil).is(200)
			c.must(len(a.list("healthmonitors")) == 1, "there are %s", a.Text)
			a = c.as(k8s).lb("GET", "/healthmonitors?pool_id="+tree.pools["TCP"]+"&type=PING", nil).is(200)
			c.must(len(a.list("healthmonitors")) == 0, "there are %s", a.Text)
			a = c.as(k8s).lb("GET", "/healthmonitors?pool_id="+tree.pools["TCP"]+"&tags=x,y&name=TCP&fields=id&fields=pools", nil).is(200)
			c.must(a.text("healthmonitors.0.pools.0.id") == tree.pools["TCP"], "there are %s", a.Text)
		}},
	}
}
