// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

func TestListeners(t *testing.T) {
	t.Parallel()
	lbs := newNursery(t)
	pool := func(name, protocol string) object {
		return object{"name": name, "protocol": protocol, "lb_algorithm": "ROUND_ROBIN"}
	}
	ids := lbs.make(t, object{
		"listeners": list{
			object{"name": "tcp", "protocol": "TCP", "protocol_port": 80},
			object{"name": "http", "protocol": "HTTP", "protocol_port": 81, "default_pool": object{"name": "http"}},
			object{"name": "https", "protocol": "HTTPS", "protocol_port": 82, "default_pool": object{"name": "tcp"}},
			object{"name": "udp", "protocol": "UDP", "protocol_port": 83, "default_pool": object{"name": "udp"}},
			object{"name": "sctp", "protocol": "SCTP", "protocol_port": 84},
			object{"name": "prometheus", "protocol": "PROMETHEUS", "protocol_port": 85},
		},
		"pools": list{pool("tcp", "TCP"), pool("http", "HTTP"), pool("udp", "UDP")},
	}, object{"pools": list{pool("elsewhere", "TCP")}})
	id := ids[0]
	setup := &try{T: t, cloud: theCloud}
	listeners, pools, elsewhere := setup.byName("listeners", id), setup.byName("pools", id), setup.byName("pools", ids[1])["elsewhere"]

	// addAs creates a listener of protocol TCP on port 90, changed by wish; add does so as user
	// k8s.
	addAs := func(c *try, u caller, wish object) answer {
		c.Helper()
		return u.lb("POST", "/listeners", object{"listener": with(object{"loadbalancer_id": id, "protocol": "TCP", "protocol_port": 90}, wish)})
	}
	add := func(c *try, wish object) answer {
		c.Helper()
		return addAs(c, c.as(k8s), wish)
	}
	refused := func(c *try, status int, wishes ...object) {
		c.Helper()
		for _, wish := range wishes {
			add(c, wish).is(status)
		}
	}
	update := func(c *try, name string, change object) answer {
		c.Helper()
		return c.as(k8s).lb("PUT", "/listeners/"+listeners[name], object{"listener": change})
	}
	changed := func(c *try, name string, change object) answer {
		c.Helper()
		c.active(id)
		return update(c, name, change).is(200)
	}
	show := func(c *try, name string) answer {
		c.Helper()
		return c.as(k8s).lb("GET", "/listeners/"+listeners[name], nil).is(200)
	}
	added := ""

	state(t, []statement{
		{"a listener has no limit of connections, no source ranges and timeouts of 50, 5, 50 and 0 seconds unless it says otherwise", func(c *try) {
			a := show(c, "tcp")
			c.must(a.at("listener.connection_limit") == -1.0 && a.at("listener.allowed_cidrs") == nil, "it has %s", a.Text)
			c.must(a.at("listener.timeout_client_data") == 50000.0 && a.at("listener.timeout_member_connect") == 5000.0, "it has %s", a.Text)
			c.must(a.at("listener.timeout_member_data") == 50000.0 && a.at("listener.timeout_tcp_inspect") == 0.0, "it has %s", a.Text)
		}},
		{"listeners of every protocol are alike in what they show", func(c *try) {
			for _, name := range []string{"http", "https", "udp", "sctp", "prometheus"} {
				show(c, name)
			}
		}},
		{"a listener that is not there is answered 404, and so is one on a load balancer that is not there", func(c *try) {
			c.as(k8s).lb("GET", "/listeners/"+unknown, nil).is(404)
			c.as(k8s).lb("PUT", "/listeners/"+unknown, object{"listener": object{}}).is(404)
			c.as(k8s).lb("DELETE", "/listeners/"+unknown, nil).is(404)
			c.as(k8s).lb("GET", "/listeners/"+unknown+"/stats", nil).is(404)
			refused(c, 404, object{"loadbalancer_id": unknown})
		}},
		{"another project's listener is refused with 403", func(c *try) {
			c.as(other).lb("GET", "/listeners/"+listeners["tcp"], nil).is(403)
			c.as(other).lb("PUT", "/listeners/"+listeners["tcp"], object{"listener": object{"name": "mine"}}).is(403)
			c.as(other).lb("DELETE", "/listeners/"+listeners["tcp"], nil).is(403)
		}},
		{"listeners are listed by load balancer, by name, protocol or port", func(c *try) {
			of := "/listeners?loadbalancer_id=" + id
			for query, wanted := range map[string]string{"&name=udp": "udp", "&protocol=SCTP": "sctp", "&protocol_port=82": "https", "&default_pool_id=" + pools["http"]: "http"} {
				a := c.quietly(k8s).lb("GET", of+query, nil).is(200)
				c.must(same(a.texts("listeners", "name"), []string{wanted}), "%s lists %s", query, a.Text)
			}
			a := c.as(k8s).lb("GET", of+"&fields=id&fields=name&fields=provisioning_status", nil).is(200)
			c.must(len(a.list("listeners")) == 6, "it has %s", a.Text)
			c.as(k8s).lb("GET", of+"&colour=red", nil).is(400)
		}},
		{"the statistics of a listener without traffic are zeros", func(c *try) {
			c.as(k8s).lb("GET", "/listeners/"+listeners["tcp"]+"/stats", nil).is(200)
		}},

		{"a port that a listener of TCP, HTTP or HTTPS has is refused to all of these with 409, which names the protocol that has it", func(c *try) {
			refused(c, 409, object{"protocol_port": 80}, object{"protocol": "HTTP", "protocol_port": 80}, object{"protocol": "HTTPS", "protocol_port": 81},
				object{"protocol_port": 82}, object{"protocol": "PROMETHEUS", "protocol_port": 81}, object{"protocol_port": 85})
		}},
		{"a port that a listener of UDP or SCTP has is refused to the same protocol with 409", func(c *try) {
			refused(c, 409, object{"protocol": "UDP", "protocol_port": 83}, object{"protocol": "SCTP", "protocol_port": 84})
		}},
		{"ports are from 1 to 65535", func(c *try) {
			refused(c, 400, object{"protocol_port": 0}, object{"protocol_port": 65536}, object{"protocol_port": -1}, object{"protocol_port": "http"}, object{"protocol_port": missing})
		}},
		{"a protocol that there is not is refused with the list of those that there are", func(c *try) {
			refused(c, 400, object{"protocol": "QUIC"}, object{"protocol": "tcp"}, object{"protocol": missing})
		}},
		{"timeouts are from 0 to 24 days", func(c *try) {
			refused(c, 400, object{"timeout_client_data": -1}, object{"timeout_member_connect": 24*24*3600*1000 + 1}, object{"timeout_member_data": "soon"}, object{"timeout_tcp_inspect": -1})
		}},
		{"a limit of connections is at least -1", func(c *try) {
			refused(c, 400, object{"connection_limit": -2}, object{"connection_limit": "many"})
		}},
		{"source ranges must be CIDRs of the VIP's family", func(c *try) {
			refused(c, 400, object{"allowed_cidrs": list{"2001:db8::/32"}}, object{"allowed_cidrs": list{"10.0.0.0/8", "::/0"}}, object{"allowed_cidrs": list{"10.0.0.0/33"}},
				object{"allowed_cidrs": list{"everybody"}}, object{"allowed_cidrs": "10.0.0.0/8"})
		}},
		{"headers to insert are X-Forwarded-For, -Port and -Proto, and only with HTTP; those about TLS need it", func(c *try) {
			http := object{"protocol": "HTTP"}
			refused(c, 400, object{"insert_headers": object{"X-Forwarded-For": "true"}},
				with(http, object{"insert_headers": object{"X-Real-Ip": "true"}}),
				with(http, object{"insert_headers": object{"X-SSL-Client-Verify": "true"}}),
				with(http, object{"insert_headers": object{"X-Forwarded-For": true}}),
				with(http, object{"insert_headers": list{"X-Forwarded-For"}}),
				object{"protocol": "UDP", "insert_headers": object{"X-Forwarded-For": "true"}})
		}},
		{"a default pool must be one of the same load balancer: 404", func(c *try) {
			refused(c, 404, object{"default_pool_id": unknown}, object{"default_pool_id": elsewhere})
			update(c, "tcp", object{"default_pool_id": elsewhere}).is(404)
		}},
		{"a default pool must fit the listener's protocol", func(c *try) {
			refused(c, 400, object{"default_pool_id": pools["udp"]}, object{"protocol": "HTTP", "default_pool_id": pools["tcp"]}, object{"protocol": "UDP", "default_pool_id": pools["http"]},
				object{"protocol": "PROMETHEUS", "default_pool_id": pools["http"]})
			update(c, "udp", object{"default_pool_id": pools["tcp"]}).is(400)
			update(c, "prometheus", object{"default_pool_id": pools["http"]}).is(400)
		}},
		{"a listener with a default pool to be made with it is refused with 500", func(c *try) {
			refused(c, 500, object{"default_pool": pool("nested", "TCP")})
		}},
		{"tags or names that are too long, and attributes that there are not, are refused", func(c *try) {
			refused(c, 400, object{"name": strings.Repeat("x", 256)}, object{"tags": list{strings.Repeat("x", 256)}}, object{"colour": "red"}, object{"provisioning_status": "ACTIVE"})
		}},
		{"a load balancer is not locked by what was refused", func(c *try) {
			c.must(c.status("/loadbalancers/"+id, "loadbalancer") == "ACTIVE", "it is locked")
		}},

		{"a new listener is PENDING_CREATE in the answer and ACTIVE with its load balancer; TCP may share a port with UDP", except(release2025, func(c *try) {
			c.active(id)
			a := add(c, object{"name": "new", "protocol_port": 83, "default_pool_id": pools["tcp"], "allowed_cidrs": list{"192.0.2.7/24", "198.51.100.1", "192.0.2.0/24"}, "connection_limit": 0, "timeout_client_data": 0, "tags": list{"red"}}).is(201)
			added = a.text("listener.id")
			listeners["new"] = added
			c.must(a.text("listener.provisioning_status") == "PENDING_CREATE", "it is %s", a.Text)
			c.active(id)
			c.listenerActive(added)
			a = show(c, "new")
			c.must(a.text("listener.default_pool_id") == pools["tcp"], "it is %s", a.Text)
		})},
		{"a new listener with a default pool whose port another transport has may be answered with 500, and gets the pool by an update", since(release2025, until(release2025, func(c *try) {
			c.active(id)
			wish := object{"name": "new", "protocol_port": 83, "allowed_cidrs": list{"192.0.2.7/24", "198.51.100.1", "192.0.2.0/24"}, "connection_limit": 0, "timeout_client_data": 0, "tags": list{"red"}}
			// Octavia 16 follows a reference that it has not loaded. Mostly that fails, but not if an object of an earlier
			// request is still in memory.
			tried := addAs(c, c.quietly(k8s), with(wish, object{"default_pool_id": pools["tcp"]}))
			c.must(tried.Status == 500 || tried.Status == 201, "it is answered %d: %s", tried.Status, tried.Text)
			c.active(id)
			if tried.Status == 201 {
				c.quietChange(id, "DELETE", "/listeners/"+tried.text("listener.id"), nil, 204)
			}
			a := add(c, wish).is(201)
			added = a.text("listener.id")
			listeners["new"] = added
			c.must(a.text("listener.provisioning_status") == "PENDING_CREATE", "it is %s", a.Text)
			c.active(id)
			c.listenerActive(added)
			changed(c, "new", object{"default_pool_id": pools["tcp"]})
			a = show(c, "new")
			c.must(a.text("listener.default_pool_id") == pools["tcp"], "it is %s", a.Text)
		}))},
		{"source ranges lose the bits of hosts; what then comes twice is kept once; addresses become ranges of one", func(c *try) {
			a := show(c, "new")
			c.must(same(texts(a.list("listener.allowed_cidrs")), []string{"192.0.2.0/24", "198.51.100.1/32"}), "it has %v", a.at("listener.allowed_cidrs"))
		}},
		{"a limit of zero connections is kept, and so is a timeout of zero", func(c *try) {
			a := show(c, "new")
			c.must(a.at("listener.connection_limit") == 0.0 && a.at("listener.timeout_client_data") == 0.0, "it is %s", a.Text)
		}},
		{"a pool may serve several listeners and names them all", func(c *try) {
			changed(c, "tcp", object{"default_pool_id": pools["tcp"]})
			p := c.as(k8s).lb("GET", "/pools/"+pools["tcp"], nil).is(200)
			c.must(same(p.texts("pool.listeners", "id"), []string{listeners["tcp"], listeners["https"], added}), "it has %s", p.Text)
		}},
		{"an update answers with the new values and PENDING_UPDATE", func(c *try) {
			c.active(id)
			c.during(id, func() {
				a := update(c, "tcp", object{"name": "tcp2", "description": "changed", "tags": list{"blue"}, "connection_limit": 7, "timeout_member_data": 1000, "admin_state_up": false}).is(200)
				c.must(a.at("listener.connection_limit") == 7.0 && a.text("listener.name") == "tcp2", "it is %s", a.Text)
				c.must(a.text("listener.provisioning_status") == "PENDING_UPDATE", "it is %s", a.Text)
			}, func() {})
		}},
		{"limit and timeouts of null become the defaults, default pool and source ranges of null none", func(c *try) {
			changed(c, "new", object{"connection_limit": nil, "timeout_client_data": nil, "default_pool_id": nil, "allowed_cidrs": nil})
			a := show(c, "new")
			c.must(a.at("listener.connection_limit") == -1.0 && a.at("listener.timeout_client_data") == 50000.0, "it is %s", a.Text)
			c.must(a.at("listener.default_pool_id") == nil && a.at("listener.allowed_cidrs") == nil, "it is %s", a.Text)
		}},
		{"source ranges are replaced as a whole; an empty list lets everybody in", func(c *try) {
			changed(c, "new", object{"allowed_cidrs": list{"192.0.2.0/24", "198.51.100.0/24"}})
			changed(c, "new", object{"allowed_cidrs": list{"203.0.113.0/24"}})
			a := show(c, "new")
			c.must(same(texts(a.list("listener.allowed_cidrs")), []string{"203.0.113.0/24"}), "it has %v", a.at("listener.allowed_cidrs"))
			changed(c, "new", object{"allowed_cidrs": list{}})
			a = show(c, "new")
			c.must(a.at("listener.allowed_cidrs") == nil, "it has %v", a.at("listener.allowed_cidrs"))
		}},
		{"a tag given twice to a new listener is refused with a text about its port: 409", func(c *try) {
			c.active(id)
			refused(c, 409, object{"protocol_port": 91, "tags": list{"a", "a"}})
		}},
		{"a PROMETHEUS listener has source ranges, which change, and neither a pool nor headers to insert", func(c *try) {
			c.active(id)
			q := c.as(k8s)
			metrics := object{"loadbalancer_id": id, "protocol": "PROMETHEUS", "protocol_port": 93, "connection_limit": -1, "allowed_cidrs": list{"192.0.2.0/24"}, "tags": list{"a"}}
			q.lb("POST", "/listeners", object{"listener": with(metrics, object{"insert_headers": object{"X-Forwarded-For": "true"}})}).is(400)
			q.lb("POST", "/listeners", object{"listener": with(metrics, object{"default_pool_id": pools["http"]})}).is(400)
			metricsID := q.lb("POST", "/listeners", object{"listener": metrics}).is(201).text("listener.id")
			path := "/listeners/" + metricsID
			c.active(id)
			q.lb("PUT", path, object{"listener": object{"allowed_cidrs": list{"198.51.100.0/24"}, "tags": list{"b"}}}).is(200)
			c.active(id)
			c.listenerActive(metricsID)
			a := q.lb("GET", path, nil).is(200)
			c.must(a.at("listener.default_pool_id") == nil, "it is %s", a.Text)
			c.must(same(texts(a.list("listener.allowed_cidrs")), []string{"198.51.100.0/24"}) && same(texts(a.list("listener.tags")), []string{"b"}), "it is %s", a.Text)
			q.lb("PUT", path, object{"listener": object{"default_pool_id": pools["http"]}}).is(400)
			q.lb("PUT", path, object{"listener": object{"insert_headers": object{"X-Forwarded-For": "true"}}}).is(400)
			q.lb("DELETE", path, nil).is(204)
			c.active(id)
		}},
		{"headers to insert are replaced as a whole", func(c *try) {
			a := changed(c, "http", object{"insert_headers": object{"X-Forwarded-For": "true", "X-Forwarded-Port": "false"}})
			c.must(same(a.keys("listener.insert_headers"), []string{"X-Forwarded-For", "X-Forwarded-Port"}), "it is %s", a.Text)
			a = changed(c, "http", object{"insert_headers": object{"X-Forwarded-Proto": "true"}})
			c.must(same(a.keys("listener.insert_headers"), []string{"X-Forwarded-Proto"}), "it is %s", a.Text)
		}},
		{"an update is checked as a create is", func(c *try) {
			c.active(id)
			for _, bad := range []object{{"connection_limit": -2}, {"timeout_client_data": -1}, {"allowed_cidrs": list{"2001:db8::/32"}}, {"insert_headers": object{"X-Forwarded-For": "true"}},
				{"default_tls_container_ref": "http://127.0.0.1/v1/secrets/x"}, {"name": strings.Repeat("x", 256)}} {
				update(c, "tcp", bad).is(400)
			}
			update(c, "udp", object{"insert_headers": object{"X-Forwarded-For": "true"}}).is(400)
		}},
		{"protocol, port and load balancer cannot be changed: 400", func(c *try) {
			for _, bad := range []object{{"protocol": "HTTP"}, {"protocol_port": 99}, {"loadbalancer_id": ids[1]}, {"default_pool": pool("p", "TCP")}, {"project_id": c.cloud.Projects[k8s]}} {
				update(c, "tcp", bad).is(400)
			}
		}},
		{"a listener that is deleted is PENDING_DELETE, then gone, and leaves its pool", func(c *try) {
			c.active(id)
			c.during(id, func() { c.as(k8s).lb("DELETE", "/listeners/"+listeners["tcp"], nil).is(204) }, func() {
				a := c.as(k8s).lb("GET", "/listeners/"+listeners["tcp"], nil).is(200)
				c.must(a.text("listener.provisioning_status") == "PENDING_DELETE", "it is %s", a.Text)
			})
			c.as(k8s).lb("GET", "/listeners/"+listeners["tcp"], nil).is(404)
			c.as(k8s).lb("DELETE", "/listeners/"+listeners["tcp"], nil).is(404)
			p := c.as(k8s).lb("GET", "/pools/"+pools["tcp"], nil).is(200)
			c.must(same(p.texts("pool.listeners", "id"), []string{listeners["https"]}), "the pool is %s", p.Text)
		}},
	})
}
