// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func mustJSON(t testing.TB, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestVersionsAreListedFromTheOldestToTheNewest(t *testing.T) {
	for newest, want := range map[string]int{"": newestMinor + 1, "2.0": 1, "2.5": 6, "2.10": 11, "v2.26": 27} {
		t.Run("newest is "+newest, func(t *testing.T) {
			c := newCloud(t, Options{APIVersion: newest})
			a := c.send(httptest.NewRequest("GET", "http://cloud:9876/", nil), wire.Identity{})
			versions := a.must(http.StatusOK).body["versions"].([]any)
			if len(versions) != want {
				t.Fatalf("%q lists %d versions, want %d", newest, len(versions), want)
			}
			for i, v := range versions {
				status := "SUPPORTED"
				if i == want-1 {
					status = "CURRENT"
				}
				at := fmt.Sprintf("versions.%d.", i)
				if a.str(at+"id") != fmt.Sprintf("v2.%d", i) || a.str(at+"status") != status || a.str(at+"links.0.href") != "http://cloud:9876/v2" {
					t.Errorf("version %d is %v", i, v)
				}
			}
		})
	}
}

func TestVersionsThatCannotBeSimulatedAreRefused(t *testing.T) {
	for _, v := range []string{"2", "2.31", "3.0", "2.x", "2.-1", "1.9"} {
		t.Run(v, func(t *testing.T) {
			if _, err := New(Options{APIVersion: v, Network: newCloud(t, Options{}).neutron}); err == nil {
				t.Errorf("version %q is taken", v)
			}
		})
	}
}

func TestOlderVersionsRefuseNewerFeatures(t *testing.T) {
	tests := map[string]struct {
		since              int
		method, path, body string
	}{
		"timeouts":          {1, "PUT", "/listeners/{listener}", `{"listener": {"timeout_client_data": 1}}`},
		"tags":              {5, "PUT", "/loadbalancers/{lb}", `{"loadbalancer": {"tags": ["a"]}}`},
		"tags filter":       {5, "GET", "/loadbalancers?tags=a", ""},
		"flavors":           {6, "GET", "/flavors", ""},
		"monitor's domain":  {10, "PUT", "/healthmonitors/{monitor}", `{"healthmonitor": {"domain_name": "x.y", "http_version": 1.1}}`},
		"additive_only":     {11, "PUT", "/pools/{pool}/members?additive_only=true", `{"members": []}`},
		"source ranges":     {12, "PUT", "/listeners/{listener}", `{"listener": {"allowed_cidrs": ["10.0.0.0/8"]}}`},
		"TCP and UDP":       {13, "POST", "/listeners", `{"listener": {"loadbalancer_id": "{lb}", "protocol": "UDP", "protocol_port": 80}}`},
		"zones":             {14, "GET", "/availabilityzones", ""},
		"SCTP":              {23, "POST", "/listeners", `{"listener": {"loadbalancer_id": "{lb}", "protocol": "SCTP", "protocol_port": 99}}`},
		"PROXYV2":           {22, "POST", "/pools", `{"pool": {"loadbalancer_id": "{lb}", "protocol": "PROXYV2", "lb_algorithm": "ROUND_ROBIN"}}`},
		"PROMETHEUS":        {25, "POST", "/listeners", `{"listener": {"loadbalancer_id": "{lb}", "protocol": "PROMETHEUS", "protocol_port": 99}}`},
		"L7 quota":          {19, "PUT", "/quotas/x", `{"quota": {"l7policy": 1}}`},
		"HTTP monitor, UDP": {16, "POST", "/healthmonitors", `{"healthmonitor": {"pool_id": "{udp}", "type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 2}}`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			for minor, old := range map[int]bool{test.since - 1: true, test.since: false} {
				t.Run(fmt.Sprintf("2.%d", minor), func(t *testing.T) {
					c := newCloud(t, Options{APIVersion: fmt.Sprintf("2.%d", minor)})
					tr := c.web()
					udp := c.settled(tr.lb, c.call("POST", "/pools", fmt.Sprintf(`{"pool": {"loadbalancer_id": %q, "protocol": "UDP", "lb_algorithm": "ROUND_ROBIN"}}`, tr.lb))).str("pool.id")
					ids := strings.NewReplacer("{lb}", tr.lb, "{listener}", tr.listener, "{pool}", tr.pool, "{monitor}", tr.monitor, "{udp}", udp)
					a := c.as(admin, test.method, ids.Replace(test.path), ids.Replace(test.body))
					if refused := a.status >= 400; refused != old {
						t.Errorf("version 2.%d answers %d %s", minor, a.status, a.text)
					}
				})
			}
		})
	}
}

func TestOlderVersionsDoNotShowNewerFields(t *testing.T) {
	for since, field := range map[int]string{
		5: "loadbalancer.tags", 6: "loadbalancer.flavor_id", 14: "loadbalancer.availability_zone", 26: "loadbalancer.additional_vips",
		1: "listener.timeout_client_data", 12: "listener.allowed_cidrs", 29: "loadbalancer.vip_sg_ids", 27: "listener.hsts_max_age", 10: "healthmonitor.http_version",
	} {
		t.Run(field, func(t *testing.T) {
			kind, name, _ := strings.Cut(field, ".")
			for minor, shown := range map[int]bool{since - 1: false, since: true} {
				t.Run(fmt.Sprintf("2.%d", minor), func(t *testing.T) {
					c := newCloud(t, Options{APIVersion: fmt.Sprintf("2.%d", minor)})
					tr := c.web()
					path := map[string]string{"loadbalancer": "/loadbalancers/" + tr.lb, "listener": "/listeners/" + tr.listener, "healthmonitor": "/healthmonitors/" + tr.monitor}[kind]
					if _, has := c.call("GET", path, "").body[kind].(map[string]any)[name]; has != shown {
						t.Errorf("version 2.%d shows %s: %v", minor, field, has)
					}
				})
			}
		})
	}
}

func TestVersionAndProviderCanBeChangedAtRunTime(t *testing.T) {
	c := newCloud(t, Options{})
	if err := c.SetOffer("2.31", "ovn"); err == nil {
		t.Error("a version that cannot be simulated is taken")
	}
	if err := c.SetOffer("2.10", "f5"); err == nil {
		t.Error("an unknown provider is taken")
	}
	if err := c.SetOffer("2.10", "ovn"); err != nil {
		t.Fatal(err)
	}
	a := c.post("").must(http.StatusCreated)
	if got := a.str("loadbalancer.provider"); got != "ovn" {
		t.Errorf("the provider is %s", got)
	}
	c.post(`"availability_zone": "x"`).refused(http.StatusBadRequest, "Unknown attribute for argument load_balancer.loadbalancer: availability_zone")
}
