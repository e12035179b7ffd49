// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// The renderers write the fields of one resource. full is the form of the answer to a fully
// populated create, in which children are nested and parents are omitted. Fields of later API
// versions than the simulated one are omitted.

func renderLoadBalancer(d *Document, lb *model.LoadBalancer, full bool) {
	if full {
		d.list("listeners", len(lb.Listeners), func(i int) { renderListener(d, lb.Listeners[i], true) })
		d.list("pools", len(lb.Pools), func(i int) { renderPool(d, lb.Pools[i], true) })
	} else {
		d.refs("listeners", len(lb.Listeners), func(i int) uuid.UUID { return lb.Listeners[i].ID })
		d.refs("pools", len(lb.Pools), func(i int) uuid.UUID { return lb.Pools[i].ID })
	}
	renderCommon(d, lb, lb.Name, lb.AdminUp)
	d.text("description", lb.Description)
	d.text("vip_address", lb.Address)
	d.text("vip_port_id", lb.Port)
	d.text("vip_subnet_id", lb.Subnet)
	d.optional("vip_network_id", lb.Network)
	d.raw("vip_qos_policy_id", "null")
	d.text("provider", lb.Provider)
	if d.since(5) {
		d.texts("tags", lb.Tags)
	}
	if d.since(6) {
		d.optional("flavor_id", lb.Flavor)
	}
	if d.since(14) {
		d.optional("availability_zone", lb.Zone)
	}
	if d.since(26) {
		d.list("additional_vips", len(lb.Additional), func(i int) {
			d.text("subnet_id", lb.Additional[i].Subnet)
			d.optional("ip_address", lb.Additional[i].Address)
			if d.release >= release.Newest {
				d.text("port_id", lb.Port)
			}
		})
	}
	if d.since(28) {
		d.text("vip_vnic_type", vnicType(lb.VIPIsDirect))
	}
	if d.since(29) {
		d.texts("vip_sg_ids", lb.VIPGroups)
	}
}

// inOrderOfDatabase sorts source ranges like the MariaDB of 2025.1 or newer, in which colons precede digits. Octavia
// guarantees no order.
func inOrderOfDatabase(cidrs []string) []string {
	return slices.SortedFunc(slices.Values(cidrs), func(a, b string) int {
		return cmp.Compare(strings.ReplaceAll(a, ":", " "), strings.ReplaceAll(b, ":", " "))
	})
}

// renderCommon writes the fields of all resources of a tree.
func renderCommon(d *Document, p model.Part, name string, adminUp bool) {
	d.text("name", name)
	renderUnnamed(d, p, adminUp)
}

func renderUnnamed(d *Document, p model.Part, adminUp bool) {
	o, project := p.Base(), p.Tree().Project
	d.id("id", o.ID)
	d.text("provisioning_status", o.Provisioning.String())
	d.text("operating_status", o.Operating.String())
	d.flag("admin_state_up", adminUp)
	d.text("project_id", project)
	d.text("tenant_id", project)
	d.time("created_at", o.Created)
	d.time("updated_at", o.Updated)
}

func renderListener(d *Document, l *model.Listener, full bool) {
	renderCommon(d, l, l.Name, l.AdminUp)
	d.text("description", l.Description)
	if !full {
		d.refs("loadbalancers", 1, func(int) uuid.UUID { return l.LB.ID })
	}
	d.text("protocol", l.Protocol)
	d.number("protocol_port", l.Port)
	d.number("connection_limit", l.Limit)
	if l.Pool != nil {
		d.id("default_pool_id", l.Pool.ID)
	} else {
		d.raw("default_pool_id", "null")
	}
	if full {
		d.list("l7policies", len(l.Policies), func(i int) { renderPolicy(d, l.Policies[i], true) })
	} else {
		d.refs("l7policies", len(l.Policies), func(i int) uuid.UUID { return l.Policies[i].ID })
	}
	d.nested("insert_headers", func() {
		for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
			d.text(name, l.Headers[name])
		}
	})
	if d.since(1) {
		d.number("timeout_client_data", l.Timeouts.ClientData)
		d.number("timeout_member_connect", l.Timeouts.MemberConnect)
		d.number("timeout_member_data", l.Timeouts.MemberData)
		d.number("timeout_tcp_inspect", l.Timeouts.TCPInspect)
	}
	if d.since(5) {
		d.texts("tags", l.Tags)
	}
	if d.since(12) {
		d.textsOrNull("allowed_cidrs", inOrderOfDatabase(l.CIDRs))
	}
	renderListenerTLS(d, l)
}

