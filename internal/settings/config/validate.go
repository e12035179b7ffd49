// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Authentication is the way in which a session authenticates to Keystone.
type Authentication string

// The ways to authenticate.
const (
	// ByPassword uses a user and a password.
	ByPassword Authentication = "password"
	// ByApplicationCredential uses an application credential.
	ByApplicationCredential Authentication = "application credential"
	// ByToken uses a given token, which cannot be renewed.
	ByToken Authentication = "token"
	// ByTrust uses a trustee's user and password with a trust.
	ByTrust Authentication = "trust"
)

// Authentication returns the way in which g authenticates. For a Config it is one of the constants. For a Global that
// Load has not checked, it is empty if no credentials are set.
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

// UserDomain returns the id or the name of the user's domain: the user's own, or else the common one of user and
// project. Both are empty if there is none.
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

// Trustee returns the user of the trust: the trustee, or else the user.
func (g Global) Trustee() (id string, password Secret) {
	return cmp.Or(g.TrusteeID, g.UserID), cmp.Or(g.TrusteePassword, g.Password)
}

// validate checks the combination of keys. With incomplete set, credentials may still come from elsewhere. Keys with
// invalid values are ignored, because their own problem is sufficient.
func (f *file) validate(incomplete bool) {
	g, lb := f.config.Global, f.config.LoadBalancer
	f.validateZeros()
	f.validateMonitor(place{section: "LoadBalancer"}, lb)
	f.validateContainers(place{section: "LoadBalancer"}, lb)
	for _, name := range lb.ClassNames() {
		class, at := lb.Classes[name], place{section: classSection, name: name}
		if class.MonitorTimeout != lb.MonitorTimeout || class.MonitorDelay != lb.MonitorDelay {
			f.validateMonitor(at, class)
		}
		if class.TLSContainer != lb.TLSContainer {
			f.validateContainers(at, class)
		}
	}
	f.validateClusterIP(f.config.ClusterIP)
	if (g.CertFile == "") != (g.KeyFile == "") && !f.refusedKey(globalSection, "cert-file", "key-file") {
		f.problem(f.lineOf(globalSection, "", "cert-file", "key-file"), "[Global] cert-file and key-file belong together: set both, or none")
	}
	if !g.UseClouds && (g.Cloud != "" || g.CloudsFile != "") {
		key, _ := findKey(globalSection, "cloud")
		if g.Cloud == "" {
			key, _ = findKey(globalSection, "clouds-file")
		}
		f.notice(key, f.lineOf(globalSection, "", key.Name), NoEffect, "The key has no effect without use-clouds = true.", "Write use-clouds = true or remove the key.")
	}
	if !incomplete {
		before := len(f.problems)
		f.validateAuthentication(g)
		f.explainByDoubts(len(f.problems) > before)
	}
}

// explainByDoubts adds the doubts about the login to its problems, because they may be the cause.
func (f *file) explainByDoubts(found bool) {
	if !found {
		return
	}
	f.sortNotices()
	for _, n := range f.config.LoginDoubts() {
		f.problems = append(f.problems, errors.New(n.String()))
	}
}

// title returns the section's name in errors.
func (p place) title() string {
	if p.name == "" {
		return "[" + p.section + "]"
	}
	return fmt.Sprintf("[%s %q]", p.section, p.name)
}

// refusedAt is refusedKey for keys that a class may have, too.
func (f *file) refusedAt(at place, keys ...string) bool {
	return f.refusedIn(at.section, at.name, keys...) || f.refusedKey("LoadBalancer", keys...)
}

func (f *file) validateMonitor(at place, lb LoadBalancer) {
	if lb.MonitorTimeout > lb.MonitorDelay && !f.refusedAt(at, "monitor-timeout", "monitor-delay") {
		f.problem(f.lineOf(at.section, at.name, "monitor-timeout", "monitor-delay"),
			"%s monitor-timeout (%v) must not be above monitor-delay (%v)", at.title(), lb.MonitorTimeout, lb.MonitorDelay)
	}
}

// globalSection is the section of the credentials.
const globalSection = "Global"

// validateAuthentication checks that there is exactly one complete way to authenticate.
func (f *file) validateAuthentication(g Global) {
	if f.refusedKey(globalSection, "use-clouds") {
		return // clouds.yaml may contain the rest
	}
	f.validateAddress(g)
	if f.refusedKey(globalSection, credentialKeys...) {
		return // the intended way is unknown
	}
	if ways := f.waysToAuthenticate(g); len(ways) > 1 {
		f.missing("more than one way to authenticate is set (%s): keep one", strings.Join(ways, ", "))
		return
	}
	f.validateWay(g)
}

// credentialKeys are the keys that determine the way to authenticate.
var credentialKeys = []string{"password", "token", "trust-id", "trustee-id", "trustee-password",
	"application-credential-id", "application-credential-name", "application-credential-secret"}

func (f *file) validateAddress(g Global) {
	if f.refusedKey(globalSection, "auth-url") {
		return
	}
	if g.AuthURL == "" {
		f.missing("auth-url is missing: set it to the address of Keystone, such as https://keystone.example.com:5000/v3")
	} else if !isAddress(g.AuthURL) {
		f.problem(f.lineOf(globalSection, "", "auth-url"), "[Global] auth-url is not an http or https address%s", quoteHint(g.AuthURL))
	}
}

// isAddress reports whether text is an address of a service.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// validateWay checks that the one way to authenticate is complete.
func (f *file) validateWay(g Global) {
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

// waysToAuthenticate returns the set secrets that exclude each other.
func (f *file) waysToAuthenticate(g Global) []string {
	var ways []string
	if g.ApplicationCredentialID != "" || g.ApplicationCredentialName != "" || g.ApplicationCredentialSecret != "" {
		ways = append(ways, "application-credential-*")
	}
	if g.Token != "" {
		ways = append(ways, "token")
	}
	if g.TrustID != "" {
		return append(ways, "trust-id") // the password may be the trustee's
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

// validateUser checks that the user is identified in exactly one way; absent is the error if it is
// not identified at all.
func (f *file) validateUser(g Global, absent string) {
	id, name := g.UserDomain()
	switch {
	case f.refusedKey(globalSection, "user-id", "username", "user-domain-id", "user-domain-name", "domain-id", "domain-name"):
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
	case f.refusedKey(globalSection, "tenant-id", "tenant-name", "tenant-domain-id", "tenant-domain-name", "domain-id", "domain-name"):
	case g.TenantID != "" || g.TenantName == "":
	case id == "" && name == "":
		f.missing("tenant-name needs a domain: set tenant-domain-name, tenant-domain-id, domain-name or domain-id")
	case id != "" && name != "":
		f.missing("the project's domain is given by id and by name: keep one")
	}
}

// missing records a problem of [Global] as a whole.
func (f *file) missing(format string, args ...any) { f.problem(0, "[Global] "+format, args...) }
