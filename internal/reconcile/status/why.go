// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WhyNotProgrammed returns the condition with the reason why a Service is not programmed: Programmed or, if that only refers
// to it, Accepted. It returns nil if the Service is programmed, or if nothing says that it is not.
func WhyNotProgrammed(conditions []metav1.Condition) *metav1.Condition {
	c := meta.FindStatusCondition(conditions, Programmed)
	if c == nil || c.Status != metav1.ConditionFalse {
		return nil
	}
	if accepted := meta.FindStatusCondition(conditions, Accepted); c.Reason == ReasonNotAccepted && accepted != nil && accepted.Status == metav1.ConditionFalse {
		return accepted
	}
	return c
}
