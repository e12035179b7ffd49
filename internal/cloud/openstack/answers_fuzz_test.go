// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	_ "embed"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gophercloud/gophercloud/v2"
	gophercloudopenstack "github.com/gophercloud/gophercloud/v2/openstack"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// realAnswers are a token with its catalogue, and Octavia's list of versions.
//
//go:embed testdata/answers.json
var realAnswers []byte

// connectOver is Connect without the network.
func connectOver(transport http.RoundTripper, g config.Global) (*Session, error) {
	first, err := newLogin(g, nil)
	if err != nil {
		return nil, err
	}
	first.transport.RegisterProtocol("http", transport)
	provider, err := gophercloudopenstack.NewClient(g.AuthURL)
	if err != nil {
		return nil, err
	}
	s := &Session{provider: provider, connections: newConnections(first.transport)}
	if s.metrics, err = newMetrics(nil); err != nil {
		return nil, err
	}
	known := &calls.Routes{}
	known.Add(calls.ServiceIdentity, provider.IdentityBase)
	provider.HTTPClient = http.Client{Transport: Options{RequestTimeout: time.Minute, clock: newFakeClock()}.chain(s, known)}
	s.open, s.close = context.WithCancel(context.Background())
	got, err := s.authenticate(s.open, first)
	if err == nil {
		s.take(got)
		provider.ReauthFunc = s.renew
		err = s.findServices(g, got, known)
	}
	if err != nil {
		s.Close()
		return nil, Wrap("connect", err)
	}
	return s, nil
}

// FuzzConnect mutates a real token, its catalogue and a list of versions.
func FuzzConnect(f *testing.F) {
	document := mutate.Parse(realAnswers)
	g := config.Global{AuthURL: "http://keystone.test/v3", Username: "k8s", Password: password, TenantName: "k8s", DomainName: "Default", EndpointType: "public"}
	f.Add([]byte{})
	f.Add([]byte{0, 40, 0})
	f.Add([]byte{0, 90, 3, 1, 20, 200, 2, 4, 0})
	f.Fuzz(func(t *testing.T, edits []byte) {
		cloud := &mutate.Cloud{Document: document.Edit(edits), Words: strings.Fields("v2 v2.0 v2.1 v3 auth tokens lbaas load-balancer")}
		s, err := connectOver(cloud, g)
		if failed(t, err) {
			return
		}
		defer s.Close()
		if s.ProjectID() == "" || s.Network() == nil || s.LoadBalancer() == nil {
			t.Errorf("a session without a project or a service: %+v", s)
		}
		major, minor, err := s.OctaviaVersion(t.Context())
		if !failed(t, err) && (major <= 0 || minor < 0) {
			t.Errorf("Octavia's version %d.%d", major, minor)
		}
		if len(cloud.Requests) > 20 {
			t.Errorf("%d calls: %v", len(cloud.Requests), cloud.Requests)
		}
	})
}

// failed checks that an error has what callers need, and reports whether there is one.
func failed(t *testing.T, err error) bool {
	t.Helper()
	if err == nil {
		return false
	}
	e := (*Error)(nil)
	switch {
	case !errors.As(err, &e) || e.Class == "" || e.Message == "" || e.RetryAfter < 0 || e.RetryAfter > maxPatience:
		t.Fatalf("an error that tells too little: %#v", err)
	case strings.Contains(err.Error(), password):
		t.Fatalf("the error tells the password: %v", err)
	}
	return true
}

// FuzzFault parses failures of arbitrary form.
func FuzzFault(f *testing.F) {
	for _, body := range []string{
		`{"faultcode": "Client", "faultstring": "Load Balancer x is immutable and cannot be updated.", "debuginfo": null}`,
		`{"faultstring": "Quota has been met for resources: listener"}`,
		`{"NeutronError": {"type": "OverQuota", "message": "Quota exceeded for resources: ['floatingip'].", "detail": ""}}`,
		`{"NeutronError": "text"}`, `{"error": {"code": 401, "message": "no", "title": "Unauthorized"}}`, `{"title": 1, "description": "x"}`,
		`{"a": null}`, `<html>502 Bad Gateway</html>`, `null`, `[]`, `[`, ``,
	} {
		f.Add(409, []byte(body), "3", "")
	}
	f.Add(503, []byte("{}"), "99999999999", "")
	f.Add(429, []byte("{}"), "Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:00 GMT")
	f.Fuzz(func(t *testing.T, status int, body []byte, retry, date string) {
		header := http.Header{"Retry-After": {retry}, "Date": {date}}
		e := describe(gophercloud.ErrUnexpectedResponseCode{Actual: status, Body: body, ResponseHeader: header})
		if e.Class == "" || e.Message == "" || len(e.Message) > maxMessage+len(" ...") || strings.ContainsAny(e.Message, "\r\n") {
			t.Errorf("%#v", e)
		}
		if utf8.Valid(body) && !utf8.ValidString(e.Message) {
			t.Errorf("message %q", e.Message)
		}
		patience, _ := retryAfter(header, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
		if patience < 0 || patience > maxPatience {
			t.Errorf("to wait for %v", patience)
		}
	})
}
