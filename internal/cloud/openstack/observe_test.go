// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

const objectID = "0b6c8a4e-52a7-4b35-9a3e-0d5b6f2a9c11"

// logBook records the log at all verbosities.
type logBook struct {
	mu    sync.Mutex
	lines []string
}

func (b *logBook) logger() logr.Logger {
	return funcr.New(func(prefix, args string) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.lines = append(b.lines, prefix+args)
	}, funcr.Options{Verbosity: 100})
}

func (b *logBook) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.lines, "\n")
}

func TestTheRequestIDOfTheContextGoesWithEveryCall(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	id := NewRequestID()
	ctx := WithRequestID(context.Background(), id)
	if RequestID(ctx) != id {
		t.Errorf("the context holds %q", RequestID(ctx))
	}
	for _, ctx := range []context.Context{ctx, ctx, context.Background(), context.Background(), WithRequestID(ctx, "my request")} {
		if err := get(ctx, s, "lbaas", "pools"); err != nil {
			t.Fatal(err)
		}
	}
	var sent []string
	for _, r := range c.seen() {
		sent = append(sent, r.Header.Get("X-Openstack-Request-Id"))
	}
	if sent[0] != id || sent[1] != id {
		t.Errorf("want %s, got %v", id, sent)
	}
	for _, other := range sent[2:] {
		if !validRequestID.MatchString(other) || other == id {
			t.Errorf("%q is not a fresh id", other)
		}
	}
	if sent[2] == sent[3] {
		t.Errorf("two calls share %s", sent[2])
	}
}

func TestAnErrorNamesTheServicesIDOrElseOurs(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	ours := NewRequestID()
	for header, want := range map[string]string{"X-Openstack-Request-Id": requestID, "X-Compute-Request-Id": requestID, "X-Other": ours} {
		t.Run(header, func(t *testing.T) {
			c.setHandler(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set(header, requestID)
				answer(w, 400, "")
			})
			err := Wrap("list", get(WithRequestID(context.Background(), ours), s, "lbaas", "pools"))
			if !strings.HasSuffix(err.Error(), "(request "+want+")") {
				t.Error(err)
			}
		})
	}
}

func TestCallsAreLoggedWithoutSecrets(t *testing.T) {
	c := newCloud(t)
	var book, own logBook
	s := c.connect(func(o *Options) {
		o.Logger = book.logger()
		o.RequestTimeout = 0
	})
	ids := WithRequestID(context.Background(), requestID)
	ctx := logr.NewContext(ids, own.logger().WithValues("service", "default/web"))
	if err := get(ctx, s, "lbaas", "loadbalancers", objectID+"?name=n4me"); err != nil {
		t.Fatal(err)
	}
	c.expire()
	if err := post(ids, s); err == nil {
		t.Fatal("a 200 is no answer to a POST")
	}
	c.setHandler(cut)
	_ = get(ids, s, "lbaas", "pools")

	for _, want := range []string{`"service"="default/web"`, `"method"="GET"`, `"route"="/v2.0/lbaas/loadbalancers/{id}"`, `"status"=200`, `"requestID"="` + requestID + `"`} {
		if !strings.Contains(own.text(), want) {
			t.Errorf("want %s in the log of the context: %s", want, own.text())
		}
	}
	for _, want := range []string{`"service"="identity" "method"="POST" "route"="/v3/auth/tokens"`, `"status"=401`, `no answer to an OpenStack call`} {
		if !strings.Contains(book.text(), want) {
			t.Errorf("want %s in the log: %s", want, book.text())
		}
	}
	for _, secret := range []string{password, "t0ken-", objectID, "n4me"} {
		if strings.Contains(book.text()+own.text(), secret) {
			t.Errorf("the log shows %q: %s", secret, book.text()+own.text())
		}
	}
}

func TestEachCallIsCountedUnderItsRoute(t *testing.T) {
	c := newCloud(t)
	registry := prometheus.NewRegistry()
	change := func(o *Options) {
		o.Metrics = registry
		o.Rate = Rate{PerSecond: 1, Burst: 6, MaxWait: 1}
	}
	s := c.connect(change)
	for _, id := range []string{objectID, "some-other-id"} {
		if err := get(context.Background(), s, "lbaas", "loadbalancers", id); err != nil {
			t.Fatal(err)
		}
	}
	c.expire()
	_ = get(context.Background(), s, "lbaas", "pools") // 401, then 200
	c.setHandler(cut)
	_ = post(context.Background(), s)
	c.throttling(429, "60")
	_ = get(context.Background(), s, "lbaas", "pools")
	_ = get(context.Background(), s, "lbaas", "pools") // not sent

	got := map[string]uint64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "kube_octavia_openstack_request_duration_seconds" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			got[strings.Join([]string{labels["service"], labels["method"], labels["route"], labels["status"]}, " ")] = m.GetHistogram().GetSampleCount()
		}
	}
	want := map[string]uint64{
		"identity POST /v3/auth/tokens 201":                    2,
		"load-balancer GET /v2.0/lbaas/loadbalancers/{id} 200": 2,
		"load-balancer GET /v2.0/lbaas/pools 401":              1,
		"load-balancer GET /v2.0/lbaas/pools 200":              1,
		"load-balancer GET /v2.0/lbaas/pools 429":              1,
		"load-balancer POST /v2.0/lbaas/loadbalancers none":    1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for name, vector := range map[string]*prometheus.CounterVec{"throttled": s.metrics.throttled, "renewals": s.metrics.renewals} {
		if problems, err := testutil.CollectAndLint(vector); err != nil || len(problems) > 0 {
			t.Errorf("%s: %v %v", name, problems, err)
		}
	}
	counts := map[string]float64{
		"429":     testutil.ToFloat64(s.metrics.throttled.WithLabelValues("load-balancer", "429")),
		"pause":   testutil.ToFloat64(s.metrics.throttled.WithLabelValues("load-balancer", "pause")),
		"renewed": testutil.ToFloat64(s.metrics.renewals.WithLabelValues("renewed")),
	}
	if diff := cmp.Diff(map[string]float64{"429": 1, "pause": 1, "renewed": 1}, counts); diff != "" {
		t.Error(diff)
	}
	second := c.connect(change)
	if second.metrics.duration != s.metrics.duration {
		t.Error("a second session does not share the metrics of the first")
	}
}

