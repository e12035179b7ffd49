// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kube-octavia/kube-octavia/test/kube"
)

func TestRulesAreComparedWithRequestsInBothDirections(t *testing.T) {
	granted := append(
		expand("", []rbacv1.PolicyRule{
			{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"list", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"services/status"}, Verbs: []string{"patch"}},
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{"kube-system"}, Verbs: []string{"get"}},
		}),
		expand("home", []rbacv1.PolicyRule{{APIGroups: []string{"apps.example"}, Resources: []string{"leases"}, Verbs: []string{"create"}}})...)
	list := kube.Request{Verb: "list", Resource: "services"}
	watch := kube.Request{Verb: "watch", Resource: "services"}
	report := kube.Request{Verb: "patch", Resource: "services", Subresource: "status", Namespace: "ns", Name: "web"}
	system := kube.Request{Verb: "get", Resource: "namespaces", Namespace: "kube-system", Name: "kube-system"}
	lease := kube.Request{Verb: "create", Group: "apps.example", Resource: "leases", Namespace: "home"}
	used := []kube.Request{list, watch, report, system, lease}
	for name, test := range map[string]struct {
		requests        []kube.Request
		unused, lacking []Permission
	}{
		"all that is allowed is used":  {requests: used},
		"and what every user may":      {requests: append([]kube.Request{{Verb: "get", Path: "/apis"}}, used...)},
		"a verb is unused":             {requests: []kube.Request{list, report, system, lease}, unused: granted[1:2]},
		"a resource is unused":         {requests: []kube.Request{list, watch, system, lease}, unused: granted[2:3]},
		"another verb was needed":      {requests: append([]kube.Request{{Verb: "get", Resource: "services", Namespace: "ns", Name: "web"}}, used...), lacking: []Permission{{Namespace: "ns", Verb: "get", Resource: "services", Name: "web"}}},
		"the object and not its part":  {requests: append([]kube.Request{{Verb: "patch", Resource: "services"}}, used...), lacking: []Permission{{Verb: "patch", Resource: "services"}}},
		"the part and not the object":  {requests: append([]kube.Request{{Verb: "list", Resource: "services", Subresource: "status"}}, used...), lacking: []Permission{{Verb: "list", Resource: "services/status"}}},
		"an object of another name":    {requests: append([]kube.Request{{Verb: "get", Resource: "namespaces", Name: "default"}}, used...), lacking: []Permission{{Verb: "get", Resource: "namespaces", Name: "default"}}},
		"an object of another group":   {requests: append([]kube.Request{{Verb: "list", Group: "other.example", Resource: "services"}}, used...), lacking: []Permission{{Verb: "list", Group: "other.example", Resource: "services"}}},
		"outside the role's namespace": {requests: append([]kube.Request{{Verb: "create", Group: "apps.example", Resource: "leases", Namespace: "away"}}, used...), lacking: []Permission{{Namespace: "away", Verb: "create", Group: "apps.example", Resource: "leases"}}},
		"the same twice":               {requests: append([]kube.Request{{Verb: "delete", Resource: "services"}, {Verb: "delete", Resource: "services"}}, used...), lacking: []Permission{{Verb: "delete", Resource: "services"}}},
	} {
		t.Run(name, func(t *testing.T) {
			unused, lacking := Compare(granted, test.requests)
			if diff := cmp.Diff(append([]Permission{}, test.unused...), append([]Permission{}, unused...)); diff != "" {
				t.Errorf("unused (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.lacking, lacking); diff != "" {
				t.Errorf("lacking (-want +got):\n%s", diff)
			}
		})
	}
}
