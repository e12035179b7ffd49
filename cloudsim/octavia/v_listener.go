// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"maps"
	"net/http"
	"slices"
)

// newListener makes and checks a listener with its default pool (nil for none),
// without putting it into the state.
func (c *Checks) newListener(lb *loadBalancer, v values, p *pool) (*listener, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, duplicateListener(v.text("protocol"), v.number("protocol_port", 0)) // whatever the database refuses
	}
	l := &listener{
		object: newObject(c.State.Now(), tags), lb: lb, name: v.text("name"), description: v.text("description"),
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
	if err := c.setListenerTLS(l, v); err != nil {
		return nil, err
	}
	for _, other := range lb.listeners {
		if other.port == l.port && c.portsCollide(other, l) {
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
func (c *Checks) portsCollide(a, b *listener) bool {
	return c.Minor < 13 || transport(a.protocol) == transport(b.protocol)
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

// checkCIDRs refuses source ranges of another family than the VIP'c. Additional
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
	for _, name := range slices.Sorted(maps.Keys(l.headers)) {
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

// defaultPool finds the pool that a listener's request names; nil is none.
func (c *Checks) defaultPool(lb *loadBalancer, v values, protocol string) (*pool, error) {
	id := v.text("default_pool_id")
	if id == "" {
		return nil, nil
	}
	p, _ := c.State.Pools.Find(id)
	if protocol == "PROMETHEUS" {
		return nil, checkDefaultPool(&listener{protocol: protocol}, p)
	}
	if p == nil || p.lb != lb {
		return nil, notFound("Pool", id)
	}
	return p, checkProtocols(protocol, p.protocol)
}

// changeListener applies and checks an update.
func (c *Checks) changeListener(l *listener, v values) error {
	tags, err := changedTags(v)
	if err != nil {
		return err
	}
	if l.overUDP() && (len(v.headers()) > 0 || v.text("default_tls_container_ref") != "" || len(v.texts("sni_container_refs")) > 0) {
		return invalid("%s protocol listener does not support TLS or header insertion.", l.protocol)
	}
	v.set("name", &l.name)
	v.set("description", &l.description)
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
	if err := c.setListenerTLS(l, v); err != nil {
		return err
	}
	if v.has("default_pool_id") {
		if l.pool, err = c.defaultPool(l.lb, v, l.protocol); err != nil {
			return err
		}
	}
	return nil
}
