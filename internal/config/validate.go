// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Authentication is the way a session authenticates at Keystone.
type Authentication string

// The ways to authenticate.
const (
	// ByPassword uses user and password.
	ByPassword Authentication = "password"
	// ByApplicationCredential uses an application credential.
	ByApplicationCredential Authentication = "application credential"
	// ByToken uses a given token, which cannot be renewed.
	ByToken Authentication = "token"
	// ByTrust uses a trustee's user and password under a trust.
	ByTrust Authentication = "trust"
)

// Authentication tells how g authenticates. Of a Config it is one of the constants; of a Global that no Load has checked it
// is empty when no credentials are set.
func (g Global) Authentication() Authentication {
	switch {
	case g.TrustID != "":
		return ByTrust
	case g.ApplicationCredentialID != "" || g.ApplicationCredentialName != "" || g.ApplicationCredentialSecret != "":
		return ByApplicationCredential
	case g.Password != "":
		return ByPassword
	case g.Token != "":
		return ByToken
	}
	return ""
}

// UserDomain returns the id or the name of the user's domain: its own, or else that of user and project together. Both are
// empty when there is none.
func (g Global) UserDomain() (id, name string) {
	if g.UserDomainID != "" || g.UserDomainName != "" {
		return g.UserDomainID, g.UserDomainName
	}
	return g.DomainID, g.DomainName
}

// TenantDomain returns the id or the name of the project's domain in the same way.
func (g Global) TenantDomain() (id, name string) {
	if g.TenantDomainID != "" || g.TenantDomainName != "" {
		return g.TenantDomainID, g.TenantDomainName
	}
	return g.DomainID, g.DomainName
}

// Trustee returns who acts under the trust: the trustee, or else the user.
func (g Global) Trustee() (id string, password Secret) {
	return cmp.Or(g.TrusteeID, g.UserID), cmp.Or(g.TrusteePassword, g.Password)
}

// validate checks what keys say together. With incomplete set, credentials may still come from elsewhere.
func (f *file) validate(incomplete bool) {
	g, lb := f.config.Global, f.config.LoadBalancer
	f.validateMonitor("[LoadBalancer]", f.lineOf("LoadBalancer", "monitor-timeout", "monitor-delay"), lb)
	f.validateContainers("[LoadBalancer]", f.lineOf("LoadBalancer", "default-tls-container-ref"), lb)
	for _, name := range lb.ClassNames() {
		f.validateMonitor(fmt.Sprintf("[%s %q]", classSection, name), f.lineOf(classSection, "monitor-timeout", "monitor-delay"), lb.Classes[name])
		if ref := lb.Classes[name].TLSContainer; ref != lb.TLSContainer {
			f.validateContainers(fmt.Sprintf("[%s %q]", classSection, name), f.lineOf(classSection, "default-tls-container-ref"), lb.Classes[name])
		}
	}
	f.validateClusterIP(f.config.ClusterIP)
	if (g.CertFile == "") != (g.KeyFile == "") {
		f.problem(f.lineOf("Global", "cert-file", "key-file"), "[Global] cert-file and key-file belong together: set both, or none")
	}
	if !g.UseClouds && (g.Cloud != "" || g.CloudsFile != "") {
		key, _ := findKey("Global", "cloud")
		if g.Cloud == "" {
			key, _ = findKey("Global", "clouds-file")
		}
		f.notice(key, f.lineOf("Global", key.Name), "has no effect without use-clouds = true")
	}
	if !incomplete {
		f.validateAuthentication(g)
	}
}

func (f *file) validateMonitor(section string, line int, lb LoadBalancer) {
	if lb.MonitorTimeout > lb.MonitorDelay {
		f.problem(line, "%s monitor-timeout (%v) must not be above monitor-delay (%v)", section, lb.MonitorTimeout, lb.MonitorDelay)
	}
}

