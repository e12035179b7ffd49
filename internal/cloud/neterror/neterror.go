// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package neterror finds out why an HTTP call got no usable answer, so that callers can advise what to change. It
// is pure.
package neterror

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"mime"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
)

// Cause is the reason why a call got no usable answer.
type Cause string

// The causes.
const (
	// Other is every cause that is not listed here.
	Other Cause = ""
	// UnknownHost: the name of the host cannot be resolved.
	UnknownHost Cause = "unknown host"
	// Refused: nothing listens at the port.
	Refused Cause = "connection refused"
	// Unreachable: no route leads to the host, or its network does not answer.
	Unreachable Cause = "unreachable"
	// Timeout: there was no connection or no answer in time.
	Timeout Cause = "timeout"
	// Proxy: the proxy of the environment cannot be used.
	Proxy Cause = "proxy"
	// SpeaksHTTP: the address begins with https, but the server uses HTTP without TLS.
	SpeaksHTTP Cause = "server without TLS"
	// SpeaksTLS: the address begins with http, but the server expects TLS.
	SpeaksTLS Cause = "server with TLS"
	// UnknownAuthority: no trusted CA signed the server's certificate.
	UnknownAuthority Cause = "unknown authority"
	// WrongName: the server's certificate is for another host.
	WrongName Cause = "wrong name"
	// Expired: the server's certificate is not valid now.
	Expired Cause = "expired certificate"
)

// ErrNeedsTLS is the error of a request without TLS to a server whose answer says that it expects TLS; see
// NeedsTLS.
var ErrNeedsTLS = errors.New("the server expects https")

// CauseOf returns the cause of an error of net/http.
func CauseOf(err error) Cause {
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "proxyconnect" {
		return Proxy
	}
	if cause := certificateCause(err); cause != Other {
		return cause
	}
	var name *net.DNSError
	var timeout net.Error
	var record tls.RecordHeaderError // http.Client turns it into ErrSchemeMismatch, unless a transport has wrapped it
	switch {
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/":
		return SpeaksHTTP
	case errors.Is(err, ErrNeedsTLS), err != nil && strings.Contains(err.Error(), tlsAlert):
		return SpeaksTLS
	case errors.As(err, &name):
		return UnknownHost
	case errors.Is(err, syscall.ECONNREFUSED):
		return Refused
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return Unreachable
	case errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Timeout
	}
	return Other
}

// tlsAlert is net/http's text for the TLS alert with which a server answers a request without TLS.
const tlsAlert = `malformed HTTP response "\x15\x03`

// certificateCause returns why the certificate of the server was rejected, or Other.
func certificateCause(err error) Cause {
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	var any *tls.CertificateVerificationError
	switch {
	case errors.As(err, &host):
		return WrongName
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return Expired
	case errors.As(err, &authority), errors.As(err, &any):
		return UnknownAuthority
	}
	return Other
}

// Text returns the text of an error of net/http without the method and address that net/http adds.
func Text(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return Text(u.Err)
	}
	return err.Error()
}

// NeedsTLS reports whether an answer to a request without TLS says that the server expects TLS. It recognizes the
// usual servers of OpenStack and Kubernetes: Go, Apache httpd and nginx.
func NeedsTLS(status int, body []byte) bool {
	if status != http.StatusBadRequest {
		return false
	}
	for _, sentence := range []string{"HTTP request to an HTTPS server", "HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port"} {
		if bytes.Contains(body, []byte(sentence)) {
			return true
		}
	}
	return false
}

// IsWebPage reports whether an answer is a page for browsers, which no API sends.
func IsWebPage(h http.Header, body []byte) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && kind == "text/html" || bytes.HasPrefix(bytes.TrimSpace(body), []byte("<"))
}
