// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "cmp"

// shortestUDPDelay is the least delay of UDP-CONNECT monitors, in seconds.
const shortestUDPDelay = 3

// newMonitor makes and checks a monitor without putting it into the state.
func (c *Checks) newMonitor(p *pool, v values) (*monitor, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, errSecondMonitor // Octavia takes one duplicate for another
	}
	m := &monitor{
		object: newObject(c.State.Now(), tags), pool: p, name: v.text("name"), kind: v.text("type"),
		delay: v.number("delay", 0), timeout: v.number("timeout", 0),
		retries: v.number("max_retries", 1), retriesDown: v.number("max_retries_down", 3),
		method: v.text("http_method"), path: v.text("url_path"), codes: v.text("expected_codes"),
		version: v.text("http_version"), domain: v.text("domain_name"),
		adminUp: v.flag("admin_state_up", true),
	}
	if m.usesHTTP() {
		m.method, m.path, m.codes = cmp.Or(m.method, "GET"), cmp.Or(m.path, "/"), cmp.Or(m.codes, "200")
	} else {
		for _, name := range []string{"http_method", "url_path", "expected_codes"} {
			if v.text(name) != "" {
				return nil, invalidOption(name, "health monitors of type "+m.kind)
			}
		}
	}
	return m, m.checkDomain()
}

func (m *monitor) checkDomain() error {
	switch {
	case m.domain != "" && m.version == "":
		return invalid("'http_version' must be specified when 'domain_name' is provided.")
	case m.domain != "" && m.version == "1.0":
		return invalidOption("http_version 1.0", "health monitors HTTP 1.1 domain name health check")
	}
	return nil
}

// checkMonitorFitsPool refuses types that a pool's protocol does not go with.
func checkMonitorFitsPool(kind string, delay int, p *pool) error {
	if !p.usesUDP() {
		if kind == "UDP-CONNECT" || kind == "SCTP" {
			return invalid("The %s type is only supported for pools of type UDP/SCTP.", kind)
		}
		return nil
	}
	switch kind {
	case "UDP-CONNECT":
		if delay < shortestUDPDelay {
			return invalid("The request delay value %d should be larger than %d for UDP-CONNECT health monitor type.", delay, shortestUDPDelay)
		}
	case "SCTP", "TCP", "HTTP":
	default:
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT/SCTP/TCP/HTTP health monitor is supported.", p.protocol)
	}
	return nil
}

// checkUDPMonitorTypes refuses TCP and HTTP monitors of UDP pools before 2.16.
func (c *Checks) checkUDPMonitorTypes(kind string, p *pool) error {
	if c.Minor < 16 && p.usesUDP() && kind != "UDP-CONNECT" {
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT health monitor is supported.", p.protocol)
	}
	return nil
}

// change applies and checks an update.
func (m *monitor) change(v values) error {
	for _, name := range []string{"http_method", "url_path", "expected_codes"} {
		if v.has(name) && !m.usesHTTP() {
			return invalidOption(name, "health monitors of type "+m.kind)
		}
	}
	for _, name := range []string{"delay", "max_retries", "timeout"} {
		if v.isNull(name) {
			return invalidOption("None", name)
		}
	}
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		m.tags = tags
	}
	v.set("name", &m.name)
	v.set("http_version", &m.version)
	v.set("domain_name", &m.domain)
	m.adminUp = v.flag("admin_state_up", m.adminUp)
	m.delay, m.timeout = v.number("delay", m.delay), v.number("timeout", m.timeout)
	m.retries = v.number("max_retries", m.retries)
	if v.has("max_retries_down") {
		m.retriesDown = v.number("max_retries_down", 3)
	}
	if m.usesHTTP() {
		v.set("http_method", &m.method)
		v.set("url_path", &m.path)
		v.set("expected_codes", &m.codes)
		m.method, m.path, m.codes = cmp.Or(m.method, "GET"), cmp.Or(m.path, "/"), cmp.Or(m.codes, "200")
	}
	return m.checkDomain()
}
