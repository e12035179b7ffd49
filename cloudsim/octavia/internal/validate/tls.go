// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
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

// setListenerTLS applies and checks the TLS options of the request.
func (c *Checks) setListenerTLS(l *model.Listener, v schema.Values) error {
	t := model.ListenerTLS{ClientAuth: "NONE", HSTSMaxAge: -1}
	if l.TLS != nil {
		t = *l.TLS
	}
	v.Set("default_tls_container_ref", &t.Certificate)
	v.Set("client_ca_tls_container_ref", &t.ClientCA)
	v.Set("client_crl_container_ref", &t.CRL)
	v.Set("tls_ciphers", &t.Ciphers)
	if v.Has("sni_container_refs") {
		t.SNI = v.Texts("sni_container_refs")
	}
	if v.Has("client_authentication") {
		t.ClientAuth = cmp.Or(v.Text("client_authentication"), "NONE")
	}
	if v.Has("tls_versions") {
		t.Versions = v.Texts("tls_versions")
	}
	if v.Has("alpn_protocols") {
		t.ALPN = v.Texts("alpn_protocols")
	}
	if v.Has("hsts_max_age") {
		t.HSTSMaxAge = v.Number("hsts_max_age", -1)
	}
	t.HSTSSubdomains = v.Flag("hsts_include_subdomains", t.HSTSSubdomains)
	t.HSTSPreload = v.Flag("hsts_preload", t.HSTSPreload)
	if err := c.checkListenerTLS(l, &t); err != nil {
		return err
	}
	if l.Protocol == "TERMINATED_HTTPS" {
		setListenerTLSDefaults(&t, c.Minor)
	}
	if !t.Empty() {
		l.TLS = &t
	} else {
		l.TLS = nil
	}
	return nil
}

func setListenerTLSDefaults(t *model.ListenerTLS, minor int) {
	if minor >= 15 {
		t.Ciphers = cmp.Or(t.Ciphers, defaultCiphers)
	}
	if minor >= 17 && t.Versions == nil {
		t.Versions = defaultTLSVersions
	}
	if minor >= 20 && t.ALPN == nil {
		t.ALPN = defaultALPN
	}
}

// checkHSTS checks the HSTS options of the request. age is the previous one of the listener, negative if it has
// none or is new.
func checkHSTS(l *model.Listener, v schema.Values, age int, refusal string) error {
	age = max(age, v.Number("hsts_max_age", -1))
	switch {
	case (v.Flag("hsts_include_subdomains", false) || v.Flag("hsts_preload", false)) && age < 0:
		return fault.Invalid("%s", refusal)
	case v.Number("hsts_max_age", -1) >= 0 && l.Protocol != "TERMINATED_HTTPS":
		return fault.Invalid("The HSTS feature can only be used for listeners using the TERMINATED_HTTPS protocol.")
	}
	return nil
}

func (c *Checks) checkListenerTLS(l *model.Listener, t *model.ListenerTLS) error {
	offload := l.Protocol == "TERMINATED_HTTPS" || l.Protocol == "PROMETHEUS" && len(t.Refs()) > 0
	switch {
	case (l.Protocol == "UDP" || l.Protocol == "SCTP") && len(t.Refs()) > 0:
		return fault.Invalid("%s protocol listener does not support TLS.", l.Protocol)
	case !offload && len(t.Refs()) > 0:
		return fault.Invalid("Certificate container references are not allowed on %s protocol listeners.", l.Protocol)
	case t.ClientCA != "" && len(t.Refs()) == 0:
		return fault.Invalid("An SNI or default certificate container reference must be provided with a client CA container reference.")
	case offload && len(t.Refs()) == 0:
		return fault.Invalid("An SNI or default certificate container reference must be provided for %s protocol listeners.", l.Protocol)
	case t.ClientAuth != "NONE" && t.ClientCA == "":
		return fault.Invalid("Client authentication setting %s requires a client CA container reference.", t.ClientAuth)
	case t.CRL != "" && t.ClientCA == "":
		return fault.Invalid("A client authentication CA reference is required to specify a client authentication revocation list.")
	}
	if offload {
		if err := checkTLSVersions(t.Versions); err != nil {
			return err
		}
	}
	if err := c.checkCertificates(t.Certificate, t.SNI...); err != nil {
		return err
	}
	return c.checkAuthority(t.ClientCA, t.CRL)
}

