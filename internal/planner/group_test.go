// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/config"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// mate is a Service of group g, the older the smaller its age is, which has nothing yet.
func mate(name string, age int, edits ...func(*corev1.Service)) corev1.Service {
	s := served(unmarked, without(annotation.LoadBalancerID), in("default", "g"), func(s *corev1.Service) {
		s.Name, s.UID, s.CreationTimestamp = name, types.UID("uid-of-"+name), metav1.NewTime(time.Unix(int64(age), 0))
	})
	for _, edit := range edits {
		edit(s)
	}
	return *s
}

func in(namespace, group string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Namespace = namespace
		s.Annotations[annotation.LoadBalancerGroup] = group
	}
}

func claimedNow(s *corev1.Service) {
	s.Annotations[annotation.Managed] = string(s.UID) + " " + ourClass
}

func refusedNow(s *corev1.Service) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: build.ReasonInvalidAnnotation})
}

// lacking says that a part of what the Service asks for cannot be had.
func lacking(s *corev1.Service) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: build.ReasonHealthMonitorUnsupported})
}

// asks notes an id that nobody but a user wrote, and has one that was noted on a Service
// which is claimed.
func asks(id string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id }
}

func has(id string) func(*corev1.Service) {
	return func(s *corev1.Service) { claimedNow(s); asks(id)(s) }
}

// onlyServices is a Kubernetes API with Services.
type onlyServices struct {
	client.Reader
	services []corev1.Service
}

func (c onlyServices) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if services, ok := list.(*corev1.ServiceList); ok {
		services.Items = slices.Clone(c.services)
	}
	return nil
}

func grouping(scope string, services ...corev1.Service) *Planner {
	return &Planner{Reader: onlyServices{services: services}, Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterName: "kubernetes", ClusterUID: "c-1"},
		Config: config.LoadBalancer{SharedScope: scope}}
}

func TestGroupsAreThoseOfANamespaceUnlessTheOperatorSaysOtherwise(t *testing.T) {
	all := []corev1.Service{
		mate("young", 3), mate("old", 1), mate("far", 2, in("other", "g")), mate("beside", 0, in("default", "h")), mate("apart", 0, without(annotation.LoadBalancerGroup)),
		mate("going", 0, deleted), mate("internal", 0, clusterIP), mate("same-age", 3),
	}
	for scope, want := range map[string][]string{
		config.ShareInNamespace: {"old", "same-age", "young"},
		config.ShareInCluster:   {"old", "far", "same-age", "young"},
		config.ShareAny:         {"old", "far", "same-age", "young"},
		"":                      {"old", "same-age", "young"},
	} {
		p := grouping(scope, all...)
		group, err := p.Group(t.Context(), &all[0])
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range group {
			names = append(names, s.Name)
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("scope %q (-want +got):\n%s", scope, d)
		}
		for i := 4; i < 7; i++ {
			if group, err := p.Group(t.Context(), &all[i]); err != nil || len(group) > 0 {
				t.Errorf("%s is in the group %v, %v", all[i].Name, group, err)
			}
		}
	}
}

func TestTheLoadBalancerOfAGroupIsTheOneThatMostOfItHave(t *testing.T) {
	address := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
	}
	for name, c := range map[string]struct {
		group []corev1.Service
		want  []string
	}{
		"nobody has one":            {[]corev1.Service{mate("a", 1), mate("b", 2, claimedNow)}, nil},
		"one has one":               {[]corev1.Service{mate("a", 1), mate("b", 2, has("lb-1"))}, []string{"lb-1"}},
		"a user wishes for one":     {[]corev1.Service{mate("a", 1, asks("lb-1")), mate("b", 2, has("lb-2"))}, []string{"lb-2"}},
		"another controller wrote":  {[]corev1.Service{mate("a", 1, asks("lb-1"), address)}, []string{"lb-1"}},
		"the oldest of two counts":  {[]corev1.Service{mate("a", 1, has("lb-1")), mate("b", 2, has("lb-2"))}, []string{"lb-1", "lb-2"}},
		"more count than the older": {[]corev1.Service{mate("a", 1, has("lb-1")), mate("b", 2, has("lb-2")), mate("c", 3, has("lb-2"))}, []string{"lb-2", "lb-1"}},
	} {
		if d := cmp.Diff(c.want, balancersOf(c.group, grouping("").knownBalancer)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestOneOfAGroupMakesItsLoadBalancerAndTheOthersWait(t *testing.T) {
	for name, c := range map[string]struct {
		group []corev1.Service
		want  string
	}{
		"the oldest":                               {[]corev1.Service{mate("b", 2), mate("a", 1)}, "a"},
		"not one that is refused":                  {[]corev1.Service{mate("a", 1, refusedNow), mate("b", 2)}, "b"},
		"one of which a part is left out":          {[]corev1.Service{mate("a", 1, lacking), mate("b", 2)}, "a"},
		"the oldest of all that are refused":       {[]corev1.Service{mate("a", 1, refusedNow), mate("b", 2, refusedNow)}, "a"},
		"one that may have begun":                  {[]corev1.Service{mate("a", 1), mate("b", 2, claimedNow)}, "b"},
		"not one that had begun and is refused":    {[]corev1.Service{mate("a", 1), mate("b", 2, claimedNow, refusedNow)}, "a"},
		"one of those whose load balancer is gone": {[]corev1.Service{mate("a", 1, has("gone")), mate("b", 2, has("gone")), mate("c", 0)}, "a"},
	} {
		p := grouping("", c.group...)
		for i := range c.group {
			var waits *decide.GroupWait
			err := p.awaitGroup(t.Context(), &c.group[i], lb.Observed{})
			if makes := err == nil; makes != (c.group[i].Name == c.want) || !makes && !errors.As(err, &waits) {
				t.Errorf("%s: %s: %v", name, c.group[i].Name, err)
			}
			if err := p.awaitGroup(t.Context(), &c.group[i], lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}}); err != nil {
				t.Errorf("%s: %s has one: %v", name, c.group[i].Name, err)
			}
		}
	}
	alone := mate("alone", 1, without(annotation.LoadBalancerGroup))
	if err := grouping("", alone, mate("a", 0)).awaitGroup(t.Context(), &alone, lb.Observed{}); err != nil {
		t.Errorf("a Service of no group: %v", err)
	}
}

