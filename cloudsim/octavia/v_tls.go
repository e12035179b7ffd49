// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"cmp"
	"slices"
	"strings"
)

const (
	defaultCiphers = "TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256:" +
		"DHE-RSA-AES256-GCM-SHA384:DHE-RSA-AES128-GCM-SHA256:ECDHE-RSA-AES256-GCM-SHA384:ECDHE-RSA-AES128-GCM-SHA256:" +
		"DHE-RSA-AES256-SHA256:DHE-RSA-AES128-SHA256:ECDHE-RSA-AES256-SHA384:ECDHE-RSA-AES128-SHA256"
)

var (
	defaultTLSVersions = []string{"TLSv1.2", "TLSv1.3"}
	defaultALPN        = []string{"h2", "http/1.1", "http/1.0"}
	tlsVersions        = []string{"SSLv3", "TLSv1", "TLSv1.1", "TLSv1.2", "TLSv1.3"}
)

// setListenerTLS applies and checks what the request says about TLS.
func (c *Checks) setListenerTLS(l *listener, v values) error {
	t := listenerTLS{clientAuth: "NONE", hstsMaxAge: -1}
	if l.tls != nil {
		t = *l.tls
	}
	v.set("default_tls_container_ref", &t.certificate)
	v.set("client_ca_tls_container_ref", &t.clientCA)
	v.set("client_crl_container_ref", &t.crl)
	v.set("tls_ciphers", &t.ciphers)
	if v.has("sni_container_refs") {
		t.sni = v.texts("sni_container_refs")
	}
	if v.has("client_authentication") {
		t.clientAuth = cmp.Or(v.text("client_authentication"), "NONE")
	}
	if v.has("tls_versions") {
		t.versions = v.texts("tls_versions")
	}
	if v.has("alpn_protocols") {
		t.alpn = v.texts("alpn_protocols")
	}
	if v.has("hsts_max_age") {
		t.hstsMaxAge = v.number("hsts_max_age", -1)
	}
	t.hstsSubdomains = v.flag("hsts_include_subdomains", t.hstsSubdomains)
	t.hstsPreload = v.flag("hsts_preload", t.hstsPreload)
	if err := c.checkListenerTLS(l, &t); err != nil {
		return err
	}
	if l.protocol == "TERMINATED_HTTPS" {
		t.setDefaults(c.Minor)
	}
	if !t.empty() {
		l.tls = &t
	} else {
		l.tls = nil
	}
	return nil
}

func (t *listenerTLS) setDefaults(minor int) {
	if minor >= 15 {
		t.ciphers = cmp.Or(t.ciphers, defaultCiphers)
	}
	if minor >= 17 && t.versions == nil {
		t.versions = defaultTLSVersions
	}
	if minor >= 20 && t.alpn == nil {
		t.alpn = defaultALPN
	}
}

func (c *Checks) checkListenerTLS(l *listener, t *listenerTLS) error {
	offload := l.protocol == "TERMINATED_HTTPS" || l.protocol == "PROMETHEUS" && len(t.refs()) > 0
	switch {
	case (l.protocol == "UDP" || l.protocol == "SCTP") && len(t.refs()) > 0:
		return invalid("%s protocol listener does not support TLS.", l.protocol)
	case !offload && len(t.refs()) > 0:
		return invalid("Certificate container references are not allowed on %s protocol listeners.", l.protocol)
	case t.clientCA != "" && len(t.refs()) == 0:
		return invalid("An SNI or default certificate container reference must be provided with a client CA container reference.")
	case offload && len(t.refs()) == 0:
		return invalid("An SNI or default certificate container reference must be provided for %s protocol listeners.", l.protocol)
	case t.clientAuth != "NONE" && t.clientCA == "":
		return invalid("Client authentication setting %s requires a client CA container reference.", t.clientAuth)
	case t.crl != "" && t.clientCA == "":
		return invalid("A client authentication CA reference is required to specify a client authentication revocation list.")
	case (t.hstsSubdomains || t.hstsPreload) && t.hstsMaxAge < 0:
		return invalid("HSTS configuration options hsts_include_subdomains and hsts_preload only make sense if hsts_max_age is set as well.")
	case t.hstsMaxAge >= 0 && l.protocol != "TERMINATED_HTTPS":
		return invalid("The HSTS feature can only be used for TLS-enabled listeners.")
	}
	if offload {
		if err := checkTLSVersions(t.versions); err != nil {
			return err
		}
	}
	if err := c.checkCertificates(t.refs()...); err != nil {
		return err
	}
	return c.checkAuthority(t.clientCA, t.crl)
}

