// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// ourClass is the load balancer class of the controller under test.
const ourClass = "kube-octavia.io/octavia"

// served is a claimed Service of type LoadBalancer.
func served(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Finalizers: []string{claim.Finalizer},
			Annotations: map[string]string{annotation.Managed: "uid-1 " + ourClass, annotation.LoadBalancerID: "lb-1"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

// unclaimed removes the annotation of a claimed Service.
func unclaimed(s *corev1.Service) { delete(s.Annotations, annotation.Managed) }

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func deleted(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }

// of returns the Service as an owner, with the policy and the settings of the Planner.
func (p *Planner) of(s *corev1.Service) claim.Owner {
	return service.Kind{Policy: p.Options.Policy, Config: p.Options.Config}.Of(s)
}
