// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

// shortestUDPDelay is the least delay of UDP-CONNECT monitors, in seconds.
const shortestUDPDelay = 3

// newMonitor makes and checks a monitor without putting it into the state.
func (s *Service) newMonitor(p *pool, v values) (*monitor, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, errSecondMonitor // Octavia takes one duplicate for another
	}
	m := &monitor{
		object: newObject(s.now(), tags), pool: p, name: v.text("name"), kind: v.text("type"),
		delay: v.number("delay", 0), timeout: v.number("timeout", 0),
		retries: v.number("max_retries", 1), retriesDown: v.number("max_retries_down", 3),
		method: v.text("http_method"), path: v.text("url_path"), codes: v.text("expected_codes"),
		version: v.text("http_version"), domain: v.text("domain_name"),
		adminUp: v.flag("admin_state_up", true),
	}
	if m.usesHTTP() {
		m.method, m.path, m.codes = orDefault(m.method, "GET"), orDefault(m.path, "/"), orDefault(m.codes, "200")
	} else {
		for _, name := range []string{"http_method", "url_path", "expected_codes"} {
			if v.text(name) != "" {
				return nil, invalidOption(name, "health monitors of type "+m.kind)
			}
		}
	}
	return m, m.checkDomain()
}

func (m *monitor) usesHTTP() bool { return m.kind == "HTTP" || m.kind == "HTTPS" }

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
func (s *Service) checkUDPMonitorTypes(kind string, p *pool) error {
	if s.version() < 16 && p.usesUDP() && kind != "UDP-CONNECT" {
		return invalid("The associated pool protocol is %s, so only a UDP-CONNECT health monitor is supported.", p.protocol)
	}
	return nil
}

func (s *Service) createMonitor(r *request) (answer, error) {
	v, err := s.parse(r.body, "health_monitor_", "healthmonitor", monitorCreate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.pool(v.text("pool_id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkUDPMonitorTypes(v.text("type"), p); err != nil {
		return answer{}, err
	}
	if err := checkMonitorFitsPool(v.text("type"), v.number("delay", 0), p); err != nil {
		return answer{}, err
	}
	if err := s.checkQuota(p.lb.project, monitorQuota, 1); err != nil {
		return answer{}, err
	}
	if err := p.checkParents(); err != nil {
		return answer{}, err
	}
	m, err := s.newMonitor(p, v)
	if err != nil {
		return answer{}, err
	}
	if p.monitor != nil {
		return answer{}, errSecondMonitor
	}
	if err := providers[p.lb.provider].monitor(m); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), p.lb, pendingUpdate)
	p.monitor = m
	s.monitors[m.id] = m
	s.used(p.lb.project).monitors++
	s.touchMonitored(c, m, false)
	s.add(c, &m.object)
	s.start(c)
	return s.one(r, http.StatusCreated, "healthmonitor", func(d *document) { renderMonitor(d, m) }), nil
}

func (s *Service) listMonitors(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*monitor]{
		key: "healthmonitors", known: s.monitors, column: monitorColumn, sample: &monitor{pool: &pool{lb: &loadBalancer{}}},
		render: renderMonitor,
	}
	err := s.visible(r, func(lb *loadBalancer) {
		for _, p := range lb.pools {
			if p.monitor != nil {
				l.rows = append(l.rows, p.monitor)
			}
		}
	})
	if err != nil {
		return answer{}, err
	}
	return list(s, r, l)
}

func (s *Service) showMonitor(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m, err := s.monitor(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "healthmonitor", func(d *document) { renderMonitor(d, m) }), nil
}

func (s *Service) updateMonitor(r *request) (answer, error) {
	v, err := s.parse(r.body, "health_monitor_", "healthmonitor", monitorUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.monitor(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *m
	if err := changed.change(v); err != nil {
		return answer{}, err
	}
	if m.kind == "UDP-CONNECT" && !v.has("delay") {
		return answer{}, errNoDelay
	}
	if err := checkMonitorFitsPool(m.kind, changed.delay, m.pool); err != nil {
		return answer{}, err
	}
	if err := m.pool.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), m.pool.lb, pendingUpdate)
	*m = changed
	s.touchMonitored(c, m, false)
	s.touch(c, &m.object, pendingUpdate)
	s.start(c)
	return s.one(r, http.StatusOK, "healthmonitor", func(d *document) { renderMonitor(d, m) }), nil
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
	setText(&m.name, v, "name")
	setText(&m.version, v, "http_version")
	setText(&m.domain, v, "domain_name")
	m.adminUp = v.flag("admin_state_up", m.adminUp)
	m.delay, m.timeout = v.number("delay", m.delay), v.number("timeout", m.timeout)
	m.retries = v.number("max_retries", m.retries)
	if v.has("max_retries_down") {
		m.retriesDown = v.number("max_retries_down", 3)
	}
	if m.usesHTTP() {
		setText(&m.method, v, "http_method")
		setText(&m.path, v, "url_path")
		setText(&m.codes, v, "expected_codes")
		m.method, m.path, m.codes = orDefault(m.method, "GET"), orDefault(m.path, "/"), orDefault(m.codes, "200")
	}
	return m.checkDomain()
}

func (s *Service) deleteMonitor(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.monitor(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := m.pool.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), m.pool.lb, pendingUpdate)
	s.touchMonitored(c, m, true)
	s.touch(c, &m.object, pendingDelete)
	c.remove = func() {
		m.pool.monitor = nil
		delete(s.monitors, m.id)
		s.used(m.pool.lb.project).monitors--
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}