func renderListenerTLS(d *Document, l *model.Listener) {
	t := l.TLS
	if t == nil {
		t = &model.ListenerTLS{HSTSMaxAge: -1}
	}
	d.optional("default_tls_container_ref", t.Certificate)
	d.texts("sni_container_refs", t.SNI)
	if d.since(8) {
		d.optional("client_ca_tls_container_ref", t.ClientCA)
		d.text("client_authentication", cmp.Or(t.ClientAuth, "NONE"))
		d.optional("client_crl_container_ref", t.CRL)
	}
	if d.since(15) {
		d.optional("tls_ciphers", t.Ciphers)
	}
	if d.since(17) {
		d.textsOrNull("tls_versions", t.Versions)
	}
	if d.since(20) {
		d.textsOrNull("alpn_protocols", t.ALPN)
	}
	if d.since(27) {
		d.flag("hsts_include_subdomains", t.HSTSSubdomains)
		if t.HSTSMaxAge < 0 {
			d.raw("hsts_max_age", "null")
		} else {
			d.number("hsts_max_age", t.HSTSMaxAge)
		}
		d.flag("hsts_preload", t.HSTSPreload)
	}
}

func renderPool(d *Document, p *model.Pool, full bool) {
	renderCommon(d, p, p.Name, p.AdminUp)
	d.text("description", p.Description)
	d.text("protocol", p.Protocol)
	d.text("lb_algorithm", p.Algorithm)
	renderPoolPersistence(d, p)
	listeners := p.Listeners()
	d.refs("listeners", len(listeners), func(i int) uuid.UUID { return listeners[i].ID })
	if full {
		d.list("members", len(p.Members), func(i int) { renderMember(d, p.Members[i]) })
		renderNestedMonitor(d, p.Monitor)
	} else {
		d.refs("loadbalancers", 1, func(int) uuid.UUID { return p.LB.ID })
		d.refs("members", len(p.Members), func(i int) uuid.UUID { return p.Members[i].ID })
		if p.Monitor != nil {
			d.id("healthmonitor_id", p.Monitor.ID)
		}
	}
	if d.since(5) {
		d.texts("tags", p.Tags)
	}
	renderPoolTLS(d, p)
}

// renderNestedMonitor writes the monitor of a pool in the answer to a fully populated create. Before 2025.1 the real
// service omits it, see GET.
func renderNestedMonitor(d *Document, m *model.Monitor) {
	if m == nil || d.release < release.Epoxy {
		d.raw("healthmonitor", "null")
		return
	}
	d.nested("healthmonitor", func() { renderMonitor(d, m, true) })
}

func renderPoolPersistence(d *Document, p *model.Pool) {
	if p.Persistence == nil {
		d.raw("session_persistence", "null")
		return
	}
	d.nested("session_persistence", func() {
		d.text("type", p.Persistence.Kind)
		d.optional("cookie_name", p.Persistence.Cookie)
		if p.Persistence.Timeout > 0 {
			d.number("persistence_timeout", p.Persistence.Timeout)
		} else {
			d.raw("persistence_timeout", "null")
		}
		d.optional("persistence_granularity", p.Persistence.Granularity)
	})
}

func renderPoolTLS(d *Document, p *model.Pool) {
	t := p.TLS
	if t == nil {
		t = &model.PoolTLS{}
	}
	if d.since(8) {
		d.optional("tls_container_ref", t.Certificate)
		d.optional("ca_tls_container_ref", t.CA)
		d.optional("crl_container_ref", t.CRL)
		d.flag("tls_enabled", t.Enabled)
	}
	if d.since(15) {
		d.optional("tls_ciphers", t.Ciphers)
	}
	if d.since(18) {
		d.textsOrNull("tls_versions", t.Versions)
	}
	if d.since(24) {
		d.textsOrNull("alpn_protocols", t.ALPN)
	}
}

func renderMember(d *Document, m *model.Member) {
	renderCommon(d, m, m.Name.Value(), m.AdminUp)
	d.text("address", m.Address.Value())
	d.number("protocol_port", int(m.Port))
	d.number("weight", int(m.Weight))
	if d.since(1) {
		d.flag("backup", m.Backup)
	}
	d.optional("subnet_id", m.Subnet.Value())
	d.optional("monitor_address", m.MonitorAddress.Value())
	if m.MonitorPort > 0 {
		d.number("monitor_port", int(m.MonitorPort))
	} else {
		d.raw("monitor_port", "null")
	}
	if d.since(5) {
		d.texts("tags", m.Tags)
	}
	if d.since(30) {
		d.text("vnic_type", vnicType(m.SRIOV))
	}
}

