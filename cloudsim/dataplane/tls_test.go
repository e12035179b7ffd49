// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"
)

// certificate returns one for a common name and further names.
func certificate(t *testing.T, common string, names ...string) Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	plan := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: common}, DNSNames: names,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, plan, plan, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return Certificate{Ref: common, Pair: tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}}
}

// terminated returns a load balancer that terminates TLS with the certificates.
func terminated(certificates []Certificate, members ...Member) LoadBalancer {
	lb := simple("TERMINATED_HTTPS", members...)
	lb.Listeners[0].Pool.Protocol = "HTTP"
	lb.Listeners[0].TLS = &TLS{Certificates: certificates, ALPN: []string{"h2", "http/1.1", "http/1.0"}}
	return lb
}

// presented returns the common name of the certificate that a client gets when it requests a name.
func presented(t *testing.T, lb LoadBalancer, name string) string {
	t.Helper()
	c, err := tls.Dial("tcp", vip(lb), &tls.Config{ServerName: name, InsecureSkipVerify: true})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	defer c.Close()
	return c.ConnectionState().PeerCertificates[0].Subject.CommonName
}

// visitor returns an HTTPS client that accepts any certificate.
func visitor(t *testing.T) *http.Client {
	c := browser(t, randomAddr())
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	c.Transport.(*http.Transport).ForceAttemptHTTP2 = true
	return c
}

func TestCertificateMatchesTheServerNameOfTheClient(t *testing.T) {
	p, _ := newPlane(t)
	lb := terminated([]Certificate{
		certificate(t, "default.example"), certificate(t, "*.shop.example"), certificate(t, "deep", "Pay.Shop.example", "other.example"),
	})
	set(t, p, lb)
	got := map[string]string{}
	for _, name := range []string{"", "unknown.example", "default.example", "www.shop.example", "pay.shop.example", "a.b.shop.example", "OTHER.example"} {
		got[name] = presented(t, lb, name)
	}
	want := map[string]string{"": "default.example", "unknown.example": "default.example", "default.example": "default.example",
		"www.shop.example": "*.shop.example", "pay.shop.example": "deep", "a.b.shop.example": "default.example", "OTHER.example": "deep"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("certificates by name (-want +got):\n%s", diff)
	}
}

func TestRequestsOverTLSReachTheMemberInPlainHTTPWithTheInsertedHeaders(t *testing.T) {
	p, _ := newPlane(t)
	lb := terminated([]Certificate{certificate(t, "a.example")}, startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%t %s %s %s", r.TLS != nil, r.Header.Get("X-Forwarded-Proto"), r.Header.Get("X-Forwarded-Port"), r.Header.Get("X-Forwarded-For"))
	}))
	l := &lb.Listeners[0]
	l.XForwardedFor, l.XForwardedPort, l.XForwardedProto, l.TLS.HSTS = true, true, true, "max-age=60;"
	set(t, p, lb)
	resp, err := visitor(t).Get("https://" + vip(lb))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	seen := string(body)
	if !strings.HasPrefix(seen, "false https 18080 127.") {
		t.Errorf("the member saw %q", seen)
	}
	if got := resp.Header.Get("Strict-Transport-Security"); got != "max-age=60;" || resp.Proto != "HTTP/1.1" {
		t.Errorf("Strict-Transport-Security is %q, over %s", got, resp.Proto)
	}
}

func TestXForwardedProtoIsHTTPWithoutTLS(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("HTTP", startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, r.Header.Get("X-Forwarded-Proto")+r.Header.Get("X-Forwarded-Port"))
	}))
	lb.Listeners[0].XForwardedProto = true
	set(t, p, lb)
	if _, got := get(t, browser(t, randomAddr()), "http://"+vip(lb)); got != "http" {
		t.Errorf("the member got %q", got)
	}
}

func TestTLSWithAProxyPoolShowsTheClientsAddress(t *testing.T) {
	p, _ := newPlane(t)
	ln, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	m := serveWeb(t, "a", &proxyproto.Listener{Listener: ln}, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, r.RemoteAddr) })
	lb := terminated([]Certificate{certificate(t, "a.example")}, m)
	lb.Listeners[0].Pool.Protocol = "PROXYV2"
	set(t, p, lb)
	from := randomAddr()
	c := visitor(t)
	c.Transport.(*http.Transport).DialContext = (&net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}}).DialContext
	if _, got := get(t, c, "https://"+vip(lb)); !strings.HasPrefix(got, from.String()+":") {
		t.Errorf("the member saw %s, want %s", got, from)
	}
}

