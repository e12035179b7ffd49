// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/config"
)

// idlePerHost is how many connections to one service are kept for the next calls: as many as workers may use at once, so
// that a burst of work does not open and close connections all the time.
const idlePerHost = 64

// newTransport makes the connections' end of the session.
func newTransport(g config.Global) (*http.Transport, error) {
	settings, err := tlsConfig(g)
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       settings,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          4 * idlePerHost,
		MaxIdleConnsPerHost:   idlePerHost,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}, nil
}

// tlsConfig reads the certificates that cloud.conf names.
func tlsConfig(g config.Global) (*tls.Config, error) {
	settings := &tls.Config{MinVersion: tls.VersionTLS12, InsecureSkipVerify: g.TLSInsecure} //nolint:gosec // the operator's explicit choice
	authorities, name := []byte(g.CAFileContents), "cafilecontents"
	if g.CAFile != "" {
		text, err := os.ReadFile(g.CAFile)
		if err != nil {
			return nil, fmt.Errorf("[Global] ca-file: %w", err)
		}
		authorities, name = text, "ca-file "+g.CAFile
	}
	if len(authorities) > 0 {
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(authorities) {
			return nil, fmt.Errorf("[Global] %s holds no certificate in PEM form", name)
		}
	}
	if g.CertFile != "" || g.KeyFile != "" {
		pair, err := tls.LoadX509KeyPair(g.CertFile, g.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("[Global] cert-file %s with key-file %s: %w", g.CertFile, g.KeyFile, err)
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, nil
}
