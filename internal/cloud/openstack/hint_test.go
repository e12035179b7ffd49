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
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// certificateFor returns a self-signed certificate of a host that expires at end, with its PEM text.
func certificateFor(t *testing.T, host string, end time.Time) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "cloud"}, DNSNames: []string{host},
		NotBefore: end.Add(-24 * time.Hour), NotAfter: end, IsCA: true, BasicConstraintsValid: true}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

// withCertificate starts a server with a certificate of the host that expires at end, and returns its CA.
func withCertificate(t *testing.T, host string, end time.Time) (address, ca string) {
	t.Helper()
	certificate, ca := certificateFor(t, host, end)
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}} //nolint:gosec // a server of the test
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL, ca
}

// rawServer answers each connection with the bytes and closes it.
func rawServer(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answer)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = listener.Close(); <-done })
	return "http://" + listener.Addr().String()
}

func replace(address, from, to string) string { return strings.Replace(address, from, to, 1) }

// wrongAddresses has addresses at which there is no service, or not with this scheme. They are created when they are
// needed.
var wrongAddresses = map[string]struct {
	address func(*testing.T) (address, ca string)
	// keystone and service are parts of the error if this is the address of Keystone or of another
	// service.
	keystone, service string
}{
	"https to a server without TLS": {
		func(t *testing.T) (string, string) {
			return replace(rawServer(t, "HTTP/1.1 400 Bad Request\r\n\r\n"), "http", "https"), ""
		},
		"https:// must be http:// in auth-url in [Global]", "https:// must be http:// in the endpoint of the load-balancer service",
	},
	"http to a server with TLS": {
		func(t *testing.T) (string, string) {
			address, _ := withCertificate(t, "127.0.0.1", time.Now().Add(time.Hour))
			return replace(address, "https", "http"), ""
		},
		"the server expects https; http:// must be https:// in auth-url", "http:// must be https:// in the endpoint of the load-balancer service",
	},
	"http to Apache httpd with TLS": {
		func(t *testing.T) (string, string) {
			return rawServer(t, "HTTP/1.1 400 Bad Request\r\nContent-Length: 66\r\n\r\nReason: You're speaking plain HTTP to an SSL-enabled server port.\n"), ""
		},
		"http:// must be https:// in auth-url", "http:// must be https:// in the endpoint",
	},
	"http to a server that answers with an alert of TLS": {
		func(t *testing.T) (string, string) { return rawServer(t, "\x15\x03\x01\x00\x02\x02\x0a"), "" },
		"http:// must be https:// in auth-url", "http:// must be https:// in the endpoint",
	},
	"a certificate of an unknown CA": {
		func(t *testing.T) (string, string) {
			address, _ := withCertificate(t, "127.0.0.1", time.Now().Add(time.Hour))
			return address, ""
		},
		"check ca-file in [Global]", "check ca-file in [Global]",
	},
	"a certificate of another host": {
		func(t *testing.T) (string, string) {
			return withCertificate(t, "cloud.example.com", time.Now().Add(time.Hour))
		},
		"the host must be one of the names in the certificate: check auth-url in [Global]",
		"the host must be one of the names in the certificate: check the endpoint of the load-balancer service in the service catalogue",
	},
	"a certificate that has expired": {
		func(t *testing.T) (string, string) {
			return withCertificate(t, "127.0.0.1", time.Now().Add(-time.Hour))
		},
		"the operator of the cloud must renew the certificate", "the operator of the cloud must renew the certificate",
	},
	"a host without an address": {
		func(*testing.T) (string, string) { return "http://keystone.invalid", "" },
		"check the host in auth-url in [Global], and the DNS of this machine or Pod", "check the host in the endpoint of the load-balancer service",
	},
	"a port where nothing listens": {
		func(*testing.T) (string, string) { return "http://127.0.0.1:1", "" },
		"nothing listens there: check host and port in auth-url", "nothing listens there: check host and port in the endpoint of the load-balancer service",
	},
	"nothing": {
		func(t *testing.T) (string, string) { return serve(t, http.NotFound), "" },
		"/v3/auth/tokens; is auth-url the address of Keystone?", "ask the operator of the cloud whether that is right",
	},
	"a web page": {
		func(t *testing.T) (string, string) {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>Log in</html>") }), ""
		},
		"this is a web page, such as those of a dashboard, a login or a proxy; is auth-url the address of Keystone?", "ask the operator of the cloud whether that is right",
	},
	"a web page that forbids": {
		func(t *testing.T) (string, string) {
			return serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.WriteHeader(http.StatusMethodNotAllowed)
			}), ""
		},
		"this is a web page", "ask the operator of the cloud whether that is right",
	},
}

