// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"regexp"
	"slices"
)

// TLS is where the certificates of a listener are kept, each with its key, as Octavia
// is told. At least one is there.
type TLS struct {
	// Certificate is for clients that name no host, or one that none of SNI is for.
	Certificate string `json:"certificate,omitempty"`
	// SNI are for clients that name a host.
	SNI []string `json:"sni,omitempty"`
}

// Refs returns all references, sorted, each once.
func (t TLS) Refs() []string {
	refs := slices.Clone(t.SNI)
	if t.Certificate != "" {
		refs = append(refs, t.Certificate)
	}
	slices.Sort(refs)
	return slices.Compact(refs)
}

// CertificateRefs returns the references of all listeners, sorted, each once.
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

// SecretRef is what a reference to Barbican leads to.
type SecretRef struct {
	// Kind is "containers" or "secrets", as in Barbican's API.
	Kind string
	ID   string
}

var secretRef = regexp.MustCompile(`^(?:[^\s,;]*/)?(containers|secrets)/([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$`)

// ParseSecretRef reads the end of a reference such as
// https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04. False
// means that Barbican makes no such references.
func ParseSecretRef(ref string) (SecretRef, bool) {
	m := secretRef.FindStringSubmatch(ref)
	if m == nil {
		return SecretRef{}, false
	}
	return SecretRef{Kind: m[1], ID: m[2]}, true
}

// SameSecret reports whether two references lead to the same object of Barbican.
func SameSecret(a, b string) bool {
	one, ok := ParseSecretRef(a)
	other, also := ParseSecretRef(b)
	return ok && also && one == other
}
