// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"iter"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// NotProcessed stands for the reason of a Service that has no condition Programmed yet.
const NotProcessed = "NotProcessed"

// Tally describes the Services with the same reason of a condition.
type Tally struct {
	// Services is how many they are.
	Services int
	// Longest is how long the condition of one of them has been False, the longest of them; 0 if it is not.
	Longest time.Duration
}

// usual are the reasons that are always counted, so that 0 is not mistaken for no data.
var usual = []string{ReasonProgrammed, ReasonNotAccepted, ReasonCreating, ReasonUpdating, ReasonDeleting, NotProcessed}

// TallyByReason counts the Services by the reason of condition Programmed. The usual reasons are always
// in the result.
func TallyByReason(services iter.Seq[*corev1.Service], now time.Time) map[string]Tally {
	return tally(services, usual, stateOf, now)
}

// TallyByServing counts the Services by the reason of condition Serving, without those that are being deleted. All reasons are
// always in the result.
func TallyByServing(services iter.Seq[*corev1.Service], now time.Time) map[string]Tally {
	stay := func(yield func(*corev1.Service) bool) {
		for service := range services {
			if service.DeletionTimestamp == nil && !yield(service) {
				return
			}
		}
	}
	return tally(stay, append([]string{ReasonNotProgrammed, NotProcessed}, order...), servingOf, now)
}

// servingOf returns the reason of condition Serving, and since when it is False.
func servingOf(service *corev1.Service) (reason string, since time.Time) {
	c := meta.FindStatusCondition(service.Status.Conditions, Serving)
	switch {
	case c == nil:
		return NotProcessed, time.Time{}
	case c.Status == metav1.ConditionFalse:
		return c.Reason, c.LastTransitionTime.Time
	}
	return c.Reason, time.Time{}
}

func tally(services iter.Seq[*corev1.Service], always []string, state func(*corev1.Service) (string, time.Time), now time.Time) map[string]Tally {
	tallies := map[string]Tally{}
	for _, reason := range always {
		tallies[reason] = Tally{}
	}
	for service := range services {
		reason, since := state(service)
		tally := tallies[reason]
		tally.Services++
		if !since.IsZero() {
			tally.Longest = max(tally.Longest, now.Sub(since))
		}
		tallies[reason] = tally
	}
	return tallies
}

// stateOf returns the reason of condition Programmed, and since when the Service is not programmed. A deletion begins
// anew: what the Service lacked before does not matter any more.
func stateOf(service *corev1.Service) (reason string, since time.Time) {
	reason, since = NotProcessed, service.CreationTimestamp.Time
	if c := meta.FindStatusCondition(service.Status.Conditions, Programmed); c != nil {
		reason = c.Reason
		if c.Status != metav1.ConditionFalse {
			return reason, time.Time{}
		}
		since = c.LastTransitionTime.Time
	}
	if deleted := service.DeletionTimestamp; deleted != nil && deleted.After(since) {
		since = deleted.Time
	}
	return reason, since
}
