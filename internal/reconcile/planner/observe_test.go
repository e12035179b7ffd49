// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neutron"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestAFloatingIPOfKuryrThatIsReadAgainAfterItWasDetachedIsStillThatOfItsClusterIP(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"floatingips": [{"id": "f-1", "floating_ip_address": "203.0.113.5", "description": "kuryr_lb"}]}`)
	}))
	defer server.Close()
	p := &Planner{Neutron: neutron.New(&gophercloud.ServiceClient{ProviderClient: &gophercloud.ProviderClient{}, Endpoint: server.URL + "/v2.0/", Type: "network"}, "p-1")}
	before := []lb.FloatingIP{{ID: "f-1", Address: "203.0.113.5", Description: lb.KuryrFloatingIP, KuryrVIP: "10.96.0.7"}}
	now, err := p.readAgain(t.Context(), before, "203.0.113.5")
	if d := cmp.Diff(before, now); d != "" || err != nil {
		t.Errorf("%v, (-before +now):\n%s", err, d)
	}
}
