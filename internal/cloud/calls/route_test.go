// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package calls

import (
	"net/url"
	"strings"
	"testing"
)

// FuzzRoute checks that ids are removed from addresses.
func FuzzRoute(f *testing.F) {
	f.Add("http://octavia.test/load-balancer/v2.0/lbaas/pools/4f6a/members?x=y")
	f.Add("//%2f/..")
	known := &Routes{}
	known.Add(ServiceLoadBalancer, "http://octavia.test/load-balancer")
	f.Fuzz(func(t *testing.T, address string) {
		u, err := url.Parse(address)
		if err != nil {
			return
		}
		_, route := known.Find(u)
		for _, segment := range strings.Split(route, "/") {
			if segment != "" && segment != "{id}" && !words.Has(segment) {
				t.Errorf("route %q holds %q", route, segment)
			}
		}
	})
}
