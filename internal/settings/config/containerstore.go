// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"fmt"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// The places where certificates are stored.
const (
	// BarbicanStore is the key manager of OpenStack.
	BarbicanStore = "barbican"
	externalStore = "external"
)

// ExternalContainers reports whether certificates are stored where only Octavia can read them: references to them may
// be any text, and are not checked.
func (l LoadBalancer) ExternalContainers() bool { return l.ContainerStore == externalStore }

// secretRef checks that Octavia accepts the value as a reference.
func secretRef(v parsed) string {
	if len(v.text) > 255 {
		return "is longer than 255 bytes"
	}
	return ""
}

// validateContainers checks that references match the place where certificates are stored.
func (f *file) validateContainers(at place, l LoadBalancer) {
	if f.refusedAt(at, "default-tls-container-ref") || f.refusedKey("LoadBalancer", "container-store") {
		return
	}
	if _, ok := lb.ParseSecretRef(l.TLSContainer); l.TLSContainer != "" && !ok && !l.ExternalContainers() {
		f.problem(f.lineOf(at.section, at.name, "default-tls-container-ref"), "%s default-tls-container-ref: %s", at.title(), fmt.Sprintf(
			"%q is not the address of a container or secret in Barbican, such as https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04; for another place set container-store = external",
			l.TLSContainer))
	}
}
