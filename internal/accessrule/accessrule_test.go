// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package accessrule

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
)

func TestAServiceBelowAPathHasARuleWithAndWithoutThePath(t *testing.T) {
	rules := Rules(map[string]string{calltable.ServiceIdentity: "https://cloud/identity/", calltable.ServiceLoadBalancer: "https://cloud/load-balancer/", calltable.ServiceNetwork: "https://cloud:9696/"})
	var got []applicationcredentials.AccessRule
	for _, rule := range rules {
		if strings.HasSuffix(rule.Path, "/status") || strings.HasSuffix(rule.Path, "/networks") || strings.Contains(rule.Path, "trusts") {
			got = append(got, rule)
		}
	}
	want := []applicationcredentials.AccessRule{
		{Service: "identity", Method: "GET", Path: "/v3/OS-TRUST/trusts/*"}, {Service: "identity", Method: "GET", Path: "/identity/v3/OS-TRUST/trusts/*"},
		{Service: "load-balancer", Method: "GET", Path: "/v2.0/lbaas/loadbalancers/*/status"},
		{Service: "load-balancer", Method: "GET", Path: "/load-balancer/v2.0/lbaas/loadbalancers/*/status"},
		{Service: "network", Method: "GET", Path: "/v2.0/networks"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, rule := range rules {
		if rule.Method != "GET" && rule.Service == calltable.ServiceIdentity {
			t.Errorf("an application credential may %s %s", rule.Method, rule.Path)
		}
	}
}

func TestACallIsFoundByThePathAtTheService(t *testing.T) {
	for path, want := range map[string]bool{
		"/v2.0/lbaas/loadbalancers/1": true, "/v2.0/lbaas/loadbalancers": true, "/v2.0/lbaas/loadbalancers/": false, "/v2.0/lbaas/loadbalancers/1/2": false, "/": true, "/v2": false,
	} {
		if _, found := calltable.Find("load-balancer", "GET", path); found != want {
			t.Errorf("%s: found %t", path, found)
		}
	}
}
