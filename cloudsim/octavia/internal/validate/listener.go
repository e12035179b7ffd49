// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// NewListener makes and checks a listener with its default pool, which may be nil, without adding
// it to the state.
func (c *Checks) NewListener(lb *model.LoadBalancer, v schema.Values, p *model.Pool) (*model.Listener, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, duplicateListener(v.Text("protocol"), v.Number("protocol_port", 0)) // Octavia's answer to every refusal of its database
	}
	l := &model.Listener{
		Object: model.NewObject(c.State.Now(), tags), LB: lb, Name: v.Text("name"), Description: v.Text("description"),
		Protocol: v.Text("protocol"), Port: v.Number("protocol_port", 0),
		Limit: v.Number("connection_limit", -1), AdminUp: v.Flag("admin_state_up", true),
		Timeouts: model.DefaultTimeouts, Headers: v.Headers(), CIDRs: slices.Compact(slices.Sorted(slices.Values(v.Texts("allowed_cidrs")))),
	}
	setTimeouts(&l.Timeouts, v)
	if p != nil {
		if err := checkDefaultPool(l, p); err != nil {
			return nil, err
		}
		l.Pool = p
		if c.Release < release.Newest {
			l.Updated = l.Created // the real service writes such a listener twice
		}
	}
	if err := checkHeaders(l); err != nil {
		return nil, err
	}
	if err := c.setListenerTLS(l, v); err != nil {
		return nil, err
	}
	for _, other := range lb.Listeners {
		if other.Port == l.Port && c.portsCollide(other, l) {
			return nil, duplicateListener(other.Protocol, l.Port)
		}
	}
	if err := checkAccess(lb.VIPGroups, l.CIDRs); err != nil {
		return nil, err
	}
	if err := c.checkCIDRs(lb, l.CIDRs); err != nil {
		return nil, err
	}
	return l, checkHSTS(l, v, -1, "HSTS configuration options hsts_include_subdomains and hsts_preload only make sense if hsts_max_age is set as well.")
}

func duplicateListener(protocol string, port int) error {
	return fault.New(http.StatusConflict, "Another Listener on this Load Balancer is already using protocol %s and protocol_port %d", protocol, port)
}

// setTimeouts sets the timeouts of a request; null means the default.
func setTimeouts(t *model.Timeouts, v schema.Values) {
	for name, field := range map[string]struct {
		value     *int
		otherwise int
	}{
		"timeout_client_data":    {&t.ClientData, model.DefaultTimeouts.ClientData},
		"timeout_member_connect": {&t.MemberConnect, model.DefaultTimeouts.MemberConnect},
		"timeout_member_data":    {&t.MemberData, model.DefaultTimeouts.MemberData},
		"timeout_tcp_inspect":    {&t.TCPInspect, model.DefaultTimeouts.TCPInspect},
	} {
		if v.Has(name) {
			*field.value = v.Number(name, field.otherwise)
		}
	}
}

// portsCollide reports whether two listeners cannot have the same port. Since 2.13, TCP and UDP
// can.
func (c *Checks) portsCollide(a, b *model.Listener) bool {
	return c.Minor < 13 || transport(a.Protocol) == transport(b.Protocol)
}

func transport(protocol string) string {
	if protocol == "UDP" || protocol == "SCTP" {
		return protocol
	}
	return "TCP"
}

// poolsOfListeners has, for each listener protocol, the allowed protocols of the default pool.
var poolsOfListeners = map[string][]string{
	"TCP":              {"HTTP", "HTTPS", "PROXY", "PROXYV2", "TCP"},
	"HTTP":             {"HTTP", "PROXY", "PROXYV2"},
	"HTTPS":            {"HTTPS", "PROXY", "PROXYV2", "TCP"},
	"TERMINATED_HTTPS": {"HTTP", "PROXY", "PROXYV2"},
	"UDP":              {"UDP"},
	"SCTP":             {"SCTP"},
}

func checkDefaultPool(l *model.Listener, p *model.Pool) error {
	if l.Protocol == "PROMETHEUS" {
		return fault.ErrNoChildren
	}
	return checkProtocols(l.Protocol, p.Protocol)
}

func checkProtocols(listener, pool string) error {
	if !slices.Contains(poolsOfListeners[listener], pool) {
		return fault.Invalid("The pool protocol '%s' is invalid while the listener protocol is '%s'.", pool, listener)
	}
	return nil
}

