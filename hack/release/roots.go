// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// certificateBundle returns the root certificates that Mozilla trusts for TLS servers, in PEM. It
// omits those that Mozilla trusts only under conditions, such as for certificates issued before a
// date: a PEM file cannot express conditions, and without them the root would be trusted too much.
func certificateBundle() ([]byte, error) {
	var bundled bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			return nil, fmt.Errorf("read a root certificate: %w", err)
		}
		fmt.Fprintf(&bundled, "# %s\n", certificate.Subject)
		if err := pem.Encode(&bundled, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return bundled.Bytes(), nil
}
