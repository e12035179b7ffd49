// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func TestServicesAreCountedByTheReasonOfConditionProgrammed(t *testing.T) {
	now := time.Unix(100_000, 0)
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(now.Add(-d)) }
	// with is a Service that was made a day ago and whose condition changed its status some time ago.
	with := func(status metav1.ConditionStatus, reason string, since time.Duration) *corev1.Service {
		return &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(24 * time.Hour)},
			Status: corev1.ServiceStatus{Conditions: []metav1.Condition{
				{Type: Accepted, Status: metav1.ConditionFalse, Reason: "InvalidAnnotation", LastTransitionTime: ago(9 * time.Hour)},
				{Type: Programmed, Status: status, Reason: reason, LastTransitionTime: ago(since)},
			}},
		}
	}
	deleted := func(service *corev1.Service, since time.Duration) *corev1.Service {
		service.DeletionTimestamp = ptr.To(ago(since))
		return service
	}
	none := map[string]Tally{ReasonProgrammed: {}, ReasonNotAccepted: {}, ReasonCreating: {}, ReasonUpdating: {}, ReasonDeleting: {}, NotProcessed: {}}
	for name, test := range map[string]struct {
		services []*corev1.Service
		want     map[string]Tally
	}{
		"without Services the usual reasons have none": {},
		"one that is programmed waits for nothing": {
			[]*corev1.Service{with(metav1.ConditionTrue, ReasonProgrammed, time.Hour)},
			map[string]Tally{ReasonProgrammed: {Services: 1}},
		},
		"one that is only observed waits for nothing": {
			[]*corev1.Service{with(metav1.ConditionUnknown, ReasonReadyForAdoption, time.Hour)},
			map[string]Tally{ReasonReadyForAdoption: {Services: 1}},
		},
		"the longest of several counts, whatever their order": {
			[]*corev1.Service{with(metav1.ConditionFalse, ReasonQuota, time.Minute), with(metav1.ConditionFalse, ReasonQuota, time.Hour), with(metav1.ConditionFalse, ReasonQuota, time.Second)},
			map[string]Tally{ReasonQuota: {Services: 3, Longest: time.Hour}},
		},
		"each reason has its own": {
			[]*corev1.Service{with(metav1.ConditionFalse, ReasonQuota, time.Minute), with(metav1.ConditionFalse, ReasonCreating, time.Second)},
			map[string]Tally{ReasonQuota: {Services: 1, Longest: time.Minute}, ReasonCreating: {Services: 1, Longest: time.Second}},
		},
		"one without the condition waits since it was made": {
			[]*corev1.Service{{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ago(time.Minute)}}},
			map[string]Tally{NotProcessed: {Services: 1, Longest: time.Minute}},
		},
		"one that is being deleted waits since then": {
			[]*corev1.Service{deleted(with(metav1.ConditionFalse, ReasonDeleting, time.Hour), time.Minute)},
			map[string]Tally{ReasonDeleting: {Services: 1, Longest: time.Minute}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[string]Tally{}
			for _, all := range []map[string]Tally{none, test.want} {
				for reason, tally := range all {
					want[reason] = tally
				}
			}
			if diff := cmp.Diff(want, TallyByReason(slices.Values(test.services), now)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestServicesAreCountedByTheReasonOfConditionServing(t *testing.T) {
	now := time.Unix(100_000, 0)
	with := func(is metav1.ConditionStatus, reason string, since time.Duration) *corev1.Service {
		return &corev1.Service{Status: corev1.ServiceStatus{Conditions: []metav1.Condition{
			{Type: Serving, Status: is, Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-since))},
		}}}
	}
	deleted := with(metav1.ConditionFalse, ReasonNoMembers, 9*time.Hour)
	deleted.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	got := TallyByServing(slices.Values([]*corev1.Service{
		with(metav1.ConditionFalse, ReasonNoMembers, time.Minute), with(metav1.ConditionFalse, ReasonNoMembers, time.Hour), deleted,
		with(metav1.ConditionTrue, ReasonSomeMembersDown, time.Hour), with(metav1.ConditionUnknown, ReasonHealthUnknown, time.Hour), {},
	}), now)
	want := map[string]Tally{
		ReasonNoMembers: {Services: 2, Longest: time.Hour}, ReasonNoEndpoints: {}, ReasonAllMembersDown: {}, ReasonSomeMembersDown: {Services: 1},
		ReasonHealthUnknown: {Services: 1}, ReasonNotMonitored: {}, ReasonServing: {}, ReasonNotProgrammed: {}, NotProcessed: {Services: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
