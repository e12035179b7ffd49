// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// answers is a service that gives the same answer to every request.
type answers struct {
	status int
	body   io.Reader
}

func (a answers) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return nil, err
		}
	}
	return &http.Response{StatusCode: a.status, Header: http.Header{}, Body: io.NopCloser(a.body), ContentLength: -1, Request: req}, nil
}

func TestErrorResponsesDoNotContainTheSecretsOfTheirRequests(t *testing.T) {
	const login = `{"auth": {"identity": {"methods": ["password"], "password": {"user": {"id": "u", "password": "pass\"wörd/1"}}}}}`
	const credential = `{"auth": {"identity": {"methods": ["application_credential"], "application_credential": {"id": "ac", "secret": "s3cret"}}}}`
	const exchange = `{"auth": {"identity": {"methods": ["token"], "token": {"id": "gAAAAold"}}}}`
	const tokens = "/v3/auth/tokens"
	for name, c := range map[string]struct {
		path, sent   string
		status       int
		answer, want string
	}{
		"a token in a message":           {"/v2.0/ports", "", 400, `{"NeutronError": {"message": "token gAAAAtoken is bad", "n": 12345678901234567890}}`, `{"NeutronError":{"message":"token [redacted] is bad","n":12345678901234567890}}`},
		"in a list":                      {"/v2.0/ports", "", 400, `["gAAAAtoken", null, true]`, `["[redacted]",null,true]`},
		"in what is no JSON":             {"/v2.0/ports", "", 502, `<p>X-Auth-Token: gAAAAtoken</p>`, `<p>X-Auth-Token: [redacted]</p>`},
		"in what is JSON at first":       {"/v2.0/ports", "", 502, `{} gAAAAtoken`, `{} [redacted]`},
		"in a redirect":                  {"/v2.0/ports", "", 300, `gAAAAtoken`, `[redacted]`},
		"a password, escaped":            {tokens, login, 401, `{"error": {"message": "not pass\"w\u00f6rd\/1"}}`, `{"error":{"message":"not [redacted]"}}`},
		"a password, plain":              {tokens, login, 500, `not pass"wörd/1`, `not [redacted]`},
		"an application credential":      {tokens, credential, 400, `"s3cret, ac"`, `"[redacted], ac"`},
		"a token in place of a password": {tokens, exchange, 400, `"gAAAAold"`, `"[redacted]"`},
		"what is to be stored":           {"/key-manager/v1/secrets", `{"name": "web", "payload": "MIIKx/+w=="}`, 400, `{"description": "web is MIIKx\/+w=="}`, `{"description":"web is [redacted]"}`},
		"nothing":                        {tokens, login, 401, `{"error": {"message": "no"}}`, `{"error":{"message":"no"}}`},
		"no answer to speak of":          {"/v2.0/ports", "", 404, ``, ``},
		"a success is left as it is":     {"/v2.0/ports", "", 200, `{"name": "gAAAAtoken"}`, `{"name": "gAAAAtoken"}`},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://cloud.test"+c.path, bytes.NewReader([]byte(c.sent)))
			if err != nil {
				t.Fatal(err)
			}
			if c.sent == "" {
				req.Header.Set("X-Auth-Token", "gAAAAtoken")
			}
			resp, err := redacted{answers{c.status, strings.NewReader(c.answer)}}.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			got, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestATruncatedErrorResponseStaysTruncated(t *testing.T) {
	lost := errors.New("connection reset")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://cloud.test/v2.0/ports", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Auth-Token", "gAAAAtoken")
	resp, err := redacted{answers{500, io.MultiReader(strings.NewReader("half of gAAAAtoken, and"), broken{lost})}}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if string(got) != "half of [redacted], and" || !errors.Is(err, lost) {
		t.Errorf("read %q and %v", got, err)
	}
}