func TestRoutesAreFewWhateverTheIDs(t *testing.T) {
	r := &calls.Routes{}
	r.Add(calls.ServiceIdentity, "http://cloud/")
	r.Add(calls.ServiceNetwork, "http://cloud/network/")
	r.Add(calls.ServiceLoadBalancer, "http://lb:9876/")
	for address, want := range map[string]string{
		"http://lb:9876/": "load-balancer /",
		"http://lb:9876/v2.0/lbaas/pools/" + objectID + "/members?x=y":  "load-balancer /v2.0/lbaas/pools/{id}/members",
		"http://lb:9876/v2/lbaas/loadbalancers/" + objectID + "/status": "load-balancer /v2/lbaas/loadbalancers/{id}/status",
		"http://cloud/network/v2.0/floatingips/abc/tags/my%2Ftag":       "network /v2.0/floatingips/{id}/tags/{id}/{id}",
		"http://cloud/network":                                               "network /",
		"http://cloud/networks":                                              "identity /networks",
		"http://cloud/v3/auth/tokens":                                        "identity /v3/auth/tokens",
		"http://elsewhere/v3/auth/tokens":                                    "other /",
		"http://lb:9876/v2.0/" + strings.Repeat("lbaas/", 20):                "load-balancer /v2.0/lbaas/lbaas/lbaas/lbaas/lbaas/lbaas/lbaas",
		"http://lb:9876/v2.0/lbaas/providers/amphora/flavor_capabilities":    "load-balancer /v2.0/lbaas/providers/{id}/{id}",
		"http://lb:9876/v2.0/lbaas/loadbalancers/00000000000000000000000000": "load-balancer /v2.0/lbaas/loadbalancers/{id}",
	} {
		t.Run(address, func(t *testing.T) {
			u, err := url.Parse(address)
			if err != nil {
				t.Fatal(err)
			}
			service, route := r.Find(u)
			if got := service + " " + route; got != want {
				t.Errorf("want %q, got %q", want, got)
			}
		})
	}
}

func TestTheUserAgentNamesTheProgram(t *testing.T) {
	c := newCloud(t)
	s := c.connect(func(o *Options) { o.UserAgent = "kube-octavia/1.2.3" })
	if err := get(context.Background(), s, "lbaas"); err != nil {
		t.Fatal(err)
	}
	if got := c.seen()[0].UserAgent(); !strings.HasPrefix(got, "kube-octavia/1.2.3 ") {
		t.Errorf("got %q", got)
	}
}

func TestTheHighestVersionOfOctaviaIsFoundByNumber(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   [2]int
		class  Class
	}{
		"unordered":       {200, `{"versions": [{"id": "v2.9"}, {"id": "v2.26"}, {"id": "v2.10"}, {"id": "v1"}, {"id": "v2"}]}`, [2]int{2, 26}, ""},
		"multiple choice": {300, `{"versions": [{"id": "v2.0"}, {"id": "v3.1"}]}`, [2]int{3, 1}, ""},
		"beside strange":  {200, `{"versions": [{"id": "latest"}, {"id": "v2.x"}, {"id": "v2.5"}, {"id": "2.7"}]}`, [2]int{2, 5}, ""},
		"none":            {200, `{"versions": []}`, [2]int{}, Transient},
		"another thing":   {200, `{}`, [2]int{}, Transient},
		"unavailable":     {503, ``, [2]int{}, Throttled},
		"a page":          {200, `<html>`, [2]int{}, Transient},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			s := c.connect()
			c.setHandler(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/load-balancer/" {
					t.Errorf("asked at %s", r.URL.Path)
				}
				answer(w, test.status, test.body)
			})
			major, minor, err := s.OctaviaVersion(context.Background())
			if got := [2]int{major, minor}; got != test.want || Classify(err) != test.class {
				t.Errorf("got %v, class %q: %v", got, Classify(err), err)
			}
		})
	}
}
