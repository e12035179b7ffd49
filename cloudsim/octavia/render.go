// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"maps"
	"slices"

	"github.com/google/uuid"
)

// The renderers write the members of one resource. full is the form of the
// answer to a fully populated create, where children are nested and parents
// are left out. Members that belong to a later API version than the one
// simulated are left out.

func renderLoadBalancer(d *document, lb *loadBalancer, full bool) {
	if full {
		d.list("listeners", len(lb.listeners), func(i int) { renderListener(d, lb.listeners[i], true) })
		d.list("pools", len(lb.pools), func(i int) { renderPool(d, lb.pools[i], true) })
	} else {
		d.refs("listeners", len(lb.listeners), func(i int) uuid.UUID { return lb.listeners[i].id })
		d.refs("pools", len(lb.pools), func(i int) uuid.UUID { return lb.pools[i].id })
	}
	renderCommon(d, &lb.object, lb.name, lb.project, lb.adminUp)
	d.text("description", lb.description)
	d.text("vip_address", lb.address)
	d.text("vip_port_id", lb.port)
	d.text("vip_subnet_id", lb.subnet)
	d.optional("vip_network_id", lb.network)
	d.raw("vip_qos_policy_id", "null")
	d.text("provider", lb.provider)
	if d.since(5) {
		d.texts("tags", lb.tags)
	}
	if d.since(6) {
		d.optional("flavor_id", lb.flavor)
	}
	if d.since(14) {
		d.optional("availability_zone", lb.zone)
	}
	if d.since(26) {
		d.list("additional_vips", len(lb.additional), func(i int) {
			d.text("subnet_id", lb.additional[i].subnet)
			d.optional("ip_address", lb.additional[i].address)
		})
	}
}

// renderCommon writes what all resources of a tree have.
func renderCommon(d *document, o *object, name, project string, adminUp bool) {
	d.text("name", name)
	renderUnnamed(d, o, project, adminUp)
}

func renderUnnamed(d *document, o *object, project string, adminUp bool) {
	d.id("id", o.id)
	d.text("provisioning_status", o.prov.String())
	d.text("operating_status", o.oper.String())
	d.flag("admin_state_up", adminUp)
	d.text("project_id", project)
	d.text("tenant_id", project)
	d.time("created_at", o.created)
	d.time("updated_at", o.updated)
}

func renderListener(d *document, l *listener, full bool) {
	renderCommon(d, &l.object, l.name, l.lb.project, l.adminUp)
	d.text("description", l.description)
	if !full {
		d.refs("loadbalancers", 1, func(int) uuid.UUID { return l.lb.id })
	}
	d.text("protocol", l.protocol)
	d.number("protocol_port", l.port)
	d.number("connection_limit", l.limit)
	if l.pool != nil {
		d.id("default_pool_id", l.pool.id)
	} else {
		d.raw("default_pool_id", "null")
	}
	if full {
		d.list("l7policies", len(l.policies), func(i int) { renderPolicy(d, l.policies[i], true) })
	} else {
		d.refs("l7policies", len(l.policies), func(i int) uuid.UUID { return l.policies[i].id })
	}
	d.nested("insert_headers", func() {
		for _, name := range slices.Sorted(maps.Keys(l.headers)) {
			d.text(name, l.headers[name])
		}
	})
	if d.since(1) {
		d.number("timeout_client_data", l.timeouts.clientData)
		d.number("timeout_member_connect", l.timeouts.memberConnect)
		d.number("timeout_member_data", l.timeouts.memberData)
		d.number("timeout_tcp_inspect", l.timeouts.tcpInspect)
	}
	if d.since(5) {
		d.texts("tags", l.tags)
	}
	if d.since(12) {
		d.textsOrNull("allowed_cidrs", l.cidrs)
	}
	renderListenerTLS(d, l)
}

