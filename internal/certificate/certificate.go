// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package certificate reads what a Secret of type kubernetes.io/tls holds, and writes it
// as Octavia takes it: a PKCS #12 bundle.
//
// It is pure, and imports nothing of ours. None of its errors holds any part of a Secret:
// they reach conditions, events and logs.
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

// Certificate is a certificate that can be used: with its key, which fits, and those that
// lead from it to its authority.
type Certificate struct {
	// chain begins with the certificate itself.
	chain []*x509.Certificate
	key   crypto.Signer
}

// Read reads a Secret of type kubernetes.io/tls. Its errors say what is wrong in words
// that follow "Secret NAME ".
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
	if chain[0].Subject.CommonName == "" {
		// Octavia 11 reads the first common name, whether there is one or not, and what it
		// made of the request stays behind (get_host_names in common/tls_utils/cert_parser.py).
		return nil, fmt.Errorf("has a certificate in %s without a common name, which Octavia rejects; add one to the subject (spec.commonName of cert-manager)", corev1.TLSCertKey)
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

// readKey reads the first key in PEM. Octavia writes keys in the form of OpenSSL of old,
// which is there for RSA and ECDSA only.
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

// parseKey tries all forms that there are, since some tools name the one and write the
// other. Nil is none.
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

// Hash tells the certificate from all others, with those that it came with. The key
// has no part in it: it is the only one that fits.
func (c *Certificate) Hash() string {
	h := sha256.New()
	for _, one := range c.chain {
		h.Write(one.Raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// ErrNotValid is a certificate that clients refuse for its dates.
var ErrNotValid = errors.New("clients refuse it")

// CheckDates reports whether clients take the certificate at the time, as far as its dates
// go. The error wraps ErrNotValid.
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
