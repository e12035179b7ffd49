// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// proxy passes requests on to Keystone, and may change its answers.
func (s *setup) proxy(change func(*http.Response) error) http.Handler {
	s.t.Helper()
	target, err := url.Parse(strings.TrimSuffix(s.cloud.authURL, "/v3"))
	s.must(err)
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, ModifyResponse: change}
}

// throughProxy makes cloud.conf lead to Keystone through a proxy, which changes the answer with the token.
func (s *setup) throughProxy(change func(answer *http.Response, token map[string]any)) {
	s.t.Helper()
	server := httptest.NewServer(s.proxy(func(r *http.Response) error {
		if r.Request.Method != http.MethodPost || !strings.HasSuffix(r.Request.URL.Path, "/auth/tokens") || r.StatusCode != http.StatusCreated {
			return nil
		}
		var answer map[string]map[string]any
		if err := json.NewDecoder(r.Body).Decode(&answer); err != nil {
			return err
		}
		change(r, answer["token"])
		text, err := json.Marshal(answer)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}))
	s.t.Cleanup(server.Close)
	s.global("auth-url", server.URL+"/v3")
}

// withoutServices removes services from the catalogue.
func (s *setup) withoutServices(kinds ...string) {
	s.throughProxy(func(_ *http.Response, token map[string]any) {
		token["catalog"] = slices.DeleteFunc(token["catalog"].([]any), func(entry any) bool {
			return slices.Contains(kinds, entry.(map[string]any)["type"].(string))
		})
	})
}

// moved changes the endpoints of a service in the catalogue.
func (s *setup) moved(kind, to string) {
	s.throughProxy(func(_ *http.Response, token map[string]any) {
		for _, entry := range token["catalog"].([]any) {
			if entry := entry.(map[string]any); entry["type"] == kind {
				for _, e := range entry["endpoints"].([]any) {
					e.(map[string]any)["url"] = to
				}
			}
		}
	})
}

// webPage returns a server that answers every request with a page for browsers.
func (s *setup) webPage() (address string) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<html>Log in</html>")
	}))
	s.t.Cleanup(server.Close)
	return server.URL
}

// elsewhere returns a server that answers every request with 404.
func (s *setup) elsewhere() (address string) {
	server := httptest.NewServer(http.NotFoundHandler())
	s.t.Cleanup(server.Close)
	return server.URL
}

// closedPort returns an address at which nothing listens.
func (s *setup) closedPort() string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	s.must(err)
	defer listener.Close()
	return "http://" + listener.Addr().String()
}

// fails lets calls of a service answer with a status.
func (s *setup) fails(service, route string, status int, body string) {
	s.cloud.faults.Add(wire.Fault{Service: service, Method: http.MethodGet, Route: route, Kind: wire.FaultStatus, Status: status, Body: body})
}

// breaks makes calls of a service fail in another way.
func (s *setup) breaks(service, route string, kind wire.FaultKind) {
	s.cloud.faults.Add(wire.Fault{Service: service, Method: http.MethodGet, Route: route, Kind: kind})
}
