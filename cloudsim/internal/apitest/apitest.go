// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package apitest calls the API of a simulated service in its tests, with plain HTTP requests and
// with gophercloud. The only package of the project that it imports is wire.
package apitest

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// Answer is an answer of the API.
type Answer struct {
	Status int
	Header http.Header
	Text   string
	Body   map[string]any // nil if the text is not a JSON object
}

// Request makes a request; header is name, value, ...
func Request(method, url, body string, header ...string) *http.Request {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

// As returns the request with an authenticated caller.
func As(who wire.Identity, r *http.Request) *http.Request {
	return r.WithContext(wire.WithCaller(r.Context(), who))
}

// Do returns the API's answer. All answers must be JSON, except those whose content type is plain
// text.
func Do(t testing.TB, api http.Handler, r *http.Request) Answer {
	t.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, r)
	a := Answer{Status: w.Code, Header: w.Header(), Text: w.Body.String()}
	if a.Text == "" || strings.HasPrefix(a.Header.Get("Content-Type"), "text/plain") {
		return a
	}
	var value any
	if err := json.Unmarshal(w.Body.Bytes(), &value); err != nil {
		t.Fatalf("%s %s answers %q: %v", r.Method, r.URL, a.Text, err)
	}
	a.Body, _ = value.(map[string]any)
	return a
}

// Gophercloud serves the API and returns a client that calls it as who.
func Gophercloud(t testing.TB, o wire.Options, who wire.Identity) *gophercloud.ServiceClient {
	o.Authenticate = func(token string) (wire.Identity, bool) { return who, token == who.UserID }
	server, transport := httptest.NewServer(wire.New(o)), &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		server.Close()
	})
	return &gophercloud.ServiceClient{
		ProviderClient: &gophercloud.ProviderClient{TokenID: who.UserID, HTTPClient: http.Client{Transport: transport}},
		Endpoint:       server.URL + "/", ResourceBase: server.URL + "/v2.0/", Type: o.Service,
	}
}