// vnicType returns the type of a port.
func vnicType(direct bool) string {
	if direct {
		return "direct"
	}
	return "normal"
}

func renderMonitor(d *Document, m *model.Monitor, full bool) {
	renderCommon(d, m, m.Name, m.AdminUp)
	d.text("type", m.Kind)
	d.number("delay", m.Delay)
	d.number("timeout", m.Timeout)
	d.number("max_retries", m.Retries)
	d.number("max_retries_down", m.RetriesDown)
	d.optional("http_method", m.Method)
	d.optional("url_path", m.Path)
	d.optional("expected_codes", m.Codes)
	if !full {
		d.refs("pools", 1, func(int) uuid.UUID { return m.Pool.ID })
	}
	if d.since(5) {
		d.texts("tags", m.Tags)
	}
	if d.since(10) {
		if m.Version == "" {
			d.raw("http_version", "null")
		} else {
			d.raw("http_version", m.Version)
		}
		d.optional("domain_name", m.Domain)
	}
}

func renderPolicy(d *Document, policy *model.L7Policy, full bool) {
	renderCommon(d, policy, policy.Name, policy.AdminUp)
	d.text("description", policy.Description)
	d.text("action", policy.Action)
	d.id("listener_id", policy.Listener.ID)
	if policy.Pool != nil {
		d.id("redirect_pool_id", policy.Pool.ID)
	} else {
		d.raw("redirect_pool_id", "null")
	}
	d.optional("redirect_url", policy.URL)
	d.optional("redirect_prefix", policy.Prefix)
	d.number("position", policy.Position())
	if full {
		d.list("rules", len(policy.Rules), func(i int) { renderRule(d, policy.Rules[i]) })
	} else {
		d.refs("rules", len(policy.Rules), func(i int) uuid.UUID { return policy.Rules[i].ID })
	}
	if d.since(5) {
		d.texts("tags", policy.Tags)
	}
	if d.since(9) {
		if policy.Code > 0 {
			d.number("redirect_http_code", policy.Code)
		} else {
			d.raw("redirect_http_code", "null")
		}
	}
}

func renderRule(d *Document, rule *model.L7Rule) {
	renderUnnamed(d, rule, rule.AdminUp)
	d.text("type", rule.Kind)
	d.text("compare_type", rule.Compare)
	d.optional("key", rule.Key)
	d.text("value", rule.Value)
	d.flag("invert", rule.Invert)
	if d.since(5) {
		d.texts("tags", rule.Tags)
	}
}

// renderStatusTree writes the status tree. It does not contain pools that no listener uses.
func renderStatusTree(d *Document, lb *model.LoadBalancer) {
	renderState(d, &lb.Object, lb.Name)
	d.list("listeners", len(lb.Listeners), func(i int) {
		l := lb.Listeners[i]
		renderState(d, &l.Object, l.Name)
		pools := l.Pools()
		d.list("pools", len(pools), func(i int) { renderPoolStatus(d, pools[i]) })
	})
}

func renderPoolStatus(d *Document, p *model.Pool) {
	renderState(d, &p.Object, p.Name)
	if m := p.Monitor; m != nil {
		d.nested("health_monitor", func() {
			renderState(d, &m.Object, m.Name)
			d.text("type", m.Kind)
		})
	} else if d.release >= release.Newest {
		d.raw("health_monitor", "null")
	}
	d.list("members", len(p.Members), func(i int) {
		m := p.Members[i]
		renderState(d, &m.Object, m.Name.Value())
		d.text("address", m.Address.Value())
		d.number("protocol_port", int(m.Port))
	})
}

func renderState(d *Document, o *model.Object, name string) {
	d.id("id", o.ID)
	d.text("name", name)
	d.text("operating_status", o.Operating.String())
	d.text("provisioning_status", o.Provisioning.String())
}

// NewLoadBalancer writes the answer to a create, with all children.
func NewLoadBalancer(d *Document, lb *model.LoadBalancer) []byte {
	return d.one("loadbalancer", func(d *Document) { renderLoadBalancer(d, lb, true) })
}

// Statuses writes the status of a load balancer and of all its children.
func Statuses(d *Document, lb *model.LoadBalancer) []byte {
	return d.one("statuses", func(d *Document) {
		d.nested("loadbalancer", func() { renderStatusTree(d, lb) })
	})
}

// Stats writes zeros: the simulator does not count the traffic.
func Stats(d *Document) []byte {
	return d.one("stats", func(d *Document) {
		for _, name := range []string{"bytes_in", "bytes_out", "active_connections", "total_connections", "request_errors"} {
			d.number(name, 0)
		}
	})
}
