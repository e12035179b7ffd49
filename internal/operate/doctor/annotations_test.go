// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"testing"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func annotated(pairs ...string) func(*Facts) {
	return func(f *Facts) {
		s := &f.Cluster.Services.Value[0]
		all := map[string]string{}
		for key, value := range s.Annotations {
			all[key] = value
		}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		s.Annotations = all
	}
}

func TestUnknownAnnotationsAreFoundWithTheNearestKey(t *testing.T) {
	requireDiagnoses(t, map[string]wrong{
		"one that protects something": {
			mistake: annotated("kube-octavia.io/keep-floating-ip", "true"), check: Annotations, status: Error,
			what: "Service default/web has unknown annotations: kube-octavia.io/keep-floating-ip (did you mean " + annotation.KeepFloatingIP + "?)", do: "kubectl edit service -n default web",
		},
		"one that protects nothing": {
			mistake: annotated("kube-octavia.io/max-member", "2"), check: Annotations, status: Warning,
			what: "kube-octavia.io/max-member (did you mean " + annotation.MaxMembers + "?)", do: "kubectl edit service -n default web",
		},
		"both": {
			mistake: annotated("kube-octavia.io/max-member", "2", "loadbalancer.openstack.org/tls-secert", "web"), check: Annotations, status: Error,
			what: "loadbalancer.openstack.org/tls-secert (did you mean " + annotation.TLSSecret + "?)", do: "Correct the keys",
		},
		"one without a prefix, which may be one of another program": {
			mistake: annotated("tls-secret", "web"), check: Annotations, status: Warning,
			what: "tls-secret (did you mean " + annotation.TLSSecret + "?)", do: "kubectl edit service -n default web",
		},
		"one like no other": {
			mistake: annotated("kube-octavia.io/color", "red"), check: Annotations, status: Warning,
			what: "Service default/web has unknown annotations: kube-octavia.io/color", do: "kubectl edit service",
		},
		"known under the other prefix": {
			mistake: annotated("loadbalancer.openstack.org/max-members", "2", "kube-octavia.io/keep-floatingip", "true"), check: Annotations, status: OK,
		},
		"that of a Service of another controller": {
			mistake: func(f *Facts) {
				annotated("kube-octavia.io/keep-floating-ip", "true")(f)
				s := &f.Cluster.Services.Value[0]
				class := "example.com/other"
				s.Spec.LoadBalancerClass = &class
			},
			check: Annotations, status: OK, also: []Check{LoadBalancers, Orphans, OtherControllers},
		},
		"Services that may not be read": {
			mistake: func(f *Facts) {
				f.Cluster.Services.Missing = Missing{Kind: Denied, Reason: "services is forbidden"}
			},
			check: Annotations, status: Unknown, what: "services is forbidden", do: "kubectl get services -A",
			also: []Check{LoadBalancers, OtherControllers, Orphans, Features, Quotas, SecurityGroups, Addresses},
		},
	})
}
