// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"net/http"
	"slices"
)

// newListener makes and checks a listener with its default pool (nil for none),
// without putting it into the state.
func (s *Service) newListener(ctx context.Context, lb *loadBalancer, v values, p *pool) (*listener, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, duplicateListener(v.text("protocol"), v.number("protocol_port", 0)) // whatever the database refuses
	}
	l := &listener{
		object: newObject(s.now(), tags), lb: lb, name: v.text("name"), description: v.text("description"),
		protocol: v.text("protocol"), port: v.number("protocol_port", 0),
		limit: v.number("connection_limit", -1), adminUp: v.flag("admin_state_up", true),
		timeouts: defaultTimeouts, headers: v.headers(), cidrs: slices.Compact(slices.Sorted(slices.Values(v.texts("allowed_cidrs")))),
	}
	l.timeouts.set(v)
	if p != nil {
		if err := checkDefaultPool(l, p); err != nil {
			return nil, err
		}
		l.pool = p
		l.updated = l.created // the real service writes such a listener twice
	}
	if err := checkHeaders(l); err != nil {
		return nil, err
	}
	if err := s.setListenerTLS(ctx, l, v); err != nil {
		return nil, err
	}
	for _, other := range lb.listeners {
		if other.port == l.port && s.portsCollide(other, l) {
			return nil, duplicateListener(other.protocol, l.port)
		}
	}
	return l, checkCIDRs(lb, l.cidrs)
}

func duplicateListener(protocol string, port int) error {
	return faultf(http.StatusConflict, "Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", protocol, port)
}

// set takes the timeouts of a request; null stands for the default.
func (t *timeouts) set(v values) {
	for name, field := range map[string]struct {
		value     *int
		otherwise int
	}{
		"timeout_client_data":    {&t.clientData, defaultTimeouts.clientData},
		"timeout_member_connect": {&t.memberConnect, defaultTimeouts.memberConnect},
		"timeout_member_data":    {&t.memberData, defaultTimeouts.memberData},
		"timeout_tcp_inspect":    {&t.tcpInspect, defaultTimeouts.tcpInspect},
	} {
		if v.has(name) {
			*field.value = v.number(name, field.otherwise)
		}
	}
}

// portsCollide reports whether two listeners cannot have the same port. TCP and
// UDP may since 2.13.
func (s *Service) portsCollide(a, b *listener) bool {
	return s.version() < 13 || transport(a.protocol) == transport(b.protocol)
}

func transport(protocol string) string {
	if protocol == "UDP" || protocol == "SCTP" {
		return protocol
	}
	return "TCP"
}

// poolsOfListeners says which pool protocols a listener's default pool may have.
var poolsOfListeners = map[string][]string{
	"TCP":              {"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"},
	"HTTP":             {"HTTP", "PROXY", "PROXYV2"},
	"HTTPS":            {"HTTPS", "PROXY", "PROXYV2", "TCP"},
	"TERMINATED_HTTPS": {"HTTP", "PROXY", "PROXYV2"},
	"UDP":              {"UDP"},
	"SCTP":             {"SCTP"},
}

func checkDefaultPool(l *listener, p *pool) error {
	if l.protocol == "PROMETHEUS" {
		return errNoChildren
	}
	return checkProtocols(l.protocol, p.protocol)
}

func checkProtocols(listener, pool string) error {
	if !slices.Contains(poolsOfListeners[listener], pool) {
		return invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", pool, listener)
	}
	return nil
}

// checkCIDRs refuses source ranges of another family than the VIP's. Additional
// VIPs do not count.
func checkCIDRs(lb *loadBalancer, cidrs []string) error {
	for _, cidr := range cidrs {
		prefix, err := parsePrefix(cidr)
		if err != nil || prefix.Addr().Is6() != isIPv6(lb.address) {
			return invalid("CIDR %s IP version incompatible with VIP %s IP version.", cidr, lb.address)
		}
	}
	return nil
}

var (
	httpHeaders = []string{"X-Forwarded-For", "X-Forwarded-Port", "X-Forwarded-Proto"}
	sslHeaders  = []string{
		"X-SSL-Client-Verify", "X-SSL-Client-Has-Cert", "X-SSL-Client-DN", "X-SSL-Client-CN",
		"X-SSL-Issuer", "X-SSL-Client-SHA1", "X-SSL-Client-Not-Before", "X-SSL-Client-Not-After",
	}
)

func checkHeaders(l *listener) error {
	if len(l.headers) == 0 {
		return nil
	}
	if l.protocol != "HTTP" && l.protocol != "TERMINATED_HTTPS" {
		return invalidOption("insert-headers", "a "+l.protocol+" protocol listener.")
	}
	var names, ssl []any
	unknown := false
	for _, name := range sortedKeys(l.headers) {
		names = append(names, name)
		if slices.Contains(sslHeaders, name) {
			ssl = append(ssl, name)
		} else if !slices.Contains(httpHeaders, name) {
			unknown = true
		}
	}
	if unknown {
		return invalidOption("dict_keys("+python(names)+")", "insert_headers")
	}
	if len(ssl) > 0 && l.protocol == "HTTP" {
		return invalidOption(python(ssl), "HTTP protocol listener.")
	}
	return nil
}

func (s *Service) registerListener(l *listener) {
	s.listeners[l.id] = l
	s.used(l.lb.project).listeners++
	for _, policy := range l.policies {
		s.registerPolicy(policy)
	}
}

