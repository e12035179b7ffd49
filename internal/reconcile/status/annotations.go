// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// withAnnotationsKnown adds the condition AnnotationsKnown, if an annotation is unknown or was. It depends on the Service
// alone, so a pass that failed knows it too.
func withAnnotationsKnown(old []metav1.Condition, generation int64, p Pass) []metav1.Condition {
	next := slices.Clone(old)
	if len(p.Unknown) == 0 && meta.FindStatusCondition(old, AnnotationsKnown) == nil {
		return next
	}
	meta.SetStatusCondition(&next, p.annotationsKnown(generation))
	return next
}

// mostUnknown is how many unknown annotations of each kind a message names.
const mostUnknown = 20

func (p Pass) annotationsKnown(generation int64) metav1.Condition {
	c := metav1.Condition{Type: AnnotationsKnown, Status: metav1.ConditionTrue, Reason: ReasonAnnotationsKnown, ObservedGeneration: generation,
		Message: "all annotations that are meant for kube-octavia are known"}
	if len(p.Unknown) == 0 {
		return c
	}
	var refusing, others []annotation.Unknown
	for _, u := range p.Unknown {
		if u.Protects != "" {
			refusing = append(refusing, u)
		} else {
			others = append(others, u)
		}
	}
	var kinds []string
	if len(refusing) > 0 {
		kinds = append(kinds, "unknown annotations, for which the Service is not accepted: "+names(refusing))
	}
	if len(others) > 0 {
		kinds = append(kinds, "unknown annotations, which have no effect: "+names(others))
	}
	c.Status, c.Reason = metav1.ConditionFalse, ReasonUnknownAnnotation
	c.Message = shorten(strings.Join(kinds, "; ")+". Correct their keys, or remove them", longestMessage)
	return c
}

// names lists some of the annotations.
func names(unknown []annotation.Unknown) string {
	var texts []string
	for _, u := range unknown[:min(len(unknown), mostUnknown)] {
		texts = append(texts, u.String())
	}
	if more := len(unknown) - mostUnknown; more > 0 {
		texts = append(texts, fmt.Sprintf("%d others", more))
	}
	return strings.Join(texts, ", ")
}

// annotationsEvent returns the event for annotations that were not unknown before.
func annotationsEvent(before, after []metav1.Condition) (e Event, tells bool) {
	old, now := meta.FindStatusCondition(before, AnnotationsKnown), meta.FindStatusCondition(after, AnnotationsKnown)
	if now == nil || now.Status != metav1.ConditionFalse || old != nil && old.Message == now.Message {
		return Event{}, false
	}
	return Event{Type: corev1.EventTypeWarning, Reason: now.Reason, Message: Note(now.Message)}, true
}
