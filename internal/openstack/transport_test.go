// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// writePEM writes one block to a file and returns its path and text.
func writePEM(t *testing.T, kind string, der []byte) (path, text string) {
	t.Helper()
	block := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
	path = filepath.Join(t.TempDir(), "file.pem")
	if err := os.WriteFile(path, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, string(block)
}

// clientCertificate makes a certificate and its key and returns their files.
func clientCertificate(t *testing.T) (certFile, keyFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, _ = writePEM(t, "CERTIFICATE", cert)
	keyFile, _ = writePEM(t, "EC PRIVATE KEY", der)
	return certFile, keyFile
}

func TestTLSFollowsTheConfiguration(t *testing.T) {
	c := newCloudWith(t, (*httptest.Server).StartTLS)
	authority, text := writePEM(t, "CERTIFICATE", c.Certificate().Raw)
	tests := map[string]struct {
		change  func(*config.Global)
		refused string
	}{
		"nothing said":   {func(*config.Global) {}, "failed to verify certificate"},
		"ca-file":        {func(g *config.Global) { g.CAFile = authority }, ""},
		"cafilecontents": {func(g *config.Global) { g.CAFileContents = text }, ""},
		"tls-insecure":   {func(g *config.Global) { g.TLSInsecure = true }, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			g := c.credentials()
			test.change(&g)
			s, err := Connect(context.Background(), Options{Config: g})
			if err == nil {
				s.Close()
			}
			if (err != nil) != (test.refused != "") || err != nil && !strings.Contains(err.Error(), test.refused) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheClientCertificateIsShown(t *testing.T) {
	c := newCloudWith(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS12}
		s.StartTLS()
	})
	g := c.credentials()
	g.TLSInsecure = true
	if s, err := Connect(context.Background(), Options{Config: g}); err == nil {
		s.Close()
		t.Error("connected without a certificate")
	}
	g.CertFile, g.KeyFile = clientCertificate(t)
	s, err := Connect(context.Background(), Options{Config: g})
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
	g.KeyFile = g.CertFile
	if _, err := Connect(context.Background(), Options{Config: g}); Classify(err) != Invalid || !strings.Contains(err.Error(), "[Global] cert-file") {
		t.Errorf("a certificate for a key: %v", err)
	}
}
