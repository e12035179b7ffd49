// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// exposed adapts the Services of these tests: their health monitors have valid settings.
var exposed = service.Kind{Policy: services.Policy, Config: config.LoadBalancer{MonitorDelay: 5 * time.Second, MonitorTimeout: 3 * time.Second}}

// sharer is a Service that may share a load balancer.
func sharer(name string, edits ...func(*corev1.Service)) corev1.Service {
	s := web(func(s *corev1.Service) {
		s.Name, s.UID, s.Annotations = name, types.UID("uid-of-"+name), map[string]string{}
	})
	for _, edit := range edits {
		edit(s)
	}
	return *s
}

// having gives the Service the id of a load balancer as the controller does, asking as a user does.
func having(id string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Finalizers, s.Annotations[annotation.Managed] = []string{claim.Finalizer}, exposed.Of(s).Mark
		asking(id)(s)
	}
}

func asking(id string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id }
}

func refusedNow(s *corev1.Service) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: desired.ReasonInvalidAnnotation})
}

func internal(s *corev1.Service) {
	s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
}

func TestInternalServicesThatAFloatingIPWouldExposeAreNamed(t *testing.T) {
	broken := func(s *corev1.Service) { s.Annotations[annotation.KeepFloatingIP] = "maybe" }
	owner := sharer("web", having("lb-1"))
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
		"internal":                              {other: sharer("api", internal), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"external":                              {other: sharer("api"), tags: []string{tag + "api"}},
		"invalid annotations":                   {other: sharer("api", broken), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"internal, about to share":              {other: sharer("api", internal, having("lb-1")), want: []string{"default/api"}},
		"internal, refused":                     {other: sharer("api", internal, having("lb-1"), refusedNow)},
		"internal, id requested by a user":      {other: sharer("api", internal, asking("lb-1"))},
		"internal, another load balancer":       {other: sharer("api", internal, having("lb-2"))},
		"unknown, and the Service was internal": {web: was("10.0.0.9"), other: sharer("api"), tags: []string{tag + "x"}, want: []string{tag + "x"}},
		"unknown, and the Service was external": {web: was("203.0.113.1"), other: sharer("api"), tags: []string{tag + "x"}},
		"internal, and so is the Service":       {web: internal, other: sharer("api", internal), tags: []string{tag + "api"}},
		"internal, and there is a floating IP":  {other: sharer("api", internal), tags: []string{tag + "api"}, floating: true},
	} {
		t.Run(name, func(t *testing.T) {
			web := *owner.DeepCopy()
			if c.web != nil {
				c.web(&web)
			}
			of, other := exposed.Of(&web), exposed.Of(&c.other)
			l := &lb.LoadBalancer{ID: "lb-1", Name: tag + "web", Tags: append(of.Identity.Tags(), c.tags...), VIP: lb.VIP{Address: "10.0.0.9"}}
			input := desired.Input{Spec: of.Spec, Owner: of.Identity, Found: l, Sharing: desired.Sharing{FoundAddress: "10.0.0.9"}}
			if c.floating {
				input.FoundAddress = "203.0.113.1"
			}
			if !ExposureMatters(input) {
				if c.want != nil {
					t.Error("the others are not looked at")
				}
				return
			}
			if d := cmp.Diff(c.want, Exposure(input, of, []claim.Owner{of, other}).WouldExpose); d != "" {
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
		owner, other := sharer("web", c.owner), sharer("api", c.other)
		of, first := exposed.Of(&other), exposed.Of(&owner)
		l := &lb.LoadBalancer{ID: "lb-1", Tags: first.Identity.Tags(), VIP: lb.VIP{Address: "10.0.0.9"}}
		input := desired.Input{Spec: of.Spec, Found: l, Sharing: desired.Sharing{FoundAddress: c.address, Sharer: true}}
		if got := ExposureMatters(input) && Exposure(input, of, []claim.Owner{first, of}).OwnerExternal; got != c.want {
			t.Errorf("%s: the owner is external: %v", name, got)
		}
	}
}
