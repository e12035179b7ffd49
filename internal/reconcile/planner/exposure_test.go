// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func internal(s *corev1.Service) {
	s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
}

func TestInternalServicesThatAFloatingIPWouldExposeAreNamed(t *testing.T) {
	broken := func(s *corev1.Service) { s.Annotations[annotation.KeepFloatingIP] = "maybe" }
	owner := ofGroup("web", 1, has("lb-1"))
	was := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = address }
	}
	const tag = "kube_service_kubernetes_default_"
	for name, c := range map[string]struct {
		web      func(*corev1.Service)
		other    corev1.Service
		tags     []string
		floating bool
		want     []string
	}{
		"internal":                              {other: ofGroup("api", 2, internal), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"external":                              {other: ofGroup("api", 2), tags: []string{tag + "api"}},
		"invalid annotations":                   {other: ofGroup("api", 2, broken), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"internal, about to share":              {other: ofGroup("api", 2, internal, has("lb-1")), want: []string{"default/api"}},
		"internal, refused":                     {other: ofGroup("api", 2, internal, has("lb-1"), refusedNow)},
		"internal, id requested by a user":      {other: ofGroup("api", 2, internal, requests("lb-1"))},
		"internal, another load balancer":       {other: ofGroup("api", 2, internal, has("lb-2"))},
		"unknown, and the Service was internal": {web: was("10.0.0.9"), other: ofGroup("api", 2), tags: []string{tag + "x"}, want: []string{tag + "x"}},
		"unknown, and the Service was external": {web: was("203.0.113.1"), other: ofGroup("api", 2), tags: []string{tag + "x"}},
		"internal, and so is the Service":       {web: internal, other: ofGroup("api", 2, internal), tags: []string{tag + "api"}},
		"internal, and there is a floating IP":  {other: ofGroup("api", 2, internal), tags: []string{tag + "api"}, floating: true},
	} {
		t.Run(name, func(t *testing.T) {
			web := *owner.DeepCopy()
			if c.web != nil {
				c.web(&web)
			}
			p := cluster("", web, c.other)
			p.Config.MonitorDelay, p.Config.MonitorTimeout = 5*time.Second, 3*time.Second
			of := adapting(p).of(&web)
			l := &lb.LoadBalancer{ID: "lb-1", Name: tag + "web", Tags: append(of.Identity.Tags(), c.tags...), VIP: lb.VIP{Address: "10.0.0.9"}}
			input := desired.Input{Spec: of.Spec, Owner: of.Identity, Found: l, Sharing: desired.Sharing{FoundAddress: "10.0.0.9"}}
			if c.floating {
				input.FoundAddress = "203.0.113.1"
			}
			if err := p.readExposure(t.Context(), of, &input, lb.Observed{}); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, input.WouldExpose); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestOwnerThatRequestsAFloatingIPIsDetected(t *testing.T) {
	for name, c := range map[string]struct {
		owner, other func(*corev1.Service)
		address      string
		want         bool
	}{
		"external owner":       {func(*corev1.Service) {}, internal, "10.0.0.9", true},
		"both internal":        {internal, internal, "10.0.0.9", false},
		"both external":        {func(*corev1.Service) {}, func(*corev1.Service) {}, "10.0.0.9", false},
		"it has a floating IP": {func(*corev1.Service) {}, internal, "203.0.113.1", false},
	} {
		owner, other := ofGroup("web", 1, c.owner), ofGroup("api", 2, c.other)
		p := cluster("", owner, other)
		p.Config.MonitorDelay, p.Config.MonitorTimeout = 5*time.Second, 3*time.Second
		of := adapting(p).of(&other)
		l := &lb.LoadBalancer{ID: "lb-1", Tags: p.of(&owner).Identity.Tags(), VIP: lb.VIP{Address: "10.0.0.9"}}
		input := desired.Input{Spec: of.Spec, Found: l, Sharing: desired.Sharing{FoundAddress: c.address, Sharer: true}}
		if err := p.readExposure(t.Context(), of, &input, lb.Observed{}); err != nil || input.OwnerExternal != c.want {
			t.Errorf("%s: %v, %v", name, input.OwnerExternal, err)
		}
	}
}