// dropListener takes a listener and its policies out of the state, but not out of
// its load balancer's list.
func (s *Service) dropListener(l *listener) {
	for _, policy := range l.policies {
		s.dropPolicy(policy)
	}
	delete(s.listeners, l.id)
	s.used(l.lb.project).listeners--
}

func (s *Service) createListener(r *request) (answer, error) {
	v, err := s.parse(r.body, "listener_", "listener", listenerCreate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, err := s.loadBalancer(v.text("loadbalancer_id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkQuota(lb.project, listenerQuota, 1); err != nil {
		return answer{}, err
	}
	p, err := s.defaultPool(lb, v, v.text("protocol"))
	if err != nil {
		return answer{}, err
	}
	if lb.prov != active {
		return answer{}, immutable("Load Balancer", lb.id.String())
	}
	l, err := s.newListener(r.Context(), lb, v, p)
	if err != nil {
		return answer{}, err
	}
	if v.object("default_pool") != nil || len(v.objects("l7policies")) > 0 {
		return answer{}, errNestedCreate
	}
	if err := providers[lb.provider].listener(l); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), lb, pendingUpdate)
	lb.listeners = append(lb.listeners, l)
	s.registerListener(l)
	s.add(c, &l.object)
	c.fail = c.fail || !rulesFit(lb)
	s.start(c)
	return s.one(r, http.StatusCreated, "listener", func(d *document) { renderListener(d, l, false) }), nil
}

// defaultPool finds the pool that a listener's request names; nil is none.
func (s *Service) defaultPool(lb *loadBalancer, v values, protocol string) (*pool, error) {
	id := v.text("default_pool_id")
	if id == "" {
		return nil, nil
	}
	p := s.pools[parseID(id)]
	if protocol == "PROMETHEUS" {
		return nil, checkDefaultPool(&listener{protocol: protocol}, p)
	}
	if p == nil || p.lb != lb {
		return nil, notFound("Pool", id)
	}
	return p, checkProtocols(protocol, p.protocol)
}

func (s *Service) listListeners(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*listener]{
		key: "listeners", known: s.listeners, column: listenerColumn, sample: &listener{lb: &loadBalancer{}},
		render: func(d *document, l *listener) { renderListener(d, l, false) },
	}
	err := s.visible(r, func(lb *loadBalancer) { l.rows = append(l.rows, lb.listeners...) })
	if err != nil {
		return answer{}, err
	}
	return list(s, r, l)
}

func (s *Service) showListener(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l, err := s.listener(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "listener", func(d *document) { renderListener(d, l, false) }), nil
}

func (s *Service) listenerStats(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if _, err := s.listener(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "stats", renderStats), nil
}

func (s *Service) updateListener(r *request) (answer, error) {
	v, err := s.parse(r.body, "listener_", "listener", listenerUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.listener(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *l
	if err := s.changeListener(r.Context(), &changed, v); err != nil {
		return answer{}, err
	}
	if l.lb.prov != active {
		return answer{}, immutable("Load Balancer", l.lb.id.String())
	}
	if err := providers[l.lb.provider].listener(&changed); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), l.lb, pendingUpdate)
	*l = changed
	s.touch(c, &l.object, pendingUpdate)
	c.fail = c.fail || !rulesFit(l.lb)
	s.start(c)
	return s.one(r, http.StatusOK, "listener", func(d *document) { renderListener(d, l, false) }), nil
}

// changeListener applies and checks an update.
func (s *Service) changeListener(ctx context.Context, l *listener, v values) error {
	tags, err := changedTags(v)
	if err != nil {
		return err
	}
	if l.overUDP() && (len(v.headers()) > 0 || v.text("default_tls_container_ref") != "" || len(v.texts("sni_container_refs")) > 0) {
		return invalid("%s protocol listener does not support TLS or header insertion.", l.protocol)
	}
	setText(&l.name, v, "name")
	setText(&l.description, v, "description")
	l.adminUp = v.flag("admin_state_up", l.adminUp)
	if v.has("connection_limit") {
		l.limit = v.number("connection_limit", -1)
	}
	l.timeouts.set(v)
	if tags != nil {
		l.tags = tags
	}
	if v.has("insert_headers") {
		l.headers = v.headers()
		if err := checkHeaders(l); err != nil {
			return err
		}
	}
	if v.has("allowed_cidrs") {
		l.cidrs = v.texts("allowed_cidrs")
		if err := checkCIDRs(l.lb, l.cidrs); err != nil {
			return err
		}
		if len(slices.Compact(slices.Sorted(slices.Values(l.cidrs)))) < len(l.cidrs) {
			return faultf(http.StatusInternalServerError, "duplicate source range") // unlike with a create
		}
	}
	if err := s.setListenerTLS(ctx, l, v); err != nil {
		return err
	}
	if v.has("default_pool_id") {
		if l.pool, err = s.defaultPool(l.lb, v, l.protocol); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) deleteListener(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.listener(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), l.lb, pendingUpdate)
	if c == nil {
		return answer{}, immutable("Load Balancer", l.lb.id.String())
	}
	s.touch(c, &l.object, pendingDelete)
	c.remove = func() {
		l.lb.listeners = slices.DeleteFunc(l.lb.listeners, func(other *listener) bool { return other == l })
		s.dropListener(l)
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}
