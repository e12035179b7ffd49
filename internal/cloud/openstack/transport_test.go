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
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
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

// clientCertificate creates a certificate and its key and returns their files.
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

func TestAServerWithAnotherCertificateIsRefusedAndTheErrorNamesCAFile(t *testing.T) {
	c := newCloudWith(t, (*httptest.Server).StartTLS)
	g := c.credentials()
	g.CAFile, _ = writePEM(t, "CERTIFICATE", serverCertificate(t).Certificate[0])
	s, err := Connect(context.Background(), Options{Config: g})
	if err == nil {
		s.Close()
	}
	if Classify(err) != Transient || !strings.Contains(err.Error(), "certificate signed by unknown authority; check ca-file in [Global]") {
		t.Errorf("class %s: %v", Classify(err), err)
	}
}

func TestCAFileIsReadAgain(t *testing.T) {
	var shown atomic.Pointer[tls.Certificate]
	before, after := serverCertificate(t), serverCertificate(t)
	shown.Store(before)
	c := newCloudWith(t, func(s *httptest.Server) {
		s.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return shown.Load(), nil }}
		s.StartTLS()
		s.TLS.Certificates = nil // otherwise httptest's own takes precedence
	})
	s := c.connect(func(o *Options) { o.Config.CAFile, _ = writePEM(t, "CERTIFICATE", before.Certificate[0]) })
	g := s.login.global
	shown.Store(after)
	c.CloseClientConnections()
	if err := get(context.Background(), s, "lbaas"); Classify(err) != Transient || !strings.Contains(Wrap("read", err).Error(), "check ca-file") {
		t.Errorf("a server with another certificate: %v", err)
	}
	if changed, err := s.Reload(context.Background(), g); changed || err != nil {
		t.Errorf("nothing has changed: %t, %v", changed, err)
	}
	_, text := writePEM(t, "CERTIFICATE", after.Certificate[0])
	if err := os.WriteFile(g.CAFile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := s.Reload(context.Background(), g); !changed || err != nil {
		t.Errorf("changed: %t, %v", changed, err)
	}
	if err := get(context.Background(), s, "lbaas"); err != nil {
		t.Error(err)
	}
}

// serverCertificate returns a self-signed certificate of 127.0.0.1.
func serverCertificate(t *testing.T) *tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		Subject: pkix.Name{CommonName: rand.Text()}, IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestTheClientCertificateIsSent(t *testing.T) {
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
