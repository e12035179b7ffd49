// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact removes secrets from error responses of OpenStack.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// hidden replaces a secret that the service repeated.
const hidden = "[redacted]"

// maxRefusal limits how much of an error response is read, in bytes. No service sends more.
const maxRefusal = 1 << 20

// shortestSecret is the minimum length, in bytes, of the secrets that are removed: shorter ones would occur in
// many words.
const shortestSecret = 4

// New returns a transport that removes the secrets of requests from their error responses. Messages of services
// appear in logs, events and conditions, and some services and proxies repeat the request.
func New(next http.RoundTripper) http.RoundTripper { return redacted{next} }

type redacted struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t redacted) RoundTrip(req *http.Request) (*http.Response, error) {
	secrets := secretsOf(req) // before the body is consumed
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 300 || len(secrets) == 0 {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close() // everything was read
	body = withoutSecrets(body, secrets)
	resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err})), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// broken is a reader that ends, or fails like the response.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return 0, io.EOF
}

// secretsOf returns the secrets of a request: its token, the credentials in a request for a token, and the payload
// of a secret for Barbican.
func secretsOf(req *http.Request) []string {
	secrets := []string{req.Header.Get("X-Auth-Token"), req.Header.Get("X-Subject-Token")}
	switch {
	case strings.HasSuffix(req.URL.Path, "/auth/tokens"):
		i := decoded[login](req).Auth.Identity
		secrets = append(secrets, i.Password.User.Password, i.Token.ID, i.ApplicationCredential.Secret)
	case strings.HasSuffix(req.URL.Path, "/v1/secrets"):
		secrets = append(secrets, decoded[struct{ Payload string }](req).Payload)
	}
	return slices.DeleteFunc(secrets, func(s string) bool { return len(s) < shortestSecret })
}

// login is the part of a request for a token that contains secrets.
type login struct {
	Auth struct {
		Identity struct {
			Password              struct{ User struct{ Password string } }
			Token                 struct{ ID string }
			ApplicationCredential struct{ Secret string } `json:"application_credential"`
		}
	}
}

// decoded returns the JSON body of a request, or the zero value.
func decoded[T any](req *http.Request) (document T) {
	if req.GetBody == nil {
		return document
	}
	body, err := req.GetBody()
	if err != nil {
		return document
	}
	defer body.Close()
	_ = json.NewDecoder(body).Decode(&document) // not JSON: contains no known secret
	return document
}

// withoutSecrets hides secrets in a body. In JSON it finds them regardless of escaping.
func withoutSecrets(body []byte, secrets []string) []byte {
	var pairs []string
	for _, s := range secrets {
		pairs = append(pairs, s, hidden)
	}
	hide := strings.NewReplacer(pairs...)
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) == nil && errors.Is(decoder.Decode(new(any)), io.EOF) {
		if clean, err := json.Marshal(hideIn(document, hide)); err == nil {
			return clean
		}
	}
	return []byte(hide.Replace(string(body)))
}

// hideIn hides secrets in all strings of a decoded document.
func hideIn(value any, hide *strings.Replacer) any {
	switch v := value.(type) {
	case string:
		return hide.Replace(v)
	case []any:
		for i := range v {
			v[i] = hideIn(v[i], hide)
		}
	case map[string]any:
		for key := range v {
			v[key] = hideIn(v[key], hide)
		}
	}
	return value
}
