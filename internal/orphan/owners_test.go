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
