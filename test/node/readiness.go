// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The reasons that a kubelet gives for a Pod that is not ready.
const (
	containersNotReady = "ContainersNotReady"
	gatesNotReady      = "ReadinessGatesNotReady"
)

// readiness returns the two conditions that say whether a Pod takes traffic: that of its
// containers, and that of the Pod, which needs its readiness gates too.
func readiness(pod *corev1.Pod, containers bool) []corev1.PodCondition {
	inner := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	if !containers {
		inner.Status, inner.Reason = corev1.ConditionFalse, containersNotReady
	}
	outer := inner
	outer.Type = corev1.PodReady
	if missing := missingGates(pod); containers && missing != "" {
		outer.Status, outer.Reason, outer.Message = corev1.ConditionFalse, gatesNotReady, missing
	}
	both := []corev1.PodCondition{outer, inner}
	for i := range both {
		both[i].LastTransitionTime = metav1.Now()
		if was := conditionOf(pod, both[i].Type); was != nil && was.Status == both[i].Status {
			both[i].LastTransitionTime = was.LastTransitionTime
		}
	}
	return both
}

// missingGates says which readiness gate of the Pod is not True, or "".
func missingGates(pod *corev1.Pod) string {
	for _, gate := range pod.Spec.ReadinessGates {
		switch c := conditionOf(pod, gate.ConditionType); {
		case c == nil:
			return fmt.Sprintf("corresponding condition of pod readiness gate %q does not exist.", gate.ConditionType)
		case c.Status != corev1.ConditionTrue:
			return fmt.Sprintf("the status of pod readiness gate %q is not \"True\", but %v", gate.ConditionType, c.Status)
		}
	}
	return ""
}

// hasConditions reports whether the Pod has these conditions, regardless of their times.
func hasConditions(pod *corev1.Pod, all []corev1.PodCondition) bool {
	return !slices.ContainsFunc(all, func(c corev1.PodCondition) bool {
		has := conditionOf(pod, c.Type)
		return has == nil || has.Status != c.Status || has.Reason != c.Reason || has.Message != c.Message
	})
}

// conditionOf returns the condition of the type, or nil.
func conditionOf(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

func isConditionTrue(pod *corev1.Pod, of corev1.PodConditionType) bool {
	c := conditionOf(pod, of)
	return c != nil && c.Status == corev1.ConditionTrue
}

// fullCondition is a condition in a patch, with its reason and message even if
// they are empty: otherwise the patch would leave those of before.
type fullCondition struct {
	Type               corev1.PodConditionType `json:"type"`
	Status             corev1.ConditionStatus  `json:"status"`
	Reason             string                  `json:"reason"`
	Message            string                  `json:"message"`
	LastTransitionTime metav1.Time             `json:"lastTransitionTime"`
}

func fullConditions(all []corev1.PodCondition) []fullCondition {
	var full []fullCondition
	for _, c := range all {
		full = append(full, fullCondition{c.Type, c.Status, c.Reason, c.Message, c.LastTransitionTime})
	}
	return full
}
