// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// answer is what a service answered.
type answer struct {
	t      testing.TB
	what   string
	Status int
	Header http.Header
	Text   string
	Body   any // nil unless it is JSON
}

// send makes one HTTP request. A body that is not a string is sent as JSON.
func send(t testing.TB, url, method string, body any, headers ...string) answer {
	t.Helper()
	var content io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		content = strings.NewReader(b)
	default:
		encoded, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		content = bytes.NewReader(encoded)
	}
	ctx := t.Context()
	if ctx.Err() != nil { // the test cleans up
		ctx = context.WithoutCancel(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	got, err := openstack.Send(r)
	if err != nil {
		t.Fatalf("%s %s: %v", method, url, err)
	}
	a := answer{t: t, what: method + " " + url, Status: got.Status, Header: got.Header, Text: string(got.Body)}
	if json.Unmarshal(got.Body, &a.Body) != nil {
		a.Body = nil
	}
	return a
}

// is ends the case unless the answer has the status.
func (a answer) is(status int) answer {
	a.t.Helper()
	if a.Status != status {
		a.t.Fatalf("%s: %d, want %d: %s", a.what, a.Status, status, a.Text)
	}
	return a
}

// at returns what the answer has at a path such as "pools.0.id"; nil if nothing.
func (a answer) at(path string) any {
	x := a.Body
	for step := range strings.SplitSeq(path, ".") {
		switch v := x.(type) {
		case map[string]any:
			x = v[step]
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			x = v[i]
		default:
			return nil
		}
	}
	return x
}

// text returns the string at a path; empty if there is none.
func (a answer) text(path string) string {
	s, _ := a.at(path).(string)
	return s
}

// list returns the list at a path; nil if there is none.
func (a answer) list(path string) []any {
	l, _ := a.at(path).([]any)
	return l
}

// texts returns the strings that the elements of the list at path have at key.
func (a answer) texts(path, key string) []string {
	var all []string
	for _, item := range a.list(path) {
		if m, ok := item.(map[string]any); ok {
			s, _ := m[key].(string)
			all = append(all, s)
		}
	}
	return all
}

// token is a scoped token with its catalogue.
type token struct {
	id   string
	body answer
}

// endpoint returns the public URL of a service, without a version and without a slash at the end.
func (k token) endpoint(t testing.TB, service string) string {
	t.Helper()
	for _, s := range k.body.list("token.catalog") {
		entry := s.(map[string]any)
		if entry["type"] != service {
			continue
		}
		for _, e := range entry["endpoints"].([]any) {
			if e := e.(map[string]any); e["interface"] == "public" {
				return strings.TrimRight(strings.TrimSuffix(strings.TrimSuffix(e["url"].(string), "/v3"), "/v2.1"), "/")
			}
		}
	}
	t.Fatalf("the catalogue has no %s", service)
	return ""
}

// tokens are kept for the whole run, one for each user.
var tokens tokenCache

type tokenCache struct {
	mu   sync.Mutex
	kept map[string]token
}

func (k *tokenCache) of(c *try, user string) token {
	c.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.kept[user]; ok {
		return t
	}
	project := user
	if user == reader {
		project = k8s
	}
	a := send(c, c.cloud.AuthURL+"/auth/tokens", "POST", passwordLogin(user, c.cloud.Passwords[user], project)).is(201)
	if k.kept == nil {
		k.kept = map[string]token{}
	}
	k.kept[user] = token{id: a.Header.Get("X-Subject-Token"), body: a}
	return k.kept[user]
}

// passwordLogin returns the body of a request for a token, scoped to the project unless that is
// empty.
func passwordLogin(user, password, project string) object {
	auth := object{"identity": object{"methods": list{"password"}, "password": object{"user": object{
		"name": user, "domain": object{"id": "default"}, "password": password}}}}
	if project != "" {
		auth["scope"] = object{"project": object{"name": project, "domain": object{"id": "default"}}}
	}
	return object{"auth": auth}
}
