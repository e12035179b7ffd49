// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// cloud is a minimal Keystone, with one handler for all other services.
type cloud struct {
	*httptest.Server
	t *testing.T

	mu       sync.Mutex
	tokens   map[string]bool   // valid ones
	issued   int               // their number
	logins   []json.RawMessage // bodies of the requests for tokens
	requests []*http.Request   // all other requests, without bodies
	refuse   http.HandlerFunc  // if set, answers requests for tokens
	handle   http.HandlerFunc  // answers all other requests, if their token is valid
	catalog  []any
	project  string
}

const password = "hunter2-Pa55w0rd"

func newCloud(t *testing.T) *cloud {
	return newCloudWith(t, (*httptest.Server).Start)
}

// newCloudWith starts the server with a custom function.
func newCloudWith(t *testing.T, start func(*httptest.Server)) *cloud {
	c := &cloud{t: t, tokens: map[string]bool{}, project: "p1"}
	c.Server = httptest.NewUnstartedServer(c)
	c.Server.Config.ErrorLog = log.New(io.Discard, "", 0) // refused handshakes are part of the tests
	start(c.Server)
	t.Cleanup(c.Server.Close)
	c.catalog = []any{
		c.service("network", "/network"), c.service("load-balancer", "/load-balancer/v2.0"), c.service("compute", "/compute/v2.1"),
	}
	c.handle = func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }
	return c
}

func (c *cloud) service(kind, path string) any {
	var endpoints []any
	for _, region := range []string{"RegionOne", "RegionTwo"} {
		endpoints = append(endpoints, map[string]any{"interface": "public", "region": region, "region_id": region, "url": c.URL + path})
	}
	return map[string]any{"type": kind, "name": kind, "endpoints": endpoints}
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/v3/auth/tokens") {
		c.serveToken(w, r)
		return
	}
	c.mu.Lock()
	c.requests = append(c.requests, r)
	valid := c.tokens[r.Header.Get("X-Auth-Token")]
	handle := c.handle
	c.mu.Unlock()
	if !valid {
		answer(w, http.StatusUnauthorized, `{"error": {"code": 401, "message": "The request you have made requires authentication."}}`)
		return
	}
	handle(w, r)
}

func (c *cloud) serveToken(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refuse != nil {
		c.refuse(w, r)
		return
	}
	token := r.Header.Get("X-Subject-Token")
	status := http.StatusOK
	if r.Method == http.MethodPost {
		body, _ := io.ReadAll(r.Body)
		c.logins = append(c.logins, body)
		c.issued++
		token, status = fmt.Sprintf("t0ken-%d", c.issued), http.StatusCreated
	}
	c.tokens[token] = true
	w.Header().Set("X-Subject-Token", token)
	document := map[string]any{"catalog": c.catalog, "expires_at": "2030-01-01T00:00:00.000000Z"}
	if c.project != "" {
		document["project"] = map[string]any{"id": c.project, "name": "k8s"}
	}
	text, _ := json.Marshal(map[string]any{"token": document})
	answer(w, status, string(text))
}

// expire makes all tokens invalid.
func (c *cloud) expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.tokens)
}

func (c *cloud) setHandler(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handle = h
}

func (c *cloud) setRefuse(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refuse = h
}

// calls counts the requests except those for tokens.
func (c *cloud) calls() int { return len(c.seen()) }

func (c *cloud) seen() []*http.Request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// credentials returns a configuration that this Keystone accepts.
func (c *cloud) credentials() config.Global {
	return config.Global{
		AuthURL: c.URL + "/identity/v3", Username: "k8s", Password: password, TenantName: "k8s", DomainName: "Default",
		Region: "RegionOne", EndpointType: "public",
	}
}

// connect opens a session that is closed at the end of the test.
func (c *cloud) connect(change ...func(*Options)) *Session {
	c.t.Helper()
	o := Options{Config: c.credentials(), clock: newFakeClock()}
	for _, f := range change {
		f(&o)
	}
	s, err := Connect(context.Background(), o)
	if err != nil {
		c.t.Fatalf("Connect: %v", err)
	}
	c.t.Cleanup(s.Close)
	return s
}

func answer(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// get makes one read call to Octavia.
func get(ctx context.Context, s *Session, path ...string) error {
	var body map[string]any
	_, err := s.LoadBalancer().Get(ctx, s.LoadBalancer().ServiceURL(path...), &body, nil)
	return err
}

// post makes one write call to Octavia.
func post(ctx context.Context, s *Session) error {
	var body map[string]any
	_, err := s.LoadBalancer().Post(ctx, s.LoadBalancer().ServiceURL("lbaas", "loadbalancers"), map[string]any{"x": 1}, &body, nil)
	return err
}

// fakeClock advances only when the tested code sleeps or the test advances it.
type fakeClock struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func newFakeClock() *fakeClock {
	return &fakeClock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
}

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) Sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.slept += d
	return nil
}

func (c *fakeClock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}
