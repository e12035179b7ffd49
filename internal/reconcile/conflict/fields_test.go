// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// withReason returns a Service whose condition Programmed has the reason.
func withReason(reason string) *corev1.Service {
	v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"}}}
	v.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionFalse, Reason: reason}}
	return v
}

func TestChangedFieldsAreThoseThatOnlyTheControllerWrites(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*corev1.Service)
		same   bool
	}{
		"the load balancer's id": {func(v *corev1.Service) { v.Annotations[annotation.LoadBalancerID] = "lb-2" }, false},
		"an address": {func(v *corev1.Service) {
			v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}, false},
		"the finalizer":      {func(v *corev1.Service) { v.Finalizers = []string{claim.Finalizer} }, false},
		"a message":          {func(v *corev1.Service) { v.Status.Conditions[0].Message = "other" }, false},
		"another annotation": {func(v *corev1.Service) { v.Annotations["example.com/touched"] = "1" }, true},
		"another condition": {func(v *corev1.Service) {
			v.Status.Conditions = append(v.Status.Conditions, metav1.Condition{Type: "example.com/Ready", Status: metav1.ConditionTrue})
		}, true},
		"the time of a condition": {func(v *corev1.Service) { v.Status.Conditions[0].LastTransitionTime = metav1.Now() }, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := withReason("Creating")
			test.change(v)
			if got := len(ChangedFields(ownerOf(withReason("Creating")), ownerOf(v))) == 0; got != test.same {
				t.Errorf("no own field changed: %v, want %v", got, test.same)
			}
		})
	}
}

func TestAFieldThatOneOfTwoAPIServersDoesNotHaveIsNoChange(t *testing.T) {
	moved := publishing("")
	moved.Status.LoadBalancer.Ingress[0].IP = "192.0.2.2"
	for name, test := range map[string]struct {
		before, after *corev1.Service
		same          bool
	}{
		"a newer API server serves the address":            {publishing(""), publishing(corev1.LoadBalancerIPModeVIP), true},
		"an older API server wrote it":                     {publishing(corev1.LoadBalancerIPModeProxy), publishing(""), true},
		"another client changed the mode":                  {publishing(corev1.LoadBalancerIPModeProxy), publishing(corev1.LoadBalancerIPModeVIP), false},
		"an older API server wrote another address":        {publishing(corev1.LoadBalancerIPModeVIP), moved, false},
		"another client removed the address":               {publishing(""), withReason("Programmed"), false},
		"a newer API server serves what publishes nothing": {withReason("Programmed"), withReason("Programmed"), true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := len(ChangedFields(ownerOf(test.before), ownerOf(test.after))) == 0; got != test.same {
				t.Errorf("no own field changed: %v, want %v", got, test.same)
			}
		})
	}
}

func TestChangedFieldsAreNamed(t *testing.T) {
	after := withReason("Creating")
	after.Annotations = map[string]string{annotation.LoadBalancerAddress: "192.0.2.1", "example.com/x": "1"}
	after.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	after.Status.Conditions[0].Message = "other"
	after.Finalizers = []string{claim.Finalizer, "example.com/x"}
	want := []string{
		"annotation loadbalancer.openstack.org/load-balancer-address", "annotation loadbalancer.openstack.org/load-balancer-id",
		"condition kube-octavia.io/Programmed", "finalizer service.kubernetes.io/load-balancer-cleanup", "status.loadBalancer",
	}
	if d := cmp.Diff(want, ChangedFields(ownerOf(withReason("Creating")), ownerOf(after))); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if d := cmp.Diff(want, ChangedFields(ownerOf(after), ownerOf(withReason("Creating")))); d != "" {
		t.Errorf("the other way round (-want +got):\n%s", d)
	}
}

func TestLastWriter(t *testing.T) {
	entry := func(manager string, at time.Duration, fields string) metav1.ManagedFieldsEntry {
		when := metav1.NewTime(noon.Add(at))
		return metav1.ManagedFieldsEntry{Manager: manager, Time: &when, FieldsV1: metav1.NewFieldsV1(fields)}
	}
	addresses := entry("occm", 0, `{"f:status":{"f:loadBalancer":{"f:ingress":{}}}}`)
	id := entry("hand", time.Second, `{"f:metadata":{"f:annotations":{".":{},"f:loadbalancer.openstack.org/load-balancer-id":{}}}}`)
	condition := entry("other", 0, `{"f:status":{"f:conditions":{".":{},"k:{\"type\":\"kube-octavia.io/Programmed\"}":{".":{},"f:reason":{}}}}}`)
	guard := entry("guard", 0, `{"f:metadata":{"f:finalizers":{".":{},"v:\"service.kubernetes.io/load-balancer-cleanup\"":{}}}}`)
	spec := entry("user", time.Hour, `{"f:spec":{"f:ports":{}}}`)
	invalid := entry("invalid", time.Hour, `{"f:status":`)
	all := []metav1.ManagedFieldsEntry{addresses, id, condition, guard, spec, invalid, {Manager: "empty"}}
	for name, test := range map[string]struct {
		fields []string
		want   string
	}{
		"addresses":                {[]string{"status.loadBalancer"}, `field manager "occm" at 2026-11-21T12:00:00Z`},
		"an annotation":            {[]string{"annotation " + annotation.LoadBalancerID}, `field manager "hand" at 2026-11-21T12:00:01Z`},
		"a condition":              {[]string{"condition " + status.Programmed}, `field manager "other" at 2026-11-21T12:00:00Z`},
		"the finalizer":            {[]string{"finalizer " + claim.Finalizer}, `field manager "guard" at 2026-11-21T12:00:00Z`},
		"the later of two":         {[]string{"status.loadBalancer", "annotation " + annotation.LoadBalancerID}, `field manager "hand" at 2026-11-21T12:00:01Z`},
		"a field without a writer": {[]string{"annotation " + annotation.LoadBalancerAddress}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := LastWriter(all, test.fields); got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// ownerOf returns the Service as an owner.
func ownerOf(s *corev1.Service) claim.Owner { return service.Kind{}.Owner(s) }
