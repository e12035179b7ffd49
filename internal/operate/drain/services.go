// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drain waits until a controller with claim.Policy.Drain has released all Services, then deletes what is left of
// them in the cloud. The controller does the work. This package stores nothing, so it can be killed and restarted at
// any time.
package drain

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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

// Left returns the Services that have something of this controller: cloud objects, or conditions.
func Left(owners []claim.Owner) (left []Service) {
	for _, o := range owners {
		programmed := meta.FindStatusCondition(o.Recorded.Conditions, status.Programmed)
		reported := programmed != nil || meta.FindStatusCondition(o.Recorded.Conditions, status.Accepted) != nil
		if !o.Leaves && !(o.Publishes && o.Recorded.Mark == "" && reported) {
			continue
		}
		one := Service{Namespace: o.Key.Namespace, Name: o.Key.Name}
		if programmed != nil && programmed.Status != metav1.ConditionTrue {
			one.Reason, one.Message = programmed.Reason, programmed.Message
		}
		left = append(left, one)
	}
	return left
}

// Spared returns the Services whose cloud objects must not be deleted, by uid as in tags, and why. There is no reason for
// those that another controller serves, and for those that this one has not released yet: it deletes their objects itself.
func Spared(owners []claim.Owner) map[string]string {
	spared := map[string]string{}
	for _, o := range owners {
		if !o.MayOwn {
			continue
		}
		uid := o.Identity.ServiceUID
		switch finalizer := o.Recorded.Finalizer; {
		case o.Leaves:
			spared[uid] = ""
		case o.Recorded.Mark == o.Mark:
			spared[uid] = fmt.Sprintf("Service %s has no spec.loadBalancerClass, and --handle-default-class is false", o.Key)
		case o.Recorded.Mark == "" && finalizer && !o.OfAnotherClass:
			spared[uid] = fmt.Sprintf("Service %s has the finalizer but no annotation %s, so another controller may have claimed it", o.Key, annotation.Managed)
		case finalizer || o.Recorded.Mark != "" || o.OfAnotherClass:
			spared[uid] = "" // another controller's
		}
	}
	return spared
}
