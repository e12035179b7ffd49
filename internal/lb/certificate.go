// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"fmt"
	"regexp"
)

// Certificate is one that was stored in Barbican for a Service.
type Certificate struct {
	// Name is the secret's. Barbican has neither tags nor descriptions, and names need not
	// be unique: it says whose the certificate is, and which.
	Name string
	// Ref is the reference that Octavia gets.
	Ref string
}

// certificatePrefix begins the names of certificates.
const certificatePrefix = "kube-octavia.certificate_"

// CertificateName is the name of the secret in Barbican that holds the certificate of the
// hash, for the Service.
func (o Owner) CertificateName(hash string) string {
	return certificatePrefix + o.ClusterUID + "_" + o.ServiceUID + "_" + hash
}

var certificateName = regexp.MustCompile("^" + regexp.QuoteMeta(certificatePrefix) + `([^\s_]+)_([^\s_]+)_([0-9a-f]{64})$`)

// Mark is whose the certificate is. There is none, ok is false, where the name is not one
// that CertificateName gives.
func (c Certificate) Mark() (_ Mark, ok bool) {
	found := certificateName.FindStringSubmatch(c.Name)
	if found == nil {
		return Mark{}, false
	}
	return Mark{ClusterUID: found[1], ServiceUID: found[2]}, true
}

// RefIn returns the reference by which a listener of the load balancer has the certificate,
// or "".
func (c Certificate) RefIn(l LoadBalancer) string {
	for _, ref := range l.CertificateRefs() {
		if SameSecret(ref, c.Ref) {
			return ref
		}
	}
	return ""
}

// InUse says which of the listeners ends TLS with the certificate, or "".
func (c Certificate) InUse(listeners []Listener) string {
	for _, l := range listeners {
		if c.RefIn(LoadBalancer{Listeners: []Listener{l}}) != "" {
			return fmt.Sprintf("listener %s terminates TLS with it", l.ID)
		}
	}
	return ""
}