// asked remembers that a load balancer was asked for, for these Services, that may still
// appear.
type asked []string

func (asked) LoadBalancerOf(types.NamespacedName) string { return "" }
func (a asked) MayAppear(key types.NamespacedName) bool  { return slices.Contains(a, key.Name) }

func TestWhoHasBegunToMakeTheLoadBalancerOfAGroupEndsIt(t *testing.T) {
	a, b := mate("a", 1, refusedNow), mate("b", 2)
	p := grouping("", a, b)
	if err := p.awaitGroup(t.Context(), &b, lb.Observed{}); err != nil {
		t.Fatal(err)
	}
	a.Status.Conditions = nil // it came right, and the cache does not show yet that the other one has begun
	p.Reader, p.Remembered = onlyServices{services: []corev1.Service{a, b}}, asked{"b"}
	if err := p.awaitGroup(t.Context(), &a, lb.Observed{}); err == nil || !strings.Contains(err.Error(), "default/b") {
		t.Errorf("a second load balancer would be made: %v", err)
	}
	refusedNow(&b)
	p.Reader = onlyServices{services: []corev1.Service{a, b}}
	if err := p.awaitGroup(t.Context(), &a, lb.Observed{}); err != nil {
		t.Errorf("the one that had begun is refused, and the other one waits for it: %v", err)
	}
}

