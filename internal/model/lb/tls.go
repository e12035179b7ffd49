// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"slices"
)

// TLS holds the references to the certificates of a listener, each with its key. There is at least one.
type TLS struct {
	// Certificate is for clients that send no host name, or a host name for which SNI has no certificate.
	Certificate string `json:"certificate,omitempty"`
	// SNI are for clients that send a host name.
	SNI []string `json:"sni,omitempty"`
}

// HSTS is header Strict-Transport-Security (RFC 6797), which makes browsers use a host only with TLS. The zero value is
// no header.
type HSTS struct {
	// Enabled adds the header. With a MaxAgeSeconds of 0, the header tells browsers to forget an earlier header.
	Enabled bool `json:"enabled"`
	// MaxAgeSeconds is how long browsers remember the header.
	MaxAgeSeconds int `json:"maxAgeSeconds"`
	// IncludeSubdomains extends the header to all subdomains of the host. Preload allows browser vendors to add the
	// host to their built-in list.
	IncludeSubdomains bool `json:"includeSubdomains,omitempty"`
	Preload           bool `json:"preload,omitempty"`
}

// Refs returns all references, sorted, without duplicates.
func (t TLS) Refs() []string {
	refs := slices.Clone(t.SNI)
	if t.Certificate != "" {
		refs = append(refs, t.Certificate)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// CertificateRefs returns the references of all listeners, sorted, without duplicates.
func (l LoadBalancer) CertificateRefs() []string {
	var refs []string
	for _, listener := range l.Listeners {
		if listener.TLS != nil {
			refs = append(refs, listener.TLS.Refs()...)
		}
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// SecretRef identifies an object in Barbican.
type SecretRef struct {
	// Kind is "containers" or "secrets", as in Barbican's API.
	Kind string
	ID   string
}

var secretRef = regexp.MustCompile(`^(?:[^\s,;]*/)?(containers|secrets)/([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$`)

// ParseSecretRef parses a reference such as
// https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04. It returns false for anything
// else.
func ParseSecretRef(ref string) (SecretRef, bool) {
	m := secretRef.FindStringSubmatch(ref)
	if m == nil {
		return SecretRef{}, false
	}
	return SecretRef{Kind: m[1], ID: m[2]}, true
}

// SameSecret reports whether two references are to the same object in Barbican.
func SameSecret(a, b string) bool {
	one, ok := ParseSecretRef(a)
	other, also := ParseSecretRef(b)
	return ok && also && one == other
}
