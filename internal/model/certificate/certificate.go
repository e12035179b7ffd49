// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate reads Secrets of type kubernetes.io/tls and converts them to Octavia's form, a PKCS #12
// bundle.
//
// It is pure. Its errors contain no part of a Secret: they reach conditions, events and logs.
package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Certificate is a usable certificate with its key and chain.
type Certificate struct {
	// chain begins with the certificate itself.
	chain []*x509.Certificate
	key   crypto.Signer
}

// Read reads a Secret of type kubernetes.io/tls. The texts of its errors continue a sentence that begins with "Secret
// NAME ".
func Read(kind corev1.SecretType, data map[string][]byte) (*Certificate, error) {
	if kind != corev1.SecretTypeTLS {
		return nil, fmt.Errorf("is of type %q, not %s", kind, corev1.SecretTypeTLS)
	}
	for _, name := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(data[name]) == 0 {
			return nil, fmt.Errorf("has no %s", name)
		}
	}
	chain, err := readChain(data[corev1.TLSCertKey])
	if err != nil {
		return nil, err
	}
	key, err := readKey(data[corev1.TLSPrivateKeyKey])
	if err != nil {
		return nil, err
	}
	public, comparable := chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool })
	if !comparable || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("has a key in %s that does not fit the first certificate in %s", corev1.TLSPrivateKeyKey, corev1.TLSCertKey)
	}
	return &Certificate{chain, key}, nil
}

// HasCommonName reports whether the subject of the certificate has a common name. Not every release of Octavia accepts
// a certificate without a common name.
func (c *Certificate) HasCommonName() bool { return c.chain[0].Subject.CommonName != "" }

// HasName reports whether the certificate has a common name or a DNS name. No release of Octavia accepts a certificate
// that has neither, such as one for addresses only (cert_parser.py of Octavia 16 and 19: "No CN or DNSName(s) found in
// certificate").
func (c *Certificate) HasName() bool { return c.HasCommonName() || len(c.chain[0].DNSNames) > 0 }

func readChain(text []byte) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("has in %s, at position %d, something that is not a certificate", corev1.TLSCertKey, len(chain)+1)
		}
		chain = append(chain, one)
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("has no certificate in %s; it must be PEM", corev1.TLSCertKey)
	}
	return chain, nil
}

// readKey reads the first PEM key. Octavia writes keys in OpenSSL's traditional form, which exists for RSA and
// ECDSA only.
func readKey(text []byte) (crypto.Signer, error) {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			continue
		}
		switch key := parseKey(block.Bytes).(type) {
		case *rsa.PrivateKey:
			return key, nil
		case *ecdsa.PrivateKey:
			return key, nil
		case nil:
			return nil, fmt.Errorf("has a key in %s that cannot be read; it must not be encrypted", corev1.TLSPrivateKeyKey)
		}
		return nil, fmt.Errorf("has a key in %s that is neither RSA nor ECDSA, the only types that Octavia accepts", corev1.TLSPrivateKeyKey)
	}
	return nil, fmt.Errorf("has no private key in %s; it must be PEM", corev1.TLSPrivateKeyKey)
}

// parseKey tries all forms, because some tools use the PEM header of another form. It returns nil if der has none of
// these forms.
func parseKey(der []byte) any {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key
	}
	return nil
}

// Hash identifies the certificate and its chain. The key need not be part of it: only one key fits.
func (c *Certificate) Hash() string {
	h := sha256.New()
	for _, one := range c.chain {
		h.Write(one.Raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ErrNotValid is the error for a certificate that clients reject because of its dates.
var ErrNotValid = errors.New("clients refuse it")

// CheckDates checks the dates of the certificate. The error wraps ErrNotValid.
func (c *Certificate) CheckDates(now time.Time) error {
	const layout = "2006-01-02 15:04:05 MST"
	switch leaf := c.chain[0]; {
	case now.After(leaf.NotAfter):
		return fmt.Errorf("it has expired at %s: %w", leaf.NotAfter.UTC().Format(layout), ErrNotValid)
	case now.Before(leaf.NotBefore):
		return fmt.Errorf("it is valid from %s on: %w", leaf.NotBefore.UTC().Format(layout), ErrNotValid)
	}
	return nil
}