func renderListenerTLS(d *document, l *listener) {
	t := l.tls
	if t == nil {
		t = &listenerTLS{hstsMaxAge: -1}
	}
	d.optional("default_tls_container_ref", t.certificate)
	d.texts("sni_container_refs", t.sni)
	if d.since(8) {
		d.optional("client_ca_tls_container_ref", t.clientCA)
		d.text("client_authentication", cmp.Or(t.clientAuth, "NONE"))
		d.optional("client_crl_container_ref", t.crl)
	}
	if d.since(15) {
		d.optional("tls_ciphers", t.ciphers)
	}
	if d.since(17) {
		d.textsOrNull("tls_versions", t.versions)
	}
	if d.since(20) {
		d.textsOrNull("alpn_protocols", t.alpn)
	}
	if d.since(27) {
		d.flag("hsts_include_subdomains", t.hstsSubdomains)
		if t.hstsMaxAge < 0 {
			d.raw("hsts_max_age", "null")
		} else {
			d.number("hsts_max_age", t.hstsMaxAge)
		}
		d.flag("hsts_preload", t.hstsPreload)
	}
}

func renderPool(d *document, p *pool, full bool) {
	renderCommon(d, &p.object, p.name, p.lb.project, p.adminUp)
	d.text("description", p.description)
	d.text("protocol", p.protocol)
	d.text("lb_algorithm", p.algorithm)
	renderPoolPersistence(d, p)
	listeners := p.listeners()
	d.refs("listeners", len(listeners), func(i int) uuid.UUID { return listeners[i].id })
	if full {
		d.list("members", len(p.members), func(i int) { renderMember(d, p.members[i]) })
		d.raw("healthmonitor", "null") // the real service leaves it out as well, see GET
	} else {
		d.refs("loadbalancers", 1, func(int) uuid.UUID { return p.lb.id })
		d.refs("members", len(p.members), func(i int) uuid.UUID { return p.members[i].id })
		if p.monitor != nil {
			d.id("healthmonitor_id", p.monitor.id)
		}
	}
	if d.since(5) {
		d.texts("tags", p.tags)
	}
	renderPoolTLS(d, p)
}

func renderPoolPersistence(d *document, p *pool) {
	if p.persistence == nil {
		d.raw("session_persistence", "null")
		return
	}
	d.nested("session_persistence", func() {
		d.text("type", p.persistence.kind)
		d.optional("cookie_name", p.persistence.cookie)
		if p.persistence.timeout > 0 {
			d.number("persistence_timeout", p.persistence.timeout)
		} else {
			d.raw("persistence_timeout", "null")
		}
		d.optional("persistence_granularity", p.persistence.granularity)
	})
}

func renderPoolTLS(d *document, p *pool) {
	t := p.tls
	if t == nil {
		t = &poolTLS{}
	}
	if d.since(8) {
		d.optional("tls_container_ref", t.certificate)
		d.optional("ca_tls_container_ref", t.ca)
		d.optional("crl_container_ref", t.crl)
		d.flag("tls_enabled", t.enabled)
	}
	if d.since(15) {
		d.optional("tls_ciphers", t.ciphers)
	}
	if d.since(18) {
		d.textsOrNull("tls_versions", t.versions)
	}
	if d.since(24) {
		d.textsOrNull("alpn_protocols", t.alpn)
	}
}

func renderMember(d *document, m *member) {
	renderCommon(d, &m.object, m.name.Value(), m.pool.lb.project, m.adminUp)
	d.text("address", m.address.Value())
	d.number("protocol_port", int(m.port))
	d.number("weight", int(m.weight))
	if d.since(1) {
		d.flag("backup", m.backup)
	}
	d.optional("subnet_id", m.subnet.Value())
	d.optional("monitor_address", m.monitorAddress.Value())
	if m.monitorPort > 0 {
		d.number("monitor_port", int(m.monitorPort))
	} else {
		d.raw("monitor_port", "null")
	}
	if d.since(5) {
		d.texts("tags", m.tags)
	}
}