func checkTLSVersions(versions []string) error {
	if versions != nil && len(versions) == 0 {
		return fault.Invalid("Empty TLS version list. Either specify at least one TLS version or remove this parameter to use the default.")
	}
	var bad []string
	for _, v := range versions {
		if !slices.Contains(tlsVersions, v) {
			bad = append(bad, v)
		}
	}
	if len(bad) > 0 {
		return fault.Invalid("Invalid TLS versions: %s", strings.Join(bad, ", "))
	}
	return nil
}

// SetPoolTLS applies and checks the TLS options of a new pool.
func (c *Checks) SetPoolTLS(p *model.Pool, v schema.Values) error {
	t := model.PoolTLS{Enabled: v.Flag("tls_enabled", false)}
	applyPoolTLS(&t, v)
	if t.CRL != "" && t.CA == "" {
		return fault.Invalid("A CA certificate reference is required to specify a revocation list.")
	}
	if err := c.checkPoolSecrets(&t); err != nil {
		return err
	}
	if t.Enabled {
		setPoolTLSDefaults(&t, c.Minor)
		if err := checkPoolTLS(&t); err != nil {
			return err
		}
	}
	setTLS(p, t)
	return nil
}

// changePoolTLS applies and checks an update. Unlike in a create, the options are checked even if
// TLS is not enabled.
func (c *Checks) changePoolTLS(p *model.Pool, v schema.Values) error {
	t := model.PoolTLS{}
	if p.TLS != nil {
		t = *p.TLS
	}
	hadCRL := t.CRL != ""
	t.Enabled = v.Flag("tls_enabled", t.Enabled)
	applyPoolTLS(&t, v)
	switch {
	case t.CRL != "" && t.CA == "" && hadCRL && v.Has("ca_tls_container_ref") && p.TLS.CA != "":
		return fault.Invalid("A CA reference cannot be removed when a certificate revocation list is present.")
	case t.CRL != "" && t.CA == "":
		return fault.Invalid("A CA reference is required to specify a certificate revocation list.")
	}
	if err := c.checkPoolSecrets(&t); err != nil {
		return err
	}
	if v.IsNull("tls_versions") {
		t.Versions = defaultTLSVersions
	}
	if v.IsNull("tls_ciphers") {
		t.Ciphers = defaultCiphers
	}
	if err := checkPoolTLS(&t); err != nil {
		return err
	}
	setTLS(p, t)
	return nil
}

// applyPoolTLS applies the options of the request.
func applyPoolTLS(t *model.PoolTLS, v schema.Values) {
	v.Set("tls_container_ref", &t.Certificate)
	v.Set("ca_tls_container_ref", &t.CA)
	v.Set("crl_container_ref", &t.CRL)
	v.Set("tls_ciphers", &t.Ciphers)
	if v.Has("tls_versions") {
		t.Versions = v.Texts("tls_versions")
	}
	if v.Has("alpn_protocols") {
		t.ALPN = v.Texts("alpn_protocols")
	}
}

func setPoolTLSDefaults(t *model.PoolTLS, minor int) {
	if minor >= 15 {
		t.Ciphers = cmp.Or(t.Ciphers, defaultCiphers)
	}
	if minor >= 18 && t.Versions == nil {
		t.Versions = defaultTLSVersions
	}
	if minor >= 24 && t.ALPN == nil {
		t.ALPN = defaultALPN
	}
}

// checkPoolTLS refuses empty lists and unknown versions. Other values were checked before.
func checkPoolTLS(t *model.PoolTLS) error {
	if err := checkTLSVersions(t.Versions); err != nil {
		return err
	}
	if t.ALPN != nil && len(t.ALPN) == 0 {
		return fault.Invalid("Empty ALPN protocol list. Either specify at least one ALPN protocol or remove this parameter to use the default.")
	}
	return nil
}

func (c *Checks) checkPoolSecrets(t *model.PoolTLS) error {
	if t.Certificate != "" {
		if err := c.checkCertificates(t.Certificate); err != nil {
			return err
		}
	}
	return c.checkAuthority(t.CA, t.CRL)
}

// setTLS sets the TLS options of the pool, if there are any.
func setTLS(p *model.Pool, t model.PoolTLS) {
	p.TLS = nil
	if t.Enabled || t.Certificate != "" || t.CA != "" || t.CRL != "" || t.Ciphers != "" || len(t.Versions)+len(t.ALPN) > 0 {
		p.TLS = &t
	}
}