// checkCIDRs refuses source ranges of another family than the VIP's. Since 2025.1 additional VIPs count, too.
func (c *Checks) checkCIDRs(lb *model.LoadBalancer, cidrs []string) error {
	vips := []string{lb.Address}
	if c.Release >= release.Epoxy {
		for _, vip := range lb.Additional {
			vips = append(vips, vip.Address)
		}
	}
	for _, cidr := range cidrs {
		prefix, err := schema.ParsePrefix(cidr)
		fits := func(vip string) bool { return prefix.Addr().Is6() == provider.IsIPv6(vip) }
		switch {
		case err == nil && slices.ContainsFunc(vips, fits):
		case c.Release >= release.Epoxy:
			return fault.Invalid("CIDR %s IP version incompatible with all VIPs ['%s'] IP version.", cidr, strings.Join(vips, "', '"))
		default:
			return fault.Invalid("CIDR %s IP version incompatible with VIP %s IP version.", cidr, lb.Address)
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

func checkHeaders(l *model.Listener) error {
	if len(l.Headers) == 0 {
		return nil
	}
	if l.Protocol != "HTTP" && l.Protocol != "TERMINATED_HTTPS" {
		return fault.InvalidOption("insert-headers", "a "+l.Protocol+" protocol listener.")
	}
	var names, ssl []any
	unknown := false
	for _, name := range slices.Sorted(maps.Keys(l.Headers)) {
		names = append(names, name)
		if slices.Contains(sslHeaders, name) {
			ssl = append(ssl, name)
		} else if !slices.Contains(httpHeaders, name) {
			unknown = true
		}
	}
	if unknown {
		return fault.InvalidOption("dict_keys("+wire.Python(names)+")", "insert_headers")
	}
	if len(ssl) > 0 && l.Protocol == "HTTP" {
		return fault.InvalidOption(wire.Python(ssl), "HTTP protocol listener.")
	}
	return nil
}

// DefaultPool finds the pool that a listener's request names, or nil.
func (c *Checks) DefaultPool(lb *model.LoadBalancer, v schema.Values, protocol string) (*model.Pool, error) {
	id := v.Text("default_pool_id")
	if id == "" {
		return nil, nil
	}
	p, _ := c.State.Pools.Find(id)
	if protocol == "PROMETHEUS" {
		return nil, checkDefaultPool(&model.Listener{Protocol: protocol}, p)
	}
	if p == nil || p.LB != lb {
		return nil, fault.NotFound("Pool", id)
	}
	return p, checkProtocols(protocol, p.Protocol)
}

// ChangeListener applies and checks an update.
func (c *Checks) ChangeListener(l *model.Listener, v schema.Values) error {
	tags, err := ChangedTags(v)
	if err != nil {
		return err
	}
	if l.UsesUDP() && (len(v.Headers()) > 0 || v.Text("default_tls_container_ref") != "" || len(v.Texts("sni_container_refs")) > 0) {
		return fault.Invalid("%s protocol listener does not support TLS or header insertion.", l.Protocol)
	}
	v.Set("name", &l.Name)
	v.Set("description", &l.Description)
	l.AdminUp = v.Flag("admin_state_up", l.AdminUp)
	if v.Has("connection_limit") {
		l.Limit = v.Number("connection_limit", -1)
	}
	setTimeouts(&l.Timeouts, v)
	if tags != nil {
		l.Tags = tags
	}
	if v.Has("insert_headers") {
		l.Headers = v.Headers()
		if err := checkHeaders(l); err != nil {
			return err
		}
	}
	if v.Has("allowed_cidrs") {
		l.CIDRs = v.Texts("allowed_cidrs")
		if err := c.checkCIDRs(l.LB, l.CIDRs); err != nil {
			return err
		}
		if err := checkAccess(l.LB.VIPGroups, l.CIDRs); err != nil {
			return err
		}
		if len(slices.Compact(slices.Sorted(slices.Values(l.CIDRs)))) < len(l.CIDRs) {
			return fault.New(http.StatusInternalServerError, "duplicate source range") // unlike with a create
		}
	}
	age := -1
	if l.TLS != nil {
		age = l.TLS.HSTSMaxAge
	}
	if err := checkHSTS(l, v, age, "Cannot enable hsts_include_subdomains or hsts_preload if hsts_max_age was not set as well."); err != nil {
		return err
	}
	if err := c.setListenerTLS(l, v); err != nil {
		return err
	}
	if v.Has("default_pool_id") {
		l.Pool, err = c.DefaultPool(l.LB, v, l.Protocol)
		if err != nil {
			return err
		}
	}
	return nil
}
