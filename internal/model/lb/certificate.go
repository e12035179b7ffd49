// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"regexp"
)

// Certificate is a certificate that was stored in Barbican for a Service.
type Certificate struct {
	// Name is the name of the secret. Barbican has no tags or descriptions, and its names need not be unique, so
	// the name contains the owner and the hash of the certificate.
	Name string
	// Ref is the reference for Octavia.
	Ref string
}

// certificatePrefix begins the names of certificates.
const certificatePrefix = "kube-octavia.certificate_"

// CertificateName returns the name of the Barbican secret for the Service's certificate with the hash.
func (o Owner) CertificateName(hash string) string {
	return certificatePrefix + o.ClusterUID + "_" + o.ServiceUID + "_" + hash
}

var certificateName = regexp.MustCompile("^" + regexp.QuoteMeta(certificatePrefix) + `([^\s_]+)_([^\s_]+)_([0-9a-f]{64})$`)

// Mark returns the owner of the certificate. ok is false for a name that CertificateName does not produce.
func (c Certificate) Mark() (_ Mark, ok bool) {
	found := certificateName.FindStringSubmatch(c.Name)
	if found == nil {
		return Mark{}, false
	}
	return Mark{ClusterUID: found[1], ServiceUID: found[2]}, true
}

// RefIn returns the reference with which the load balancer uses the certificate, or "".
func (c Certificate) RefIn(l LoadBalancer) string {
	for _, ref := range l.CertificateRefs() {
		if SameSecret(ref, c.Ref) {
			return ref
		}
	}
	return ""
}

// InUse returns a text that names the listener that uses the certificate, or "".
func (c Certificate) InUse(listeners []Listener) string {
	for _, l := range listeners {
		if c.RefIn(LoadBalancer{Listeners: []Listener{l}}) != "" {
			return fmt.Sprintf("listener %s terminates TLS with it", l.ID)
		}
	}
	return ""
}
