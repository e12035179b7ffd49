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

// Tally describes the Services with the same reason of condition Programmed.
type Tally struct {
	// Services is how many they are.
	Services int
	// Longest is how long one of them has been not programmed; 0 if they are, or are only observed.
	Longest time.Duration
}

// usual are the reasons that are always counted, so that 0 is not mistaken for no data.
var usual = []string{ReasonProgrammed, ReasonNotAccepted, ReasonCreating, ReasonUpdating, ReasonDeleting, NotProcessed}

// TallyByReason counts the Services by the reason of condition Programmed. The usual reasons are always
// in the result.
func TallyByReason(services iter.Seq[*corev1.Service], now time.Time) map[string]Tally {
	tallies := map[string]Tally{}
	for _, reason := range usual {
		tallies[reason] = Tally{}
	}
	for service := range services {
		reason, since := stateOf(service)
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
		if reason = c.Reason; c.Status != metav1.ConditionFalse {
			return reason, time.Time{}
		}
		since = c.LastTransitionTime.Time
	}
	if deleted := service.DeletionTimestamp; deleted != nil && deleted.After(since) {
		since = deleted.Time
	}
	return reason, since
}
