// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package certificate_test

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"software.sslmate.com/src/go-pkcs12"

	"github.com/kube-octavia/kube-octavia/internal/model/certificate"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// signed returns a certificate of the key, signed by itself.
func signed(t testing.TB, name string, key crypto.Signer) []byte {
	t.Helper()
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func pkcs8(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

func data(certificate, key []byte) map[string][]byte {
	return map[string][]byte{"tls.crt": certificate, "tls.key": key}
}

func read(t *testing.T, data map[string][]byte) *certificate.Certificate {
	t.Helper()
	c, err := certificate.Read(corev1.SecretTypeTLS, data)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestACertificateNeedsNoCommonNameAndSaysWhetherItHasOne(t *testing.T) {
	key := newKey(t)
	for _, name := range []string{"", "web"} {
		if got := read(t, data(signed(t, name, key), pkcs8(t, key))).HasCommonName(); got != (name != "") {
			t.Errorf("common name %q: %v", name, got)
		}
	}
}

func TestACertificateSaysWhetherItHasAnyName(t *testing.T) {
	key := newKey(t)
	for _, c := range []struct {
		name string

		common string
		dns    []string
		want   bool
	}{
		{"no name", "", nil, false},
		{"common name", "web", nil, true},
		{"DNS name", "", []string{"web.example.org"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			plan := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: c.common}, DNSNames: c.dns, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1)}, NotAfter: time.Now().Add(time.Hour)}
			der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
			if err != nil {
				t.Fatal(err)
			}
			if got := read(t, data(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pkcs8(t, key))).HasName(); got != c.want {
				t.Errorf("common name %q, DNS names %v: %t", c.common, c.dns, got)
			}
		})
	}
}

func TestErrorsOfUnusableSecretsDoNotContainTheKey(t *testing.T) {
	key, other := newKey(t), newKey(t)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := signed(t, "web", key)
	private := pkcs8(t, key)
	words := strings.Fields(string(private))
	for name, c := range map[string]struct {
		kind  corev1.SecretType
		data  map[string][]byte
		words string
	}{
		"another type":                            {corev1.SecretTypeOpaque, data(good, private), "kubernetes.io/tls"},
		"no certificate":                          {corev1.SecretTypeTLS, data(nil, private), "no tls.crt"},
		"no key":                                  {corev1.SecretTypeTLS, map[string][]byte{"tls.crt": good}, "no tls.key"},
		"a certificate of nonsense":               {corev1.SecretTypeTLS, data([]byte("hello"), private), "no certificate in tls.crt"},
		"a broken certificate":                    {corev1.SecretTypeTLS, data([]byte("-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"), private), "position 1"},
		"a broken second certificate":             {corev1.SecretTypeTLS, data(append(bytes.Clone(good), "-----BEGIN CERTIFICATE-----\naGVsbG8=\n-----END CERTIFICATE-----\n"...), private), "position 2"},
		"a key of nonsense":                       {corev1.SecretTypeTLS, data(good, []byte(words[3])), "no private key in tls.key"},
		"a key in a block of another type":        {corev1.SecretTypeTLS, data(good, []byte("-----BEGIN "+words[3]+"-----\naGVsbG8=\n-----END "+words[3]+"-----\n")), "no private key in tls.key"},
		"a certificate for a key":                 {corev1.SecretTypeTLS, data(good, good), "no private key in tls.key"},
		"an encrypted key":                        {corev1.SecretTypeTLS, data(good, pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("hello")})), "must not be encrypted"},
		"another certificate's key":               {corev1.SecretTypeTLS, data(good, pkcs8(t, other)), "does not fit"},
		"the first certificate is of another key": {corev1.SecretTypeTLS, data(append(signed(t, "ca", other), good...), private), "does not fit"},
		"a key that Octavia refuses":              {corev1.SecretTypeTLS, data(signed(t, "web", edwards), pkcs8(t, edwards)), "neither RSA nor ECDSA"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := certificate.Read(c.kind, c.data)
			if err == nil || !strings.Contains(err.Error(), c.words) {
				t.Error(err)
				return
			}
			for _, line := range words[3 : len(words)-3] {
				if strings.Contains(err.Error(), line[:8]) {
					t.Errorf("the error has a part of the key: %v", err)
				}
			}
		})
	}
}

