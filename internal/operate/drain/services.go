// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain waits until a controller with claim.Policy.Drain has released all Services, then deletes what is left of
// them in the cloud. The controller does the work. This package stores nothing, so it can be killed and restarted at
// any time.
package drain

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Service is a Service that is not released yet.
type Service struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Reason and Message are those of condition Programmed, if a pass that releases the Service has written
	// them.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// String returns namespace/name.
func (s Service) String() string { return s.Namespace + "/" + s.Name }

// Left returns the Services that still have cloud objects or conditions of this controller.
func Left(p claim.Policy, services []corev1.Service) (left []Service) {
	for i := range services {
		s := &services[i]
		programmed := meta.FindStatusCondition(s.Status.Conditions, status.Programmed)
		reported := programmed != nil || meta.FindStatusCondition(s.Status.Conditions, status.Accepted) != nil
		if !p.Leaves(s) && !(p.Reports(s) && reported) {
			continue
		}
		one := Service{Namespace: s.Namespace, Name: s.Name}
		if programmed != nil && programmed.Status != metav1.ConditionTrue {
			one.Reason, one.Message = programmed.Reason, programmed.Message
		}
		left = append(left, one)
	}
	return left
}

// Spared returns the Services whose cloud objects must not be deleted, by uid as in tags, with the reason. The reason
// is empty for those that another controller serves, and for those that this controller has not released yet: it
// deletes their objects itself.
func Spared(p claim.Policy, services []corev1.Service) map[string]string {
	spared := map[string]string{}
	for i := range services {
		s := &services[i]
		if !p.MayOwn(s) {
			continue
		}
		uid := p.Owner(s).ServiceUID
		balancer := s.Spec.Type == corev1.ServiceTypeLoadBalancer
		switch finalizer := controllerutil.ContainsFinalizer(s, claim.Finalizer); {
		case p.Leaves(s):
			spared[uid] = ""
		case s.Annotations[annotation.Managed] == p.Mark(s):
			spared[uid] = fmt.Sprintf("Service %s/%s has no spec.loadBalancerClass, and --handle-default-class is false", s.Namespace, s.Name)
		case s.Annotations[annotation.Managed] == "" && finalizer && (!balancer || p.Handles(s)):
			spared[uid] = fmt.Sprintf("Service %s/%s has the finalizer but no annotation %s, so another controller may have claimed it", s.Namespace, s.Name, annotation.Managed)
		case finalizer || s.Annotations[annotation.Managed] != "" || balancer && !p.Handles(s):
			spared[uid] = "" // another controller's
		}
	}
	return spared
}
