// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate

import (
	"fmt"

	"software.sslmate.com/src/go-pkcs12"
)

// Bundle returns the certificate with its key and chain as a PKCS #12 bundle (RFC 7292) without a password, as Octavia
// requires. OpenSSL 1.1.1 and later read it.
//
// Octavia accepts such a bundle as one secret. It also accepts a container of several secrets, an older form that is
// going to be removed. A bundle is created with one atomic call, and deleted with one.
func (c *Certificate) Bundle() ([]byte, error) {
	bundle, err := pkcs12.Modern2023.Encode(c.key, c.chain[0], c.chain[1:], "")
	if err != nil {
		return nil, fmt.Errorf("write certificate %s with its key as PKCS #12: unsupported contents", c.Hash())
	}
	return bundle, nil
}
