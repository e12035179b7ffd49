// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// Bundle is the certificate with its key and what it came with as a PKCS #12 bundle
// (RFC 7292) without a password, which Octavia demands. OpenSSL 1.1.1 and later read it.
//
// Octavia takes such a bundle as one secret or, an older way that it means to give up, a
// container of several secrets. A bundle is made by one call that does all or nothing,
// and is deleted by one.
func (c *Certificate) Bundle() ([]byte, error) {
	bundle, err := pkcs12.Modern2023.Encode(c.key, c.chain[0], c.chain[1:], "")
	if err != nil {
		return nil, fmt.Errorf("write certificate %s with its key as PKCS #12: unsupported contents", c.Hash())
	}
	return bundle, nil
}
