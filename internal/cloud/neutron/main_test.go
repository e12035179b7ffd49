// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// answering is a Neutron with one response for each collection. It uses no network, so that it works in a synctest
// bubble, and counts calls.
type answering struct {
	collections map[string]string // JSON, by path
	asked       map[string]int
}

// RoundTrip implements http.RoundTripper.
func (a *answering) RoundTrip(r *http.Request) (*http.Response, error) {
	a.asked[r.URL.Path]++
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.WriteString(a.collections[r.URL.Path])
	return w.Result(), nil
}

func (a *answering) client() *neutron.Client {
	a.asked = map[string]int{}
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: a}}
	return neutron.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: "http://neutron.test/", Type: "network"}, "own")
}

func TestALookupIsCachedForTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		service := answering{collections: map[string]string{
			"/networks": `{"networks": [{"id": "n1", "name": "public"}]}`,
			"/subnets":  `{"subnets": []}`,
			"/ports":    `{"ports": [{"id": "p1", "fixed_ips": [{"subnet_id": "s1", "ip_address": "10.0.0.1"}]}]}`,
		}}
		client := service.client()
		lookUp := func() {
			t.Helper()
			network, err := client.ExternalNetwork(t.Context())
			if err != nil || network != "n1" {
				t.Errorf("network %q (%v)", network, err)
			}
			subnet, err := client.SubnetOfAddress(t.Context(), "10.0.0.1")
			if err != nil || subnet != "s1" {
				t.Errorf("subnet %q (%v)", subnet, err)
			}
		}
		for i, after := range []struct {
			wait time.Duration // in fake time
			want int
		}{{0, 1}, {10*time.Minute - 1, 1}, {1, 2}, {10*time.Minute - 1, 2}, {time.Hour, 3}} {
			time.Sleep(after.wait)
			lookUp()
			for _, path := range []string{"/networks", "/subnets", "/ports"} {
				if service.asked[path] != after.want {
					t.Errorf("step %d: %s asked for %d times, want %d", i, path, service.asked[path], after.want)
				}
			}
		}
	})
}

func TestRepeatedPagesAreAnError(t *testing.T) {
	service := answering{collections: map[string]string{
		"/floatingips": `{"floatingips": [{"id": "f1", "port_id": "p1"}], "floatingips_links": [{"rel": "next", "href": "http://neutron.test/floatingips?marker=f1"}]}`,
	}}
	found, err := service.client().FloatingIPsOn(t.Context(), "p1")
	if openstack.Classify(err) != openstack.Transient || found != nil {
		t.Errorf("found %v, error %v", found, err)
	}
	if service.asked["/floatingips"] != 2 {
		t.Errorf("asked %d times", service.asked["/floatingips"])
	}
}
