// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of the answers of OpenStack. It may import nothing of the
// project.
package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// hidden stands in a message for a secret that the service repeated.
const hidden = "[redacted]"

// maxRefusal bounds how much of a refusal is looked through, in bytes; the rest is cut off. No service writes that much.
const maxRefusal = 1 << 20

// shortestSecret is the length, in bytes, below which a secret is not looked for: it would be found in every other word.
const shortestSecret = 4

// New returns a transport that takes out of refusals what their requests held in secret. Messages of services reach logs, events and conditions,
// and some services, and what stands before them, repeat what they were sent.
func New(next http.RoundTripper) http.RoundTripper { return redacted{next} }

type redacted struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (t redacted) RoundTrip(req *http.Request) (*http.Response, error) {
	secrets := secretsOf(req) // before the body is read up
	resp, err := t.next.RoundTrip(req)
	if err != nil || resp.StatusCode < 300 || len(secrets) == 0 {
		return resp, err
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	_ = resp.Body.Close() // what there was to read was read
	body = withoutSecrets(body, secrets)
	resp.Body, resp.ContentLength = io.NopCloser(io.MultiReader(bytes.NewReader(body), broken{err})), int64(len(body))
	resp.Header.Set("Content-Length", strconv.Itoa(len(body)))
	return resp, nil
}

// broken is a reader that ends, or fails where an answer broke off.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	return 0, io.EOF
}

// secretsOf returns what a request holds in secret: its token, the credentials of a request for one, and what Barbican is to
// store.
func secretsOf(req *http.Request) []string {
	secrets := []string{req.Header.Get("X-Auth-Token"), req.Header.Get("X-Subject-Token")}
	switch {
	case req.GetBody == nil:
	case strings.HasSuffix(req.URL.Path, "/auth/tokens"):
		secrets = append(secrets, credentialsIn(req)...)
	case strings.HasSuffix(req.URL.Path, "/v1/secrets"):
		secrets = append(secrets, payloadIn(req))
	}
	long := secrets[:0]
	for _, s := range secrets {
		if len(s) >= shortestSecret {
			long = append(long, s)
		}
	}
	return long
}

// credentialsIn reads the credentials of a request for a token.
func credentialsIn(req *http.Request) []string {
	body, err := req.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var login struct {
		Auth struct {
			Identity struct {
				Password              struct{ User struct{ Password string } }
				Token                 struct{ ID string }
				ApplicationCredential struct{ Secret string } `json:"application_credential"`
			}
		}
	}
	if json.NewDecoder(body).Decode(&login) != nil {
		return nil
	}
	i := login.Auth.Identity
	return []string{i.Password.User.Password, i.Token.ID, i.ApplicationCredential.Secret}
}

// payloadIn reads what is to be stored.
func payloadIn(req *http.Request) string {
	body, err := req.GetBody()
	if err != nil {
		return ""
	}
	defer body.Close()
	var secret struct{ Payload string }
	if json.NewDecoder(body).Decode(&secret) != nil {
		return ""
	}
	return secret.Payload
}

// withoutSecrets hides secrets in a body. In JSON they are found however they are escaped.
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
