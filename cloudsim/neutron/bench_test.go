// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// BenchmarkPage lists a page of 1,000 of 4,000 ports.
func BenchmarkPage(b *testing.B) {
	s := New(Options{Quotas: map[string]int{"port": -1}})
	ids, err := s.Seed(Seed{ProjectID: "p", AdminProjectID: "a", PublicCIDR: netip.MustParsePrefix("127.16.128.0/17"), PrivateCIDR: netip.MustParsePrefix("127.16.0.0/17")})
	if err != nil {
		b.Fatal(err)
	}
	for i := range 4000 {
		if _, err := s.AllocateVIP(VIPRequest{LoadBalancerID: fmt.Sprint(i), ProjectID: "p", SubnetID: ids.PrivateSubnetID}); err != nil {
			b.Fatal(err)
		}
	}
	mux := s.Mux()
	for b.Loop() {
		r := httptest.NewRequest(http.MethodGet, "/v2.0/ports?limit=1000&device_owner=Octavia", nil)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), wire.Identity{ProjectID: "p"})))
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}
