// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

func TestWhyNoServiceIsHandledIsCountedByReason(t *testing.T) {
	service := func(kind corev1.ServiceType, class string) corev1.Service {
		v := corev1.Service{}
		v.Spec.Type = kind
		if class != "" {
			v.Spec.LoadBalancerClass = &class
		}
		return v
	}
	balancer := corev1.ServiceTypeLoadBalancer
	policy := claim.Policy{LoadBalancerClass: "ours"}
	for _, test := range []struct {
		name string

		services []corev1.Service
		want     string
	}{
		{"no Services", nil, "there is no Service to handle in the cluster: none is of type LoadBalancer"},
		{"only another type", []corev1.Service{service(corev1.ServiceTypeClusterIP, "")}, "there is no Service to handle in the cluster: none is of type LoadBalancer"},
		{"one that is handled", []corev1.Service{service(balancer, "x"), service(balancer, "ours")}, ""},
		{"other classes and no class", []corev1.Service{service(balancer, "x"), service(balancer, ""), service(balancer, "x")}, "there is no Service to handle in the cluster; " +
			"1 of type LoadBalancer: it has no spec.loadBalancerClass, and --handle-default-class is false; " +
			`2 of type LoadBalancer: spec.loadBalancerClass is "x", and --load-balancer-class is "ours"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := Unhandled(policy, "the cluster", test.services); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestServicesWithoutAClassAreNamedWithTheReason(t *testing.T) {
	service := func(name string, kind corev1.ServiceType, class string) corev1.Service {
		v := corev1.Service{}
		v.Namespace, v.Name, v.Spec.Type = "ns", name, kind
		if class != "" {
			v.Spec.LoadBalancerClass = &class
		}
		return v
	}
	balancer := corev1.ServiceTypeLoadBalancer
	const reason = " (it has no spec.loadBalancerClass, and --handle-default-class is false)"
	for name, test := range map[string]struct {
		policy   claim.Policy
		services []corev1.Service
		want     string
	}{
		"none": {claim.Policy{LoadBalancerClass: "ours"}, []corev1.Service{service("web", balancer, "ours"), service("other", balancer, "x"), service("inner", corev1.ServiceTypeClusterIP, "")}, ""},
		"one":  {claim.Policy{LoadBalancerClass: "ours"}, []corev1.Service{service("web", balancer, "ours"), service("a", balancer, "")}, "1 Service of type LoadBalancer is not handled: ns/a" + reason},
		"four": {claim.Policy{LoadBalancerClass: "ours"}, []corev1.Service{service("a", balancer, ""), service("b", balancer, ""), service("c", balancer, ""), service("d", balancer, "")},
			"4 Services of type LoadBalancer are not handled: ns/a, ns/b, ns/c and 1 more" + reason},
		"all are handled": {claim.Policy{LoadBalancerClass: "ours", DefaultClass: true}, []corev1.Service{service("a", balancer, "")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Unclassed(test.policy, test.services); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