// validateAuthentication checks that there is one complete way to authenticate.
func (f *file) validateAuthentication(g Global) {
	if g.AuthURL == "" {
		f.missing("auth-url is missing: set it to the address of Keystone, such as https://keystone.example.com:5000/v3")
	} else if u, err := url.Parse(g.AuthURL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		f.problem(f.lineOf("Global", "auth-url"), "[Global] auth-url is not an http or https address")
	}
	if ways := f.waysToAuthenticate(g); len(ways) > 1 {
		f.missing("more than one way to authenticate is set (%s): keep one", strings.Join(ways, ", "))
		return
	}
	switch g.Authentication() {
	case ByTrust:
		id, password := g.Trustee()
		if password == "" {
			f.missing("trust-id needs trustee-password")
		}
		if id == "" {
			f.validateUser(g, "trust-id needs trustee-id")
		}
	case ByApplicationCredential:
		f.validateApplicationCredential(g)
	case ByPassword:
		f.validateUser(g, "password needs user-id or username")
		f.validateTenant(g)
	case ByToken:
		if g.UserID != "" || g.Username != "" {
			f.missing("token cannot be combined with a user: remove username and user-id, or use password instead of token")
		}
		f.validateTenant(g)
	default:
		f.missing("credentials are missing: set password with username or user-id, or application-credential-id with " +
			"application-credential-secret, or trust-id with trustee-id and trustee-password, or token, or use-clouds")
	}
}

// waysToAuthenticate lists the secrets that exclude each other and are set nevertheless.
func (f *file) waysToAuthenticate(g Global) []string {
	var ways []string
	if g.ApplicationCredentialID != "" || g.ApplicationCredentialName != "" || g.ApplicationCredentialSecret != "" {
		ways = append(ways, "application-credential-*")
	}
	if g.Token != "" {
		ways = append(ways, "token")
	}
	if g.TrustID != "" {
		return append(ways, "trust-id") // password may be the trustee's
	}
	if g.Password != "" {
		ways = append(ways, "password")
	}
	slices.Sort(ways)
	return ways
}

func (f *file) validateApplicationCredential(g Global) {
	switch {
	case g.ApplicationCredentialSecret == "":
		f.missing("an application credential needs application-credential-secret")
	case g.ApplicationCredentialID == "" && g.ApplicationCredentialName == "":
		f.missing("application-credential-secret needs application-credential-id or application-credential-name")
	}
	if g.ApplicationCredentialID == "" && g.ApplicationCredentialName != "" {
		f.validateUser(g, "application-credential-name needs user-id or username")
	}
}

// validateUser checks that the user is named in one way; absent is said when it is not named at all.
func (f *file) validateUser(g Global, absent string) {
	id, name := g.UserDomain()
	switch {
	case g.UserID == "" && g.Username == "":
		f.missing("%s", absent)
	case g.UserID != "" && g.Username != "":
		f.missing("set username or user-id, not both")
	case g.UserID != "":
	case id == "" && name == "":
		f.missing("username needs a domain: set user-domain-name, user-domain-id, domain-name or domain-id")
	case id != "" && name != "":
		f.missing("the user's domain is given by id and by name: keep one")
	}
}

func (f *file) validateTenant(g Global) {
	id, name := g.TenantDomain()
	switch {
	case g.TenantID != "" || g.TenantName == "":
	case id == "" && name == "":
		f.missing("tenant-name needs a domain: set tenant-domain-name, tenant-domain-id, domain-name or domain-id")
	case id != "" && name != "":
		f.missing("the project's domain is given by id and by name: keep one")
	}
}

// missing records a problem of [Global] as a whole.
func (f *file) missing(format string, args ...any) { f.problem(0, "[Global] "+format, args...) }

// lineOf returns the line of the first of keys that is set, or 0.
func (f *file) lineOf(section string, keys ...string) int {
	for _, key := range keys {
		if line := f.lines[section+"."+key]; line > 0 {
			return line
		}
	}
	return 0
}