func renderMonitor(d *document, m *monitor) {
	renderCommon(d, &m.object, m.name, m.pool.lb.project, m.adminUp)
	d.text("type", m.kind)
	d.number("delay", m.delay)
	d.number("timeout", m.timeout)
	d.number("max_retries", m.retries)
	d.number("max_retries_down", m.retriesDown)
	d.optional("http_method", m.method)
	d.optional("url_path", m.path)
	d.optional("expected_codes", m.codes)
	d.refs("pools", 1, func(int) uuid.UUID { return m.pool.id })
	if d.since(5) {
		d.texts("tags", m.tags)
	}
	if d.since(10) {
		if m.version == "" {
			d.raw("http_version", "null")
		} else {
			d.raw("http_version", m.version)
		}
		d.optional("domain_name", m.domain)
	}
}

func renderPolicy(d *document, policy *l7policy, full bool) {
	lb := policy.listener.lb
	renderCommon(d, &policy.object, policy.name, lb.project, policy.adminUp)
	d.text("description", policy.description)
	d.text("action", policy.action)
	d.id("listener_id", policy.listener.id)
	if policy.pool != nil {
		d.id("redirect_pool_id", policy.pool.id)
	} else {
		d.raw("redirect_pool_id", "null")
	}
	d.optional("redirect_url", policy.url)
	d.optional("redirect_prefix", policy.prefix)
	d.number("position", policy.position())
	if full {
		d.list("rules", len(policy.rules), func(i int) { renderRule(d, policy.rules[i]) })
	} else {
		d.refs("rules", len(policy.rules), func(i int) uuid.UUID { return policy.rules[i].id })
	}
	if d.since(5) {
		d.texts("tags", policy.tags)
	}
	if d.since(9) {
		if policy.code > 0 {
			d.number("redirect_http_code", policy.code)
		} else {
			d.raw("redirect_http_code", "null")
		}
	}
}

func renderRule(d *document, rule *l7rule) {
	renderUnnamed(d, &rule.object, rule.policy.listener.lb.project, rule.adminUp)
	d.text("type", rule.kind)
	d.text("compare_type", rule.compare)
	d.optional("key", rule.key)
	d.text("value", rule.value)
	d.flag("invert", rule.invert)
	if d.since(5) {
		d.texts("tags", rule.tags)
	}
}

// renderStatus writes the status tree. Pools that no listener uses are not in
// it.
func renderLoadBalancerStatus(d *document, lb *loadBalancer) {
	renderState(d, &lb.object, lb.name)
	d.list("listeners", len(lb.listeners), func(i int) {
		l := lb.listeners[i]
		renderState(d, &l.object, l.name)
		pools := l.pools()
		d.list("pools", len(pools), func(i int) { renderPoolStatus(d, pools[i]) })
	})
}

func renderPoolStatus(d *document, p *pool) {
	renderState(d, &p.object, p.name)
	if m := p.monitor; m != nil {
		d.nested("health_monitor", func() {
			renderState(d, &m.object, m.name)
			d.text("type", m.kind)
		})
	}
	d.list("members", len(p.members), func(i int) {
		m := p.members[i]
		renderState(d, &m.object, m.name.Value())
		d.text("address", m.address.Value())
		d.number("protocol_port", int(m.port))
	})
}

func renderState(d *document, o *object, name string) {
	d.id("id", o.id)
	d.text("name", name)
	d.text("operating_status", o.oper.String())
	d.text("provisioning_status", o.prov.String())
}

// newLoadBalancerDocument writes the answer to a create, with all children.
func newLoadBalancerDocument(d *document, lb *loadBalancer) []byte {
	return d.one("loadbalancer", func(d *document) { renderLoadBalancer(d, lb, true) })
}

// statusTree writes the status of a load balancer and of all its children.
func statusTree(d *document, lb *loadBalancer) []byte {
	return d.one("statuses", func(d *document) {
		d.nested("loadbalancer", func() { renderLoadBalancerStatus(d, lb) })
	})
}

// stats writes zeros: nothing counts the traffic.
func stats(d *document) []byte {
	return d.one("stats", func(d *document) {
		for _, name := range []string{"bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"} {
			d.number(name, 0)
		}
	})
}
