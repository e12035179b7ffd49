// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// The conflict.Tracker would otherwise stop the work on every Service.
func TestAPassRecognisesItsOwnWrites(t *testing.T) {
	web := served(without(annotation.LoadBalancerID))
	r := withOctavia(t, nil)
	r.Client = fake.NewClientBuilder().WithObjects(web).WithStatusSubresource(web).Build()
	r.Recorder = events.NewFakeRecorder(10)

	for _, id := range []string{"lb-1", "lb-2"} {
		err := r.publish(t.Context(), newSubject(services, web), status.Pass{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: id}}})
		if err != nil {
			t.Fatal(err)
		}
		var now corev1.Service
		err = r.Client.Get(t.Context(), types.NamespacedName{Namespace: web.Namespace, Name: web.Name}, &now)
		if err != nil {
			t.Fatal(err)
		}
		if len(now.Status.Conditions) == 0 || now.Annotations[annotation.LoadBalancerID] != id {
			t.Fatalf("%s was not published: %v, %v", id, now.Annotations, now.Status.Conditions)
		}
		if !r.conflicts.Made(services.Of(&now)) {
			t.Error("it takes its own write for that of another client")
		}
	}
}
