// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// onlyObserved is for a Service that is only observed.
var onlyObserved = Observation{OnlyObserved: true}

var tags = diff.UpdateLoadBalancer{ID: "lb-1", Tags: &[]string{"ours"}}

func TestAServiceThatIsOnlyObservedSaysWhatWouldBeDone(t *testing.T) {
	const how = "with --adopt=observe nothing is written for this Service; with --adopt=tag "
	for name, c := range map[string]struct {
		pass Pass
		want said
	}{
		"nothing but our tags": {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{tags}},
			said{metav1.ConditionUnknown, ReasonReadyForAdoption, how + "load balancer lb-1 would be taken over as it is: only the tags of kube-octavia would be added"}},
		"nothing at all, where there are no tags": {Pass{Observed: observed(lb.Active, 1)},
			said{metav1.ConditionUnknown, ReasonReadyForAdoption, how + "load balancer lb-1 would be taken over, and nothing would be written to it"}},
		"nothing of one that was left": {Pass{Leaving: true},
			said{metav1.ConditionUnknown, ReasonReadyForAdoption, how + "it would be taken over, and nothing would be written to it"}},
		"members besides": {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{tags, members}},
			said{metav1.ConditionUnknown, ReasonChangesOnAdoption, how + "these operations would be done: " + tags.String() + "; " + members.String()}},
		"one that another controller serves": {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{tags}, Observation: Observation{Others: "openstack-cloud-controller-manager"}},
			said{metav1.ConditionUnknown, ReasonReadyForAdoption, how + "load balancer lb-1 would be taken over as it is: only the tags of kube-octavia would be added" +
				"; now it is served by openstack-cloud-controller-manager, whose service controller has to be off then"}},
		"members of one that is refused": {Pass{Observed: observed(lb.Active, 1), Left: []diff.Op{members}, Acceptance: Acceptance{Invalid: badAnnotation}},
			said{metav1.ConditionUnknown, ReasonChangesOnAdoption, how + "these operations would be done: " + members.String()}},
		"Octavia is at work": {Pass{Observed: observed(lb.PendingUpdate, 1)},
			said{metav1.ConditionFalse, ReasonUpdating, "Octavia is changing load balancer lb-1"}},
		"the cloud does not answer": {Pass{Err: silence},
			said{metav1.ConditionFalse, ReasonUnavailable, silence.Error()}},
	} {
		c.pass.OnlyObserved = true
		if d := cmp.Diff(c.want, find(t, after(done(), c.pass), Programmed)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestAddressesOfAServiceThatIsOnlyObservedStayAsTheyAre(t *testing.T) {
	published := []corev1.LoadBalancerIngress{{IP: "192.0.2.9"}}
	for _, state := range []lb.ProvisioningStatus{lb.Active, lb.PendingCreate, lb.PendingDelete, lb.Error} {
		p := done()
		p.Observed, p.OnlyObserved = observed(state, 1), true
		if d := cmp.Diff(published, Ingress(published, p)); d != "" {
			t.Errorf("%s (-want +got):\n%s", state, d)
		}
	}
}

func TestOneEventTellsThatAServiceIsOnlyObserved(t *testing.T) {
	look := Pass{Observation: onlyObserved, Observed: observed(lb.Active, 1), Left: []diff.Op{tags}}
	first := after(look)
	events := Events(nil, first)
	if len(events) != 1 || events[0].Type != corev1.EventTypeNormal || events[0].Reason != ReasonReadyForAdoption {
		t.Errorf("events: %+v", events)
	}
	if events := Events(first, Conditions(first, 1, look)); len(events) > 0 {
		t.Errorf("the same once more: %+v", events)
	}
}
