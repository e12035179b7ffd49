// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package orphan

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
)

func TestAServiceDefaultKubernetesThatWasCreatedAgainOwnsItsLoadBalancer(t *testing.T) {
	f := &Finder{Policy: claim.Policy{ClusterUID: "c"}}
	api := func(uid types.UID, clusterIP string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes", UID: uid, Finalizers: []string{claim.Finalizer},
				Annotations: map[string]string{annotation.Managed: string(uid)}},
			Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, ClusterIP: clusterIP},
		}
	}
	earlier := api("uid-1", "10.96.0.1")
	made := marked(loadBalancerKind, "b1", f.Owner(&earlier).ServiceUID)
	for _, c := range []struct {
		service corev1.Service
		owns    bool
	}{{earlier, true}, {api("uid-2", "10.96.0.1"), true}, {api("uid-2", "10.97.0.1"), false}} {
		if got := f.ownersAmong([]corev1.Service{c.service}).have(made); got != c.owns {
			t.Errorf("uid %s at %s: %t", c.service.UID, c.service.Spec.ClusterIP, got)
		}
	}
}

func TestAFloatingIPThatAServiceRequestsIsNoOrphan(t *testing.T) {
	f := &Finder{Policy: claim.Policy{ClusterUID: "c", DefaultClass: true}}
	left := marked(floatingIPKind, "f1", "uid-of-a-deleted-service")
	left.Name = "203.0.113.7"
	requesting := func(address, ip string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid-1", Annotations: map[string]string{annotation.FloatingIP: address}},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: ip},
		}
	}
	for name, c := range map[string]struct {
		service corev1.Service
		stays   bool
	}{
		"by its address":    {requesting("203.0.113.7", ""), true},
		"by its id":         {requesting("f1", ""), true},
		"by loadBalancerIP": {requesting("", "203.0.113.7"), true},
		"another one":       {requesting("203.0.113.8", ""), false},
		"none":              {requesting("", ""), false},
	} {
		if got := f.ownersAmong([]corev1.Service{c.service}).have(left); got != c.stays {
			t.Errorf("%s: it stays: %t", name, got)
		}
	}
}