func checkTLSVersions(versions []string) error {
	if versions != nil && len(versions) == 0 {
		return invalid("Empty TLS version list. Either specify at least one TLS version or remove this parameter to use the default.")
	}
	var bad []string
	for _, v := range versions {
		if !slices.Contains(tlsVersions, v) {
			bad = append(bad, v)
		}
	}
	if len(bad) > 0 {
		return invalid("Invalid TLS versions: %s", strings.Join(bad, ", "))
	}
	return nil
}

// setPoolTLS applies and checks what the request says about TLS to the members
// of a new pool.
func (c *Checks) setPoolTLS(p *pool, v values) error {
	t := poolTLS{enabled: v.flag("tls_enabled", false)}
	t.apply(v)
	if t.crl != "" && t.ca == "" {
		return invalid("A CA certificate reference is required to specify a revocation list.")
	}
	if err := c.checkPoolSecrets(&t); err != nil {
		return err
	}
	if t.enabled {
		t.setDefaults(c.Minor)
		if err := t.check(); err != nil {
			return err
		}
	}
	p.setTLS(t)
	return nil
}

// changePoolTLS applies and checks an update. Unlike with a create, TLS need not
// be enabled for its options to be checked.
func (c *Checks) changePoolTLS(p *pool, v values) error {
	t := poolTLS{}
	if p.tls != nil {
		t = *p.tls
	}
	hadCRL := t.crl != ""
	t.enabled = v.flag("tls_enabled", t.enabled)
	t.apply(v)
	switch {
	case t.crl != "" && t.ca == "" && hadCRL && v.has("ca_tls_container_ref") && p.tls.ca != "":
		return invalid("A CA reference cannot be removed when a certificate revocation list is present.")
	case t.crl != "" && t.ca == "":
		return invalid("A CA reference is required to specify a certificate revocation list.")
	}
	if err := c.checkPoolSecrets(&t); err != nil {
		return err
	}
	if v.isNull("tls_versions") {
		t.versions = defaultTLSVersions
	}
	if v.isNull("tls_ciphers") {
		t.ciphers = defaultCiphers
	}
	if err := t.check(); err != nil {
		return err
	}
	p.setTLS(t)
	return nil
}

// apply takes what the request says.
func (t *poolTLS) apply(v values) {
	v.set("tls_container_ref", &t.certificate)
	v.set("ca_tls_container_ref", &t.ca)
	v.set("crl_container_ref", &t.crl)
	v.set("tls_ciphers", &t.ciphers)
	if v.has("tls_versions") {
		t.versions = v.texts("tls_versions")
	}
	if v.has("alpn_protocols") {
		t.alpn = v.texts("alpn_protocols")
	}
}

func (t *poolTLS) setDefaults(minor int) {
	if minor >= 15 {
		t.ciphers = cmp.Or(t.ciphers, defaultCiphers)
	}
	if minor >= 18 && t.versions == nil {
		t.versions = defaultTLSVersions
	}
	if minor >= 24 && t.alpn == nil {
		t.alpn = defaultALPN
	}
}

// check refuses lists that are given and name nothing; what the lists name was
// checked before, but for the versions.
func (t *poolTLS) check() error {
	if err := checkTLSVersions(t.versions); err != nil {
		return err
	}
	if t.alpn != nil && len(t.alpn) == 0 {
		return invalid("Empty ALPN protocol list. Either specify at least one ALPN protocol or remove this parameter to use the default.")
	}
	return nil
}

func (c *Checks) checkPoolSecrets(t *poolTLS) error {
	if t.certificate != "" {
		if err := c.checkCertificates(t.certificate); err != nil {
			return err
		}
	}
	return c.checkAuthority(t.ca, t.crl)
}

// setTLS keeps the options of TLS if there are any.
func (p *pool) setTLS(t poolTLS) {
	p.tls = nil
	if t.enabled || t.certificate != "" || t.ca != "" || t.crl != "" || t.ciphers != "" || len(t.versions)+len(t.alpn) > 0 {
		p.tls = &t
	}
}