func TestKeysAreReadInEveryCommonForm(t *testing.T) {
	key := newKey(t)
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	old, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]map[string][]byte{
		"ECDSA, PKCS #8": data(signed(t, "web", key), pkcs8(t, key)),
		"ECDSA, SEC 1":   data(signed(t, "web", key), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})),
		"RSA, PKCS #8":   data(signed(t, "web", old), pkcs8(t, old)),
		"RSA, PKCS #1":   data(signed(t, "web", old), pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(old)})),
		"with comments":  data(append([]byte("web.example.com\n"), signed(t, "web", key)...), append([]byte("the key\n"), pkcs8(t, key)...)),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := certificate.Read(corev1.SecretTypeTLS, c); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheHashIsOfTheCertificatesAndNotOfTheKey(t *testing.T) {
	key := newKey(t)
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, ca := signed(t, "web", key), signed(t, "ca", newKey(t))
	one := read(t, data(leaf, pkcs8(t, key)))
	same := read(t, data(append([]byte("a comment\n"), leaf...), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: sec1})))
	if one.Hash() != same.Hash() {
		t.Error("the same certificate has another hash")
	}
	for name, c := range map[string]*certificate.Certificate{
		"with an intermediate certificate":    read(t, data(append(bytes.Clone(leaf), ca...), pkcs8(t, key))),
		"another certificate of the same key": read(t, data(signed(t, "web", key), pkcs8(t, key))),
	} {
		t.Run(name, func(t *testing.T) {
			if c.Hash() == one.Hash() {
				t.Error("it has the same hash")
			}
		})
	}
}

func TestDatesAreChecked(t *testing.T) {
	key := newKey(t)
	c := read(t, data(signed(t, "web", key), pkcs8(t, key)))
	for name, test := range map[string]struct {
		at    time.Time
		words string
	}{
		"valid":         {now, ""},
		"expired":       {now.Add(2 * time.Hour), "expired at 2026-11-22 13:00:00 UTC"},
		"not valid yet": {now.Add(-2 * time.Hour), "valid from 2026-11-22 11:00:00 UTC"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.CheckDates(test.at)
			if (err == nil) != (test.words == "") || err != nil && (!errors.Is(err, certificate.ErrNotValid) || !strings.Contains(err.Error(), test.words)) {
				t.Errorf("at %v: %v", test.at, err)
			}
		})
	}
}

// That Octavia reads such a bundle, the contract shows (chain.p12).
func TestTheBundleHoldsTheKeyAndTheChainInItsOrder(t *testing.T) {
	key := newKey(t)
	leaf, ca, root := signed(t, "web", key), signed(t, "ca", newKey(t)), signed(t, "root", newKey(t))
	bundle, err := read(t, data(bytes.Join([][]byte{leaf, ca, root}, nil), pkcs8(t, key))).Bundle()
	if err != nil {
		t.Fatal(err)
	}
	private, first, rest, err := pkcs12.DecodeChain(bundle, "")
	if err != nil {
		t.Fatal(err)
	}
	if !key.Equal(private) {
		t.Error("it holds another key")
	}
	var chain []byte
	for _, one := range append([]*x509.Certificate{first}, rest...) {
		chain = append(chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw})...)
	}
	if want := bytes.Join([][]byte{leaf, ca, root}, nil); !bytes.Equal(chain, want) {
		t.Errorf("it holds\n%s", chain)
	}
}

func FuzzSecrets(f *testing.F) {
	key := newKey(f)
	f.Add(string(corev1.SecretTypeTLS), signed(f, "web", key), pkcs8(f, key))
	f.Add(string(corev1.SecretTypeTLS), []byte("-----BEGIN CERTIFICATE-----\n"), []byte("-----BEGIN PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, kind string, crt, key []byte) {
		c, err := certificate.Read(corev1.SecretType(kind), data(crt, key))
		if err != nil {
			return
		}
		if bundle, err := c.Bundle(); err != nil || len(bundle) == 0 || c.Hash() == "" {
			t.Errorf("it is taken and makes no bundle: %v", err)
		}
	})
}