func TestAServiceThatHasAnotherLoadBalancerThanItsGroupIsRefused(t *testing.T) {
	const one, two = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	for name, c := range map[string]struct {
		web    corev1.Service
		others []corev1.Service
		had    string
		there  map[string]string
		reason string
	}{
		"its own is the group's":           {web: mate("web", 2), others: []corev1.Service{mate("a", 1)}, had: one},
		"it has that of the group":         {web: mate("web", 2, has(one)), others: []corev1.Service{mate("a", 1, has(one))}, had: one},
		"the group's is another":           {web: mate("web", 2, has(one)), others: []corev1.Service{mate("a", 1, has(two))}, had: one, there: map[string]string{two: "ACTIVE"}, reason: build.ReasonRequiresReplacement},
		"the other one is gone":            {web: mate("web", 2, has(one)), others: []corev1.Service{mate("a", 1, has(two))}, had: one},
		"the other one is about to go":     {web: mate("web", 2, has(one)), others: []corev1.Service{mate("a", 1, has(two))}, had: one, there: map[string]string{two: "PENDING_DELETE"}},
		"its own is new and not noted yet": {web: mate("web", 1, has(two)), others: []corev1.Service{mate("a", 2)}, had: one, there: map[string]string{two: "ACTIVE"}},
		"it names one besides the group":   {web: mate("web", 2, asks(one)), others: []corev1.Service{mate("a", 1, has(two))}, reason: build.ReasonInvalidAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			p := calling(t, func(w http.ResponseWriter, r *http.Request) {
				id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
				if c.there[id] == "" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "provisioning_status": %q}}`, id, c.there[id])
			})
			g := grouping("", append(c.others, c.web)...)
			p.Reader, p.LoadBalancerClass, p.DefaultClass = g.Reader, g.LoadBalancerClass, true
			var observed lb.Observed
			if c.had != "" {
				observed.LoadBalancer = &lb.LoadBalancer{ID: c.had}
			}
			err := p.checkGroup(t.Context(), &c.web, observed)
			if refused := refusalIn(err); refused == nil && (err != nil || c.reason != "") || refused != nil && refused.Reason != c.reason {
				t.Errorf("%v, want reason %q", err, c.reason)
			}
		})
	}
}

func TestInternalServicesThatAFloatingIPWouldOpenAreNamed(t *testing.T) {
	internal := func(s *corev1.Service) {
		s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
	}
	broken := func(s *corev1.Service) { s.Annotations[annotation.KeepFloatingIP] = "maybe" }
	ours := mate("web", 1, has("lb-1"))
	was := func(address string) func(*corev1.Service) {
		return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerAddress] = address }
	}
	const tag = "kube_service_kubernetes_default_"
	for name, c := range map[string]struct {
		web   func(*corev1.Service)
		other corev1.Service
		tags  []string
		vip   bool
		want  []string
	}{
		"an internal one":                         {other: mate("api", 2, internal), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"an external one":                         {other: mate("api", 2), tags: []string{tag + "api"}},
		"one that cannot be read":                 {other: mate("api", 2, broken), tags: []string{tag + "api"}, want: []string{"default/api"}},
		"one that comes":                          {other: mate("api", 2, internal, has("lb-1")), want: []string{"default/api"}},
		"one that was refused":                    {other: mate("api", 2, internal, has("lb-1"), refusedNow)},
		"one that a user only lets name it":       {other: mate("api", 2, internal, asks("lb-1"))},
		"one of another load balancer":            {other: mate("api", 2, internal, has("lb-2"))},
		"an unknown one, of an internal Service":  {web: was("10.0.0.9"), other: mate("api", 2), tags: []string{tag + "x"}, want: []string{tag + "x"}},
		"an unknown one, of an external Service":  {web: was("203.0.113.1"), other: mate("api", 2), tags: []string{tag + "x"}},
		"an internal one, of an internal Service": {web: internal, other: mate("api", 2, internal), tags: []string{tag + "api"}},
		"an internal one, where there is one":     {other: mate("api", 2, internal), tags: []string{tag + "api"}, vip: true},
	} {
		t.Run(name, func(t *testing.T) {
			web := *ours.DeepCopy()
			if c.web != nil {
				c.web(&web)
			}
			p := grouping("", web, c.other)
			p.Config.MonitorDelay, p.Config.MonitorTimeout = 5*time.Second, 3*time.Second
			l := &lb.LoadBalancer{ID: "lb-1", Name: tag + "web", Tags: append(p.Owner(&web).Tags(), c.tags...), VIP: lb.VIP{Address: "10.0.0.9"}}
			input := build.Input{Service: &web, Owner: p.Owner(&web), Found: l, Sharing: build.Sharing{FoundAddress: "10.0.0.9"}}
			if c.vip {
				input.FoundAddress = "203.0.113.1"
			}
			if err := p.lookAtSharers(t.Context(), &input); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.want, input.WouldExpose); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAnInternalServiceDoesNotComeToALoadBalancerThatIsToGetAFloatingIP(t *testing.T) {
	internal := func(s *corev1.Service) {
		s.Annotations["service.beta.kubernetes.io/openstack-internal-load-balancer"] = "true"
	}
	for name, c := range map[string]struct {
		web, guest func(*corev1.Service)
		address    string
		want       bool
	}{
		"its owner asks for one":      {func(*corev1.Service) {}, internal, "10.0.0.9", true},
		"its owner is internal, too":  {internal, internal, "10.0.0.9", false},
		"the guest wants one as well": {func(*corev1.Service) {}, func(*corev1.Service) {}, "10.0.0.9", false},
		"it has one":                  {func(*corev1.Service) {}, internal, "203.0.113.1", false},
	} {
		web, guest := mate("web", 1, c.web), mate("api", 2, c.guest)
		p := grouping("", web, guest)
		p.Config.MonitorDelay, p.Config.MonitorTimeout = 5*time.Second, 3*time.Second
		l := &lb.LoadBalancer{ID: "lb-1", Tags: p.Owner(&web).Tags(), VIP: lb.VIP{Address: "10.0.0.9"}}
		input := build.Input{Service: &guest, Found: l, Sharing: build.Sharing{FoundAddress: c.address, Sharer: true}}
		if err := p.lookAtSharers(t.Context(), &input); err != nil || input.OwnerExternal != c.want {
			t.Errorf("%s: %v, %v", name, input.OwnerExternal, err)
		}
	}
}
