// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neterror

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"
	"testing"
)

func TestEachErrorHasItsCause(t *testing.T) {
	dial := func(err error) error { return &net.OpError{Op: "dial", Net: "tcp", Err: err} }
	for name, test := range map[string]struct {
		err  error
		want Cause
	}{
		"none":                             {nil, Other},
		"the end of the answer":            {io.ErrUnexpectedEOF, Other},
		"a name that is not known":         {dial(&net.DNSError{IsNotFound: true}), UnknownHost},
		"a name server that is silent":     {dial(&net.DNSError{IsTimeout: true}), UnknownHost},
		"nothing at the port":              {dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)), Refused},
		"no route to the host":             {dial(os.NewSyscallError("connect", syscall.EHOSTUNREACH)), Unreachable},
		"no route to the network":          {dial(os.NewSyscallError("connect", syscall.ENETUNREACH)), Unreachable},
		"nothing at the port of the proxy": {&net.OpError{Op: "proxyconnect", Err: dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))}, Proxy},
		"no connection in time":            {dial(os.ErrDeadlineExceeded), Timeout},
		"http instead of TLS":              {http.ErrSchemeMismatch, SpeaksHTTP},
		"the same below a transport":       {tls.RecordHeaderError{RecordHeader: [5]byte{'H', 'T', 'T', 'P', '/'}}, SpeaksHTTP},
		"another protocol instead of TLS":  {tls.RecordHeaderError{RecordHeader: [5]byte{'S', 'S', 'H', '-', '2'}}, Other},
		"a server that asks for TLS":       {ErrNeedsTLS, SpeaksTLS},
		"a CA that is not trusted":         {&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, UnknownAuthority},
		"a certificate of another host":    {&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: &x509.Certificate{}}}, WrongName},
		"a certificate that has ended":     {&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.Expired}}, Expired},
		"another flaw of the certificate":  {&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Reason: x509.TooManyIntermediates}}, UnknownAuthority},
		"a text that looks like something": {errors.New("connection refused"), Other},
	} {
		t.Run(name, func(t *testing.T) {
			wrapped := test.err
			if wrapped != nil {
				wrapped = fmt.Errorf("call: %w", &url.Error{Op: "Get", URL: "https://cloud", Err: test.err})
			}
			if got := CauseOf(wrapped); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestTextLeavesOutWhatNetHTTPAdds(t *testing.T) {
	err := &url.Error{Op: "Get", URL: "https://cloud", Err: &url.Error{Op: "Get", URL: "https://cloud", Err: errors.New("why")}}
	if got := Text(err); got != "why" {
		t.Errorf("got %q", got)
	}
}

func TestAWebPageIsKnownByItsTypeOrItsBeginning(t *testing.T) {
	for _, test := range []struct {
		name string

		kind, body string
		want       bool
	}{
		{"type is HTML", "text/html; charset=utf-8", "", true},
		{"document type without a content type", "", "\n <!doctype html>", true},
		{"JSON with a bracket", "application/json", `{"a": "<"}`, false},
		{"plain text", "text/plain", "no", false},
		{"content type that cannot be parsed", ";", "", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := IsWebPage(http.Header{"Content-Type": {test.kind}}, []byte(test.body)); got != test.want {
				t.Errorf("%q, %q: %t", test.kind, test.body, got)
			}
		})
	}
}
