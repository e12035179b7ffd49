// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// ourClass is the class of the controller under test.
const ourClass = "kube-octavia.io/octavia"

// served returns a Service of type LoadBalancer that we have claimed.
func served(edits ...func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "uid-1", Finalizers: []string{Finalizer},
			Annotations: map[string]string{annotation.Managed: "uid-1 " + ourClass, annotation.LoadBalancerID: "lb-1"}},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
	}
	for _, edit := range edits {
		edit(s)
	}
	return s
}

func class(name string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Spec.LoadBalancerClass = ptr.To(name) }
}

func clusterIP(s *corev1.Service) {
	s.Spec.Type, s.Spec.LoadBalancerClass = corev1.ServiceTypeClusterIP, nil
}

func deleted(s *corev1.Service) { s.DeletionTimestamp = ptr.To(metav1.Now()) }

func unmarked(s *corev1.Service) { delete(s.Annotations, annotation.Managed) }

func without(key string) func(*corev1.Service) {
	return func(s *corev1.Service) { delete(s.Annotations, key) }
}

func TestServicesThatAreServedAndThatAreReleased(t *testing.T) {
	tests := map[string]struct {
		service             *corev1.Service
		explicitOnly, drain bool
		serves, leaves      bool
	}{
		"without a class":                                        {service: served(), serves: true},
		"without a class, which is not handled":                  {service: served(), explicitOnly: true},
		"without a class, which is not handled, deleted":         {service: served(deleted), explicitOnly: true, leaves: true},
		"of another type, without a class, which is not handled": {service: served(clusterIP), explicitOnly: true, leaves: true},
		"of another type, with the mark of another class":        {service: served(clusterIP, func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" })},
		"of our class":                    {service: served(class(ourClass)), explicitOnly: true, serves: true},
		"of another class":                {service: served(class("other/x"), unmarked)},
		"of another class, with our mark": {service: served(class("other/x")), leaves: true},
		"being deleted":                   {service: served(deleted), leaves: true},
		"of openstack-cloud-controller-manager, deleted":                 {service: served(unmarked, deleted), leaves: true},
		"changed to another type":                                        {service: served(clusterIP), leaves: true},
		"changed to another type, of openstack-cloud-controller-manager": {service: served(clusterIP, unmarked), leaves: true},
		"the same, without a class, which is not handled":                {service: served(clusterIP, unmarked), explicitOnly: true},
		"of another type, never ours":                                    {service: served(clusterIP, unmarked, without(annotation.LoadBalancerID))},
		"of another type, with a mark copied from another Service": {
			service: served(clusterIP, without(annotation.LoadBalancerID), func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }),
		},
		"of another class, with the mark of that class": {
			service: served(class("other/x"), func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" }),
		},
		"without our finalizer":                       {service: served(deleted, func(s *corev1.Service) { s.Finalizers = nil }), leaves: true},
		"of another type, without our finalizer":      {service: served(clusterIP, func(s *corev1.Service) { s.Finalizers = nil }), leaves: true},
		"of another class, without our finalizer":     {service: served(class("other/x"), func(s *corev1.Service) { s.Finalizers = nil }), leaves: true},
		"without our finalizer, with a copied mark":   {service: served(clusterIP, func(s *corev1.Service) { s.Finalizers, s.UID = nil, "uid-9" })},
		"without our finalizer, and without our mark": {service: served(clusterIP, unmarked, func(s *corev1.Service) { s.Finalizers = nil })},

		"drained":               {service: served(), drain: true, leaves: true},
		"drained, of our class": {service: served(class(ourClass)), explicitOnly: true, drain: true, leaves: true},
		"drained, of our class, but its mark was removed":                 {service: served(class(ourClass), unmarked), explicitOnly: true, drain: true, leaves: true},
		"drained, being deleted":                                          {service: served(deleted), drain: true, leaves: true},
		"drained, changed to another type":                                {service: served(clusterIP), drain: true, leaves: true},
		"drained, without a class, which is not handled":                  {service: served(), explicitOnly: true, drain: true},
		"drained, of another class":                                       {service: served(class("other/x"), unmarked), drain: true},
		"drained, of another class, with its mark":                        {service: served(class("other/x"), func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" }), drain: true},
		"drained, of openstack-cloud-controller-manager":                  {service: served(unmarked), drain: true},
		"drained, of openstack-cloud-controller-manager, deleted":         {service: served(unmarked, deleted), drain: true},
		"drained, of openstack-cloud-controller-manager, of another type": {service: served(unmarked, clusterIP), drain: true},
		"drained, without our finalizer":                                  {service: served(func(s *corev1.Service) { s.Finalizers = nil }), drain: true, leaves: true},
		"drained, never served":                                           {service: served(unmarked, func(s *corev1.Service) { s.Finalizers = nil }), drain: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			p := Policy{LoadBalancerClass: ourClass, DefaultClass: !test.explicitOnly, Drain: test.drain}
			if got := p.Serves(test.service); got != test.serves {
				t.Errorf("Serves: %t", got)
			}
			if got := p.Leaves(test.service); got != test.leaves {
				t.Errorf("Leaves: %t", got)
			}
		})
	}
}

func TestAnnotationsThatWereWrittenForAnotherServiceAreCopied(t *testing.T) {
	address := func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = "192.0.2.1" }
	published := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	}
	other := func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }
	for name, c := range map[string]struct {
		service  *corev1.Service
		copied   bool
		original string
	}{
		"its own":                               {service: served(address, published)},
		"its own, nothing published":            {service: served(address)},
		"of another controller for itself":      {service: served(address, func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-1 other/x" })},
		"with the mark of another Service":      {service: served(other), copied: true, original: "uid-9"},
		"the same, with a restored status":      {service: served(other, address, published), copied: true, original: "uid-9"},
		"a request for a load balancer":         {service: served(unmarked)},
		"without a mark, with an address":       {service: served(unmarked, address), copied: true},
		"without a mark, with a note":           {service: served(unmarked, func(s *corev1.Service) { s.Annotations[annotation.Programmed] = "digest" }), copied: true},
		"of openstack-cloud-controller-manager": {service: served(unmarked, address, published)},
		"new":                                   {service: served(unmarked, without(annotation.LoadBalancerID))},
	} {
		if Copied(c.service) != c.copied || Original(c.service) != c.original {
			t.Errorf("%s: copied %t from %q", name, Copied(c.service), Original(c.service))
		}
	}
}
