// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Each write to a Service returns the Service as it is then. If a user has changed it since the pass began, the conditions must
// not say that the change was served: `kubectl wait` and Argo CD compare observedGeneration.
func TestAPassSaysOnlyOfTheRequestThatItBeganWithThatItIsServed(t *testing.T) {
	web := served(func(s *corev1.Service) {
		s.Generation = 1
		s.Spec.Ports = []corev1.ServicePort{{Port: 80}}
	})
	r := withOctavia(t, nil)
	r.Client = fake.NewClientBuilder().WithObjects(web).WithStatusSubresource(web).Build()
	r.Recorder = events.NewFakeRecorder(10)
	s := newSubject(services, web)

	// A user changes the Service, and the next write of the pass shows it.
	web.Generation, web.Spec.Ports, web.Annotations = 2, []corev1.ServicePort{{Port: 81}}, map[string]string{annotation.KeepFloatingIP: "true"}
	if got := s.owner().Spec.Ports[0].Port; got != 80 {
		t.Errorf("the pass goes on with port %d", got)
	}
	if got := s.owner().Recorded.LoadBalancerID; got != "" {
		t.Errorf("what was recorded is still %q", got)
	}
	err := r.publish(t.Context(), s, status.Pass{})
	if err != nil {
		t.Fatal(err)
	}
	var now corev1.Service
	err = r.Client.Get(t.Context(), types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, &now)
	if err != nil {
		t.Fatal(err)
	}
	if len(now.Status.Conditions) == 0 {
		t.Fatal("nothing was published")
	}
	for _, c := range now.Status.Conditions {
		if c.ObservedGeneration != 1 {
			t.Errorf("condition %s is about generation %d", c.Type, c.ObservedGeneration)
		}
	}
}
