// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

func TestOnlyWhatWasTakenOverIsWrittenToWhereOthersAreObserved(t *testing.T) {
	tagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.cluster=uid-c", "kube-octavia.service=uid-1"}}
	byHand := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube-octavia.service=uid-1"}}
	untagged := &lb.LoadBalancer{ID: "lb-1", Tags: []string{"kube_service_kubernetes_default_web"}}
	for name, c := range map[string]struct {
		service  *corev1.Service
		balancer *lb.LoadBalancer
		guest    bool
		version  lb.Version
		observes bool
	}{
		"one that is new": {service: served(unmarked, without(annotation.LoadBalancerID)), observes: true},
		"one of openstack-cloud-controller-manager":       {service: served(unmarked), balancer: untagged, observes: true},
		"one that is to go":                               {service: served(unmarked, deleted), balancer: untagged, observes: true},
		"one with a mark copied from another Service":     {service: served(func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-9 " + ourClass }), balancer: untagged, observes: true},
		"one that has lost its finalizer":                 {service: served(func(s *corev1.Service) { s.Finalizers = nil }), balancer: tagged},
		"one that was taken over":                         {service: served(), balancer: tagged},
		"one that uses somebody else's":                   {service: served(unmarked), balancer: untagged, guest: true, observes: true},
		"one that is claimed and does":                    {service: served(), balancer: untagged, guest: true},
		"one that is claimed and has none yet":            {service: served()},
		"one that is claimed, whose balancer has no tags": {service: served(), balancer: untagged, observes: true},
		"the same where Octavia has none":                 {service: served(), balancer: untagged, version: lb.Version{Major: 2}},
		"one that is not claimed, where Octavia has none": {service: served(unmarked), balancer: untagged, version: lb.Version{Major: 2}, observes: true},
		"one that a person has tagged":                    {service: served(unmarked), balancer: byHand, observes: true},
		"the same, claimed":                               {service: served(), balancer: byHand, observes: true},
	} {
		if c.version == (lb.Version{}) {
			c.version = lb.Version{Major: 2, Minor: 26}
		}
		p := &Planner{Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterUID: "uid-c"}, Capabilities: lb.Capabilities{APIVersion: c.version}}
		for _, adopt := range []Adoption{"", AdoptTag} {
			if p.Adopt = adopt; p.OnlyObserves(c.service, lb.Observed{LoadBalancer: c.balancer, Guest: c.guest}) {
				t.Errorf("%s is only observed with %q", name, adopt)
			}
		}
		if p.Adopt = AdoptObserve; p.OnlyObserves(c.service, lb.Observed{LoadBalancer: c.balancer, Guest: c.guest}) != c.observes {
			t.Errorf("%s: only observed: %v", name, !c.observes)
		}
	}
}

func TestServicesThatAreOnlyObservedAreCountedByWhatTheySay(t *testing.T) {
	metrics, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	o := newObservers(metrics)
	say := func(reason string) *corev1.Service {
		s := served()
		meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Programmed, Status: metav1.ConditionUnknown, Reason: reason})
		return s
	}
	counted := func(reason string) float64 { return testutil.ToFloat64(metrics.Observed.WithLabelValues(reason)) }
	for i, step := range []struct {
		do             func()
		ready, changes float64
	}{
		{func() { o.note(say(status.ReasonReadyForAdoption)) }, 1, 0},
		{func() { o.note(say(status.ReasonReadyForAdoption)) }, 1, 0},
		{func() { o.note(say(status.ReasonChangesOnAdoption)) }, 0, 1},
		{func() { o.note(served()) }, 0, 0},
		{func() { o.note(say(status.ReasonReadyForAdoption)) }, 1, 0},
		{func() { o.forget(client.ObjectKeyFromObject(served())) }, 0, 0},
		{func() { o.forget(client.ObjectKeyFromObject(served())) }, 0, 0},
	} {
		step.do()
		if r, c := counted(status.ReasonReadyForAdoption), counted(status.ReasonChangesOnAdoption); r != step.ready || c != step.changes {
			t.Errorf("step %d: %v are ready, %v would change", i, r, c)
		}
	}
	(*observers)(nil).forget(client.ObjectKeyFromObject(served()))
}