func serve(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return server.URL
}

func TestAWrongAuthURLIsExplained(t *testing.T) {
	for name, test := range wrongAddresses {
		t.Run(name, func(t *testing.T) {
			address, ca := test.address(t)
			_, err := Connect(context.Background(), Options{Config: config.Global{AuthURL: address + "/v3", UserID: "u", Password: password, CAFileContents: ca}})
			if err == nil || !strings.Contains(err.Error(), "authenticate at "+address+"/v3: ") || !strings.Contains(err.Error(), test.keystone) {
				t.Errorf("got %v, want %q", err, test.keystone)
			}
		})
	}
}

func TestAWrongEndpointInTheCatalogueIsExplained(t *testing.T) {
	for name, test := range wrongAddresses {
		t.Run(name, func(t *testing.T) {
			address, ca := test.address(t)
			c := newCloud(t)
			c.catalog[1] = map[string]any{"type": "load-balancer", "endpoints": []any{map[string]any{"interface": "public", "region": "RegionOne", "url": address}}}
			s := c.connect(func(o *Options) { o.Config.CAFileContents = ca })
			_, _, err := s.OctaviaVersion(context.Background())
			if err == nil || !strings.Contains(err.Error(), "read the API versions of Octavia") || !strings.Contains(err.Error(), test.service) {
				t.Errorf("got %v, want %q", err, test.service)
			}
		})
	}
}

func TestAnswersOfKeystoneThatAreNoTokensAreExplained(t *testing.T) {
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		want   string
		class  Class
	}{
		"a list of versions": {func(w http.ResponseWriter, _ *http.Request) { answer(w, 300, `{"versions": {}}`) }, "300: multiple choices; this is a list of API versions, not a token; is auth-url", Transient},
		"a redirect to https": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://cloud.example.com/v3/auth/tokens", http.StatusMovedPermanently)
		}, "301: moved permanently; the server redirects to https://cloud.example.com/v3/auth/tokens: write the address that it leads to in auth-url", Transient},
		"the failure of a gateway": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(http.StatusBadGateway)
		}, "502: bad gateway (request", Transient},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			c.refuse = test.answer
			_, err := Connect(context.Background(), Options{Config: c.credentials()})
			if Classify(err) != test.class || !strings.Contains(err.Error(), test.want) {
				t.Errorf("class %s: %v, want %q", Classify(err), err, test.want)
			}
		})
	}
}

func TestAnAuthURLWorksWithoutItsVersionAndWithASecondOne(t *testing.T) {
	for _, path := range []string{"/identity", "/identity/", "/identity/v3", "/identity/v3/", "/identity/v3/v3", "/identity/v2.0"} {
		c := newCloud(t)
		c.connect(func(o *Options) { o.Config.AuthURL = c.URL + path })
	}
}

func TestRedirectDoesNotTurnAWriteIntoARead(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.setHandler(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/elsewhere") {
			answer(w, http.StatusCreated, "{}")
			return
		}
		http.Redirect(w, r, "/load-balancer/elsewhere", http.StatusFound)
	})
	if err := Wrap("create", post(context.Background(), s)); err == nil || !strings.Contains(err.Error(), "302") {
		t.Errorf("the write: %v", err)
	}
	if err := get(context.Background(), s, "lbaas"); err == nil || !strings.Contains(err.Error(), "201") {
		t.Errorf("the read was not redirected: %v", err)
	}
}

func TestALongAnswerIsReadInFull(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	long := strings.Repeat("x", 3*maxComplaint)
	c.setHandler(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, 400, `{"faultstring": "`+long+`", "end": "of it"}`)
	})
	if err := Wrap("read", get(context.Background(), s, "lbaas")); err == nil || !strings.Contains(err.Error(), "xxx ...") {
		t.Errorf("got %v", err)
	}
}