func TestNewCertificateAppliesToNewConnectionsAndOpenOnesContinue(t *testing.T) {
	p, _ := newPlane(t)
	lb := terminated([]Certificate{certificate(t, "old.example")}, startWeb(t, "a", says("a")))
	set(t, p, lb)
	open, err := tls.Dial("tcp", vip(lb), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	lb.Listeners[0].TLS = &TLS{Certificates: []Certificate{certificate(t, "new.example")}}
	set(t, p, lb)
	if got := presented(t, lb, ""); got != "new.example" {
		t.Errorf("a new connection is shown %s", got)
	}
	fmt.Fprint(open, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(open), nil)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the open connection: %v, %v", resp, err)
	}
	resp.Body.Close()
}

// TestAListenerThatCannotTerminateTLSDoesNotOpen also requires that one which serves keeps its certificate.
func TestAListenerThatCannotTerminateTLSDoesNotOpen(t *testing.T) {
	good := certificate(t, "good.example")
	for name, c := range map[string]struct {
		tls   *TLS
		words string
	}{
		"no options":             {nil, "no certificate"},
		"no certificate":         {&TLS{}, "no certificate"},
		"unreadable certificate": {&TLS{Certificates: []Certificate{good, {Ref: "http://barbican/v1/secrets/1"}}}, "http://barbican/v1/secrets/1 cannot be read"},
		"broken certificate":     {&TLS{Certificates: []Certificate{{Ref: "it", Pair: tls.Certificate{Certificate: [][]byte{{1}}}}}}, "certificate it"},
		"clients' certificates":  {&TLS{Certificates: []Certificate{good}, ClientAuthentication: true}, "client certificates"},
		"versions":               {&TLS{Certificates: []Certificate{good}, Versions: []string{"SSLv3"}}, "SSLv3"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := terminated(nil)
			lb.Listeners[0].TLS = c.tls
			err := p.Set(lb)
			var why *ListenerError
			if !errors.As(err, &why) || !strings.Contains(why.Error(), c.words) {
				t.Fatalf("the error is %v, want one of the listener with %q", err, c.words)
			}
			if conn, err := net.Dial("tcp", vip(lb)); err == nil {
				conn.Close()
				t.Error("the listener is open")
			}
			lb.Listeners[0].TLS = &TLS{Certificates: []Certificate{good}}
			set(t, p, lb)
			lb.Listeners[0].TLS = c.tls
			if err := p.Set(lb); err == nil {
				t.Error("the same is accepted later")
			}
			if got := presented(t, lb, ""); got != "good.example" {
				t.Errorf("clients are shown %s", got)
			}
		})
	}
}

func TestVersionsOfTLSAreARange(t *testing.T) {
	for _, c := range []struct {
		name string

		names     []string
		low, high uint16
	}{
		{"no version named: TLS 1.2 and 1.3", nil, tls.VersionTLS12, tls.VersionTLS13},
		{"one version", []string{"TLSv1.3"}, tls.VersionTLS13, tls.VersionTLS13},
		{"unknown and unordered versions", []string{"TLSv1.2", "SSLv3", "TLSv1"}, tls.VersionTLS10, tls.VersionTLS12},
		{"a version in between", []string{"TLSv1.1", "TLSv1.3"}, tls.VersionTLS11, tls.VersionTLS13},
	} {
		t.Run(c.name, func(t *testing.T) {
			if low, high, err := versionRange(c.names); err != nil || low != c.low || high != c.high {
				t.Errorf("%v: %x to %x, %v; want %x to %x", c.names, low, high, err, c.low, c.high)
			}
		})
	}
}

func TestClientWithAnOlderTLSVersionIsRefused(t *testing.T) {
	p, _ := newPlane(t)
	lb := terminated([]Certificate{certificate(t, "a.example")})
	lb.Listeners[0].TLS.Versions = []string{"TLSv1.3"}
	set(t, p, lb)
	if c, err := tls.Dial("tcp", vip(lb), &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12}); err == nil {
		c.Close()
		t.Error("a client with TLS 1.2 is served")
	}
}
