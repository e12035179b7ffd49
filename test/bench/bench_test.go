// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

const (
	octaviaRoute = "/v2.0/lbaas/loadbalancers"
	reqPass      = "req-00000000-0000-4000-8000-000000000001"
	reqWatcher   = "req-00000000-0000-4000-8000-000000000002"
)

func TestCallsOfPassesAreDistinguished(t *testing.T) {
	call := func(service, method, route, query, id string) wire.Call {
		return wire.Call{Service: service, Method: method, Route: route, Query: query, GlobalRequestID: id}
	}
	head := call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute, "fields=id&limit=1000", reqWatcher)
	tests := map[string]struct {
		calls                      []wire.Call
		passes, writes, background int
	}{
		"a list of heads is the watcher's":       {[]wire.Call{head}, 0, 0, 1},
		"a list of ports by id is the sweeper's": {[]wire.Call{call(cloudsim.Network, http.MethodGet, "/v2.0/ports", "id=1", reqWatcher)}, 0, 0, 1},
		"one load balancer is the watcher's":     {[]wire.Call{call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute+"/{id}", "", reqWatcher)}, 0, 0, 1},
		"a list by name is a pass's":             {[]wire.Call{call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute, "name=x", reqPass)}, 1, 0, 0},
		"ports of an address are a pass's":       {[]wire.Call{call(cloudsim.Network, http.MethodGet, "/v2.0/ports", "fixed_ips=x", reqPass)}, 1, 0, 0},
		"one load balancer within a pass is a pass's": {[]wire.Call{
			call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute, "name=x", reqPass),
			call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute+"/{id}", "", reqPass),
		}, 2, 0, 0},
		"a write is a pass's":                     {[]wire.Call{call(cloudsim.LoadBalancer, http.MethodPost, octaviaRoute, "", reqPass)}, 1, 1, 0},
		"a token is no write":                     {[]wire.Call{call(cloudsim.Identity, http.MethodPost, "/v3/auth/tokens", "", reqPass)}, 1, 0, 0},
		"a list without a request id is a pass's": {[]wire.Call{call(cloudsim.LoadBalancer, http.MethodGet, octaviaRoute, "fields=id", "")}, 1, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := countOf(test.calls)
			want := []int{test.passes, test.writes, test.background}
			if diff := cmp.Diff(want, []int{got.Passes, got.Writes, got.Background}); diff != "" {
				t.Errorf("passes, writes, background (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMetricIsSummedOverItsLabelsOnly(t *testing.T) {
	page := "# HELP depth How deep.\n# TYPE depth gauge\n" +
		"depth{name=\"a b\"} 2\ndepth{name=\"c\"} 3\ndepth_max 50\nother 7\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, page) }))
	defer server.Close()
	c := &controller{metrics: strings.TrimPrefix(server.URL, "http://")}
	for name, want := range map[string]float64{"depth": 5, "other": 7, "absent": 0} {
		if got, err := c.metric(name); err != nil || got != want {
			t.Errorf("metric %s is %v (%v), want %v", name, got, err, want)
		}
	}
}

func TestFigureAboveItsTargetIsMissed(t *testing.T) {
	r := &result{Name: "x"}
	r.add(4, "calls", "kept").atMost(4, "design")
	r.add(4.001, "calls", "broken").atMost(4, "design")
	r.spread([]time.Duration{3 * time.Second, time.Second, 2 * time.Second}, "time")
	missed := document{Scenarios: []*result{r}}.missed()
	if len(missed) != 1 || !strings.Contains(missed[0], "broken") {
		t.Errorf("missed: %q", missed)
	}
	if got := []float64{r.Figures[2].Value, r.Figures[3].Value, r.Figures[4].Value}; !cmp.Equal(got, []float64{1, 2, 3}) {
		t.Errorf("spread: %v", got)
	}
}
