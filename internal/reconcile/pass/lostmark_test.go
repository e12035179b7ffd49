// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// A Service that another client stripped of its annotations is claimed before it is released. The rest of the pass has to
// know that: only for a claimed owner are traces of its name enough, and is a create without an answer waited for. Otherwise
// the finalizer goes while something of the Service is left in the cloud.
func TestAServiceThatLostItsMarkIsClaimedForTheRestOfThePass(t *testing.T) {
	lost := served(without(annotation.Managed), without(annotation.LoadBalancerID), func(s *corev1.Service) {
		s.Spec.Type = corev1.ServiceTypeClusterIP
		s.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionTrue, Reason: status.Programmed}}
	})
	r := withOctavia(t, func(w http.ResponseWriter, r *http.Request) { t.Errorf("unexpected call: %s", r.URL) })
	cluster := fake.NewClientBuilder().WithObjects(lost).WithStatusSubresource(lost).Build()
	r.Planner = planner.New(planner.Options{Reader: cluster, Policy: services.Policy, Kinds: r.Planner.Options.Kinds})
	r.Client, r.Memory = cluster, memory.NewStore()
	s, f, err := r.begin(t.Context(), owner.ServiceKey("default", "web"))
	if err != nil {
		t.Fatal(err)
	}
	if s.object == nil {
		t.Fatal("nothing is to be done for it")
	}
	if !s.owner().Claimed || !f.Owner.Claimed {
		t.Errorf("claimed: %v; for the rest of the pass: %v", s.owner().Claimed, f.Owner.Claimed)
	}
}
