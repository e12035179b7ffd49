// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Certificate is a certificate with its chain and its key.
type Certificate struct {
	// Ref is the caller's reference to the certificate. This package does not use it.
	Ref string
	// Pair is empty if the caller could not read the certificate.
	Pair tls.Certificate
}

// TLS describes how a listener terminates TLS.
type TLS struct {
	// Certificates are presented to clients that request one of their names; the first one also to
	// all other clients.
	Certificates []Certificate
	// Versions are those of Octavia, such as TLSv1.2. Empty means TLSv1.2 and TLSv1.3.
	Versions []string
	// ALPN are the protocols that the listener offers. HTTP/2 is left out: the simulator does not speak it.
	ALPN []string
	// ClientAuthentication requires client certificates. The simulator does not check them, so such
	// a listener does not open.
	ClientAuthentication bool
	// HSTS is the value of the header Strict-Transport-Security of answers; empty means no header.
	HSTS string
}

// versions maps Octavia's names to versions of TLS. SSLv3, which Go does not have, is left out.
var versions = map[string]uint16{
	"TLSv1": tls.VersionTLS10, "TLSv1.1": tls.VersionTLS11, "TLSv1.2": tls.VersionTLS12, "TLSv1.3": tls.VersionTLS13,
}

// config returns the TLS configuration, or an error if TLS cannot be terminated as described.
func (t *TLS) config() (*tls.Config, error) {
	if t.ClientAuthentication {
		return nil, errors.New("the simulator does not check client certificates")
	}
	if len(t.Certificates) == 0 {
		return nil, errors.New("there is no certificate")
	}
	var pairs []*tls.Certificate
	for _, c := range t.Certificates {
		if len(c.Pair.Certificate) == 0 {
			return nil, fmt.Errorf("certificate %s cannot be read", c.Ref)
		}
		if c.Pair.Leaf == nil {
			leaf, err := x509.ParseCertificate(c.Pair.Certificate[0])
			if err != nil {
				return nil, fmt.Errorf("certificate %s: %w", c.Ref, err)
			}
			c.Pair.Leaf = leaf
		}
		pairs = append(pairs, &c.Pair)
	}
	low, high, err := versionRange(t.Versions)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: low, MaxVersion: high,
		NextProtos: slices.DeleteFunc(slices.Clone(t.ALPN), func(name string) bool { return name == "h2" }),
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			return certificateFor(pairs, hello.ServerName), nil
		},
	}, nil
}

// versionRange returns the lowest and the highest of the versions.
func versionRange(names []string) (low, high uint16, err error) {
	for _, name := range names {
		v := versions[name]
		if v == 0 {
			continue
		}
		if low == 0 {
			low = v
		}
		low, high = min(low, v), max(high, v)
	}
	switch {
	case len(names) == 0:
		return tls.VersionTLS12, tls.VersionTLS13, nil
	case low == 0:
		return 0, 0, fmt.Errorf("the simulator has none of the TLS versions %s", strings.Join(names, ", "))
	}
	return low, high, nil
}

// certificateFor chooses as haproxy does: a certificate with exactly this name, one with a matching
// wildcard, or the first.
func certificateFor(pairs []*tls.Certificate, name string) *tls.Certificate {
	name = strings.ToLower(name)
	_, parent, _ := strings.Cut(name, ".")
	for _, want := range []string{name, "*." + parent} {
		for _, p := range pairs {
			if slices.Contains(namesOf(p.Leaf), want) {
				return p
			}
		}
	}
	return pairs[0]
}

// namesOf returns the names that a certificate is for: those of the extension, and the common name.
func namesOf(leaf *x509.Certificate) []string {
	names := []string{strings.ToLower(leaf.Subject.CommonName)}
	for _, name := range leaf.DNSNames {
		names = append(names, strings.ToLower(name))
	}
	return names
}

// clientConn returns the connection to the client, without TLS.
func clientConn(c net.Conn) *conn {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return c.(*conn)
}
