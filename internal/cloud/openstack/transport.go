// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// idlePerHost is the number of idle connections to a service that are kept: as many as workers may use at once,
// so that a burst of work does not constantly open and close connections.
const idlePerHost = 64

// Dial opens a connection, as net.Dialer.DialContext does.
type Dial = func(ctx context.Context, network, address string) (net.Conn, error)

// newTransport returns a transport with the TLS settings. A nil dial means the network.
func newTransport(settings *tls.Config, dial Dial) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dial,
		TLSClientConfig:       settings,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          4 * idlePerHost,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// connections is the transport of all calls. It can be replaced; calls in progress continue on the old
// one.
type connections struct {
	current atomic.Pointer[http.Transport]
}

func newConnections(first *http.Transport) *connections {
	c := &connections{}
	c.current.Store(first)
	return c
}

func (c *connections) RoundTrip(req *http.Request) (*http.Response, error) {
	if tried, ok := req.Context().Value(transportKey{}).(*http.Transport); ok {
		return tried.RoundTrip(req)
	}
	return c.current.Load().RoundTrip(req)
}

// replace makes next the transport of all future calls.
func (c *connections) replace(next *http.Transport) {
	if old := c.current.Swap(next); old != next {
		old.CloseIdleConnections()
	}
}

type transportKey struct{}

// over returns a context whose calls use another transport than the session's.
func over(ctx context.Context, t *http.Transport) context.Context {
	return context.WithValue(ctx, transportKey{}, t)
}

// certificates has the TLS settings of [Global] and the contents of the files that it names. It is comparable.
type certificates struct {
	authorities, source string // PEM, and the setting from which it comes; empty means those of the system
	own, key            string // PEM
	insecure            bool
}

// readCertificates reads the files that cloud.conf names.
func readCertificates(g config.Global) (certificates, error) {
	c := certificates{insecure: g.TLSInsecure}
	if g.CAFileContents != "" {
		c.authorities, c.source = g.CAFileContents, "cafilecontents"
	}
	if g.CAFile != "" {
		text, err := os.ReadFile(g.CAFile)
		if err != nil {
			return c, fmt.Errorf("[Global] ca-file: %w", err)
		}
		c.authorities, c.source = string(text), "ca-file "+g.CAFile
	}
	if g.CertFile == "" && g.KeyFile == "" {
		return c, nil
	}
	own, err := os.ReadFile(g.CertFile)
	if err != nil {
		return c, fmt.Errorf("[Global] cert-file: %w", err)
	}
	key, err := os.ReadFile(g.KeyFile)
	if err != nil {
		return c, fmt.Errorf("[Global] key-file: %w", err)
	}
	c.own, c.key = string(own), string(key)
	return c, nil
}

// settings returns the TLS configuration.
func (c certificates) settings(g config.Global) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: c.insecure} //nolint:gosec // the operator's explicit choice
	if c.source != "" {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM([]byte(c.authorities)) {
			return nil, fmt.Errorf("[Global] %s contains no certificate in PEM format", c.source)
		}
	}
	if c.own != "" || c.key != "" {
		pair, err := tls.X509KeyPair([]byte(c.own), []byte(c.key))
		if err != nil {
			return nil, fmt.Errorf("[Global] cert-file %s with key-file %s: %w", g.CertFile, g.KeyFile, err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}
