// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// told is a Service whose condition Programmed has the reason.
func told(reason string) *corev1.Service {
	v := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"}}}
	v.Status.Conditions = []metav1.Condition{{Type: status.Programmed, Status: metav1.ConditionFalse, Reason: reason}}
	return v
}

func TestOnlyOurOwnWritesAreKnownAsEchoes(t *testing.T) {
	written := func() error { return nil }
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "web", errors.New("changed"))
	for name, test := range map[string]struct {
		write  func(*echoes)
		events []*corev1.Service
		ours   []bool
	}{
		"nobody wrote":       {write: func(*echoes) {}, events: []*corev1.Service{told("Creating")}, ours: []bool{false}},
		"we wrote":           {write: func(e *echoes) { _ = e.around(told("Creating"), written) }, events: []*corev1.Service{told("Creating")}, ours: []bool{true}},
		"we wrote only once": {write: func(e *echoes) { _ = e.around(told("Creating"), written) }, events: []*corev1.Service{told("Creating"), told("Creating")}, ours: []bool{true, false}},
		"somebody took it back": {
			write: func(e *echoes) {
				_ = e.around(told("Creating"), written)
				_ = e.around(told("Programmed"), written)
			},
			events: []*corev1.Service{told("Creating"), told("Programmed"), told("Creating")}, ours: []bool{true, true, false},
		},
		"two of our writes came as one": {
			write: func(e *echoes) {
				_ = e.around(told("Creating"), written)
				_ = e.around(told("Programmed"), written)
			},
			events: []*corev1.Service{told("Programmed"), told("Creating")}, ours: []bool{true, false},
		},
		"our write was refused": {
			write:  func(e *echoes) { _ = e.around(told("Creating"), func() error { return conflict }) },
			events: []*corev1.Service{told("Creating")}, ours: []bool{false},
		},
		"our write was not answered": {
			write:  func(e *echoes) { _ = e.around(told("Creating"), func() error { return context.DeadlineExceeded }) },
			events: []*corev1.Service{told("Creating")}, ours: []bool{true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEchoes()
			test.write(e)
			for i, v := range test.events {
				if got := e.ours(v); got != test.ours[i] {
					t.Errorf("event %d is ours: %v, want %v", i+1, got, test.ours[i])
				}
			}
		})
	}
}

func TestMarksAreWhatWeWriteAndNothingElse(t *testing.T) {
	base := marksOf(told("Creating"))
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
			v := told("Creating")
			test.change(v)
			if got := marksOf(v) == base; got != test.same {
				t.Errorf("the marks are the same: %v, want %v", got, test.same)
			}
		})
	}
}
