// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package accessrule

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

func TestAServiceBelowAPathHasARuleWithAndWithoutThePath(t *testing.T) {
	rules := Rules(map[string]string{calls.ServiceIdentity: "https://cloud/identity/", calls.ServiceLoadBalancer: "https://cloud/load-balancer/", calls.ServiceNetwork: "https://cloud:9696/"})
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
		if rule.Method != "GET" && rule.Service == calls.ServiceIdentity {
			t.Errorf("an application credential may %s %s", rule.Method, rule.Path)
		}
	}
}

func TestACallIsFoundByThePathAtTheService(t *testing.T) {
	for path, want := range map[string]bool{
		"/v2.0/lbaas/loadbalancers/1": true, "/v2.0/lbaas/loadbalancers": true, "/v2.0/lbaas/loadbalancers/": false, "/v2.0/lbaas/loadbalancers/1/2": false, "/": true, "/v2": false,
	} {
		t.Run(path, func(t *testing.T) {
			if _, found := calls.Find("load-balancer", "GET", path); found != want {
				t.Errorf("found %t", found)
			}
		})
	}
}

func TestOnlyFeaturesOfWhichNoCallIsAllowedCountAsLeftOut(t *testing.T) {
	all := Rules(nil)
	rules := func(remove func(applicationcredentials.AccessRule) bool) []applicationcredentials.AccessRule {
		return slices.DeleteFunc(slices.Clone(all), remove)
	}
	for name, test := range map[string]struct {
		rules    []applicationcredentials.AccessRule
		features []calls.Feature
		others   int
	}{
		"all calls are allowed":           {all, nil, 0},
		"created without a feature":       {Rules(nil, calls.FeatureCertificates), []calls.Feature{calls.FeatureCertificates}, 0},
		"created without both":            {Rules(nil, calls.FeatureCertificates, calls.FeatureSecurityGroups), []calls.Feature{calls.FeatureCertificates, calls.FeatureSecurityGroups}, 0},
		"created for load balancers only": {Rules(nil, calls.Additional()...), calls.Additional(), 0},
		"routes without security groups":  {Rules(nil, calls.FeatureSecurityGroups), []calls.Feature{calls.FeatureSecurityGroups}, 0},
		"routers may be read by chance": {rules(func(r applicationcredentials.AccessRule) bool {
			return strings.Contains(r.Path, "routers") && r.Method == "PUT"
		}), []calls.Feature{calls.FeatureRoutes}, 0},
		"created before VIPs had security groups, without those of nodes": {slices.DeleteFunc(Rules(nil, calls.FeatureSecurityGroups), func(r applicationcredentials.AccessRule) bool { return strings.Contains(r.Path, "security-groups") }), []calls.Feature{calls.FeatureSecurityGroups}, 0},
		"one call of a feature is new":                                    {rules(func(r applicationcredentials.AccessRule) bool { return r.Method == "POST" && r.Path == "/v1/secrets" }), nil, 1},
		"created before Octavia read certificates":                        {rules(func(r applicationcredentials.AccessRule) bool { return strings.HasSuffix(r.Path, "/acl") }), nil, 0},
		"Octavia may read certificates, and nothing else": {rules(func(r applicationcredentials.AccessRule) bool {
			return r.Service == calls.ServiceKeyManager && !strings.HasSuffix(r.Path, "/acl")
		}), []calls.Feature{calls.FeatureCertificates}, 0},
		"a call that is always needed":      {rules(func(r applicationcredentials.AccessRule) bool { return r.Path == calls.ProvidersPath }), nil, 1},
		"another feature is never left out": {rules(func(r applicationcredentials.AccessRule) bool { return strings.Contains(r.Path, "floatingips") }), nil, 5},
	} {
		t.Run(name, func(t *testing.T) {
			features, others := Without(Missing(test.rules))
			if diff := cmp.Diff(test.features, features); diff != "" || len(others) != test.others {
				t.Errorf("other calls %v, features (-want +got):\n%s", others, diff)
			}
		})
	}
}

func TestACredentialWithoutCertificatesLetsOctaviaReadNone(t *testing.T) {
	for _, rule := range Rules(nil, calls.FeatureCertificates) {
		if rule.Service == calls.ServiceKeyManager {
			t.Errorf("it may %s %s", rule.Method, rule.Path)
		}
	}
}

func TestCallsThatOnlySomeServicesNeedAreKeptApart(t *testing.T) {
	older := slices.DeleteFunc(Rules(nil), func(r applicationcredentials.AccessRule) bool {
		return strings.HasSuffix(r.Path, "/acl") && r.Method == "PUT" || r.Path == calls.ProvidersPath
	})
	_, others := Without(Missing(older))
	grants := Of(calls.FeatureCertificateGrants, Missing(older))
	var names []string
	for _, call := range slices.Concat(grants, others) {
		names = append(names, call.String())
	}
	want := []string{"PUT /v1/secrets/*/acl of key-manager", "PUT /v1/containers/*/acl of key-manager", "GET /v2.0/lbaas/providers of load-balancer"}
	if diff := cmp.Diff(want, names); diff != "" || len(others) != 1 {
		t.Errorf("%d others (-want +got):\n%s", len(others), diff)
	}
}

func TestACallIsFoundByItsWholeAddress(t *testing.T) {
	for _, test := range []struct {
		name               string
		method, path, want string
	}{
		{"path below a prefix", "POST", "/key-manager/v1/secrets", "POST /v1/secrets of key-manager"},
		{"path without a prefix", "GET", "/v1/secrets/1", "GET /v1/secrets/* of key-manager"},
		{"path below two parts of a prefix", "PUT", "/a/b/network/v2.0/ports/1", "PUT /v2.0/ports/* of network"},
		{"method that is not used", "DELETE", "/v1/secrets", ""},
		{"root", "GET", "/", ""},
		{"no path", "GET", "", ""},
		{"unknown path", "GET", "/things/", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			call, found := calls.FindAddress(test.method, test.path)
			if found != (test.want != "") || found && call.String() != test.want {
				t.Errorf("%s %s: %s, %t", test.method, test.path, call, found)
			}
		})
	}
}
