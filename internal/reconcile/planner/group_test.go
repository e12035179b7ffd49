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

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// ofGroup is a Service of group g without a load balancer, created so many seconds after 1970.
func ofGroup(name string, created int, edits ...func(*corev1.Service)) corev1.Service {
	s := served(unclaimed, without(annotation.LoadBalancerID), in("default", "g"), func(s *corev1.Service) {
		s.Name, s.UID, s.CreationTimestamp = name, types.UID("uid-of-"+name), metav1.NewTime(time.Unix(int64(created), 0))
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
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: desired.ReasonInvalidAnnotation})
}

// partlyRefused is a Service that is served without a part of what it requests.
func partlyRefused(s *corev1.Service) {
	meta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{Type: status.Accepted, Status: metav1.ConditionFalse, Reason: desired.ReasonHealthMonitorUnsupported})
}

// requests sets an id as a user does.
func requests(id string) func(*corev1.Service) {
	return func(s *corev1.Service) { s.Annotations[annotation.LoadBalancerID] = id }
}

// has sets an id as the controller does.
func has(id string) func(*corev1.Service) {
	return func(s *corev1.Service) { claimedNow(s); requests(id)(s) }
}

// onlyServices is a Kubernetes API with Services only.
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

// cluster returns a Planner for these Services and this shared-lb-scope.
func cluster(scope string, services ...corev1.Service) *Planner {
	return adapting(&Planner{Reader: onlyServices{services: services}, Policy: claim.Policy{LoadBalancerClass: ourClass, DefaultClass: true, ClusterName: "kubernetes", ClusterUID: "c-1"},
		Config: config.LoadBalancer{SharedScope: scope}})
}

func TestGroupIsLimitedToItsNamespaceByDefault(t *testing.T) {
	all := []corev1.Service{
		ofGroup("young", 3), ofGroup("old", 1), ofGroup("far", 2, in("other", "g")), ofGroup("other-group", 0, in("default", "h")), ofGroup("no-group", 0, without(annotation.LoadBalancerGroup)),
		ofGroup("deleted", 0, deleted), ofGroup("cluster-ip", 0, clusterIP), ofGroup("same-age", 3),
	}
	for scope, want := range map[string][]string{
		config.ShareInNamespace: {"old", "same-age", "young"},
		config.ShareInCluster:   {"old", "far", "same-age", "young"},
		config.ShareAny:         {"old", "far", "same-age", "young"},
		"":                      {"old", "same-age", "young"},
	} {
		p := cluster(scope, all...)
		group, err := p.Group(t.Context(), p.of(&all[0]))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range group {
			names = append(names, s.Owner.Key.Name)
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("scope %q (-want +got):\n%s", scope, d)
		}
		for i := 4; i < 7; i++ {
			if group, err := p.Group(t.Context(), p.of(&all[i])); err != nil || len(group) > 0 {
				t.Errorf("%s is in the group %v, %v", all[i].Name, group, err)
			}
		}
	}
}

func TestLoadBalancerOfAGroupIsTheOneThatMostServicesHave(t *testing.T) {
	address := func(s *corev1.Service) {
		s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
	}
	for name, c := range map[string]struct {
		group []corev1.Service
		want  []string
	}{
		"none":                              {[]corev1.Service{ofGroup("a", 1), ofGroup("b", 2, claimedNow)}, nil},
		"one":                               {[]corev1.Service{ofGroup("a", 1), ofGroup("b", 2, has("lb-1"))}, []string{"lb-1"}},
		"one requested by a user":           {[]corev1.Service{ofGroup("a", 1, requests("lb-1")), ofGroup("b", 2, has("lb-2"))}, []string{"lb-2"}},
		"one of another controller":         {[]corev1.Service{ofGroup("a", 1, requests("lb-1"), address)}, []string{"lb-1"}},
		"two, each of one Service":          {[]corev1.Service{ofGroup("a", 1, has("lb-1")), ofGroup("b", 2, has("lb-2"))}, []string{"lb-1", "lb-2"}},
		"two, the second has more Services": {[]corev1.Service{ofGroup("a", 1, has("lb-1")), ofGroup("b", 2, has("lb-2")), ofGroup("c", 3, has("lb-2"))}, []string{"lb-2", "lb-1"}},
	} {
		p := cluster("", c.group...)
		group, err := p.Group(t.Context(), p.of(&c.group[0]))
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, decide.LoadBalancersOf(group)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

func TestOneServiceOfAGroupCreatesTheLoadBalancerAndTheOthersWait(t *testing.T) {
	for name, c := range map[string]struct {
		group []corev1.Service
		want  string
	}{
		"the oldest":                      {[]corev1.Service{ofGroup("b", 2), ofGroup("a", 1)}, "a"},
		"refused":                         {[]corev1.Service{ofGroup("a", 1, refusedNow), ofGroup("b", 2)}, "b"},
		"partly refused":                  {[]corev1.Service{ofGroup("a", 1, partlyRefused), ofGroup("b", 2)}, "a"},
		"all refused":                     {[]corev1.Service{ofGroup("a", 1, refusedNow), ofGroup("b", 2, refusedNow)}, "a"},
		"one may have started":            {[]corev1.Service{ofGroup("a", 1), ofGroup("b", 2, claimedNow)}, "b"},
		"one had started, but is refused": {[]corev1.Service{ofGroup("a", 1), ofGroup("b", 2, claimedNow, refusedNow)}, "a"},
		"the load balancer was deleted":   {[]corev1.Service{ofGroup("a", 1, has("gone")), ofGroup("b", 2, has("gone")), ofGroup("c", 0)}, "a"},
	} {
		p := cluster("", c.group...)
		for i := range c.group {
			var waits *decide.GroupWait
			err := p.awaitGroup(t.Context(), p.of(&c.group[i]), lb.Observed{})
			if creates := err == nil; creates != (c.group[i].Name == c.want) || !creates && !errors.As(err, &waits) {
				t.Errorf("%s: %s: %v", name, c.group[i].Name, err)
			}
			if err := p.awaitGroup(t.Context(), p.of(&c.group[i]), lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}}); err != nil {
				t.Errorf("%s: %s has one: %v", name, c.group[i].Name, err)
			}
		}
	}
	alone := ofGroup("alone", 1, without(annotation.LoadBalancerGroup))
	p := cluster("", alone, ofGroup("a", 0))
	if err := p.awaitGroup(t.Context(), p.of(&alone), lb.Observed{}); err != nil {
		t.Errorf("a Service without a group: %v", err)
	}
}

// unanswered is the memory of a controller whose creates for these Services had no answer.
type unanswered []string

func (unanswered) LoadBalancerOf(owner.Key) string { return "" }
func (unanswered) Users(string) []owner.Key        { return nil }
func (u unanswered) MayAppear(key owner.Key) bool  { return slices.Contains(u, key.Name) }

func (unanswered) CreateRejected(owner.Key, time.Time) bool { return false }

// rejected is the memory of a controller to which the cloud has rejected the creates for these Services.
type rejected struct{ unanswered }

func (r rejected) CreateRejected(key owner.Key, _ time.Time) bool {
	return slices.Contains(r.unanswered, key.Name)
}

func (rejected) MayAppear(owner.Key) bool { return false }

func TestAServiceThatWasRefusedALoadBalancerLooksForAnotherWhenItDoesNotRequestThatOneAnyMore(t *testing.T) {
	const refusing, other = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	alone := without(annotation.LoadBalancerGroup)
	joined := func(l *lb.LoadBalancer) { l.Tags = []string{"kube_service_kubernetes_default_web"} }
	for name, c := range map[string]struct {
		web    corev1.Service
		others []corev1.Service
		edit   func(*lb.LoadBalancer)
		want   bool
	}{
		"the owner is in the group":               {ofGroup("web", 2, claimedNow), []corev1.Service{ofGroup("pay", 1, has(refusing))}, nil, false},
		"the owner has left the group":            {ofGroup("web", 2, claimedNow), []corev1.Service{ofGroup("pay", 1, has(refusing), alone)}, nil, true},
		"the owner is deleted":                    {ofGroup("web", 2, claimedNow), nil, nil, true},
		"the group has another one":               {ofGroup("web", 2, claimedNow), []corev1.Service{ofGroup("pay", 1, has(other))}, nil, true},
		"the Service joined before":               {ofGroup("web", 2, claimedNow), nil, joined, false},
		"the id on the Service is the same":       {ofGroup("web", 2, alone, requests(refusing)), nil, nil, false},
		"the id on the Service is another":        {ofGroup("web", 2, alone, requests(other)), nil, nil, true},
		"the id was removed from the Service":     {ofGroup("web", 2, alone, claimedNow), nil, nil, true},
		"the Service left the group of the other": {ofGroup("web", 2, alone, claimedNow), []corev1.Service{ofGroup("pay", 1, has(refusing))}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			p := cluster("", append(c.others, c.web)...)
			l := lb.LoadBalancer{ID: refusing}
			if c.edit != nil {
				c.edit(&l)
			}
			f := decide.Facts{Owner: p.of(&c.web)}
			f.Record.Cloud.Observed = lb.Observed{LoadBalancer: &l, Sharer: true}
			if got, err := p.requestsOther(t.Context(), f); got != c.want || err != nil {
				t.Errorf("%v, %v", got, err)
			}
			f.Record.Cloud.Observed.Sharer = false
			if got, err := p.requestsOther(t.Context(), f); got || err != nil {
				t.Errorf("its own load balancer: %v, %v", got, err)
			}
		})
	}
}

func TestAServiceWhoseCreateIsRejectedLeavesItToTheOthersOfItsGroup(t *testing.T) {
	a, b, c := ofGroup("a", 1, claimedNow), ofGroup("b", 2), ofGroup("c", 3, refusedNow)
	for name, test := range map[string]struct {
		rejected []string
		want     string
	}{
		"the oldest is rejected":                    {[]string{"a"}, "b"},
		"another one is":                            {[]string{"b"}, "a"},
		"all that are not refused: one tries again": {[]string{"a", "b"}, "a"},
	} {
		t.Run(name, func(t *testing.T) {
			p := cluster("", a, b, c)
			p.Remembered = rejected{test.rejected}
			group, err := p.Group(t.Context(), p.of(&a))
			if err != nil {
				t.Fatal(err)
			}
			if got := decide.CreatorOf(group).Key.Name; got != test.want {
				t.Errorf("%s creates the load balancer", got)
			}
		})
	}
}

func TestServiceThatStartedToCreateTheLoadBalancerOfAGroupFinishesIt(t *testing.T) {
	a, b := ofGroup("a", 1, refusedNow), ofGroup("b", 2)
	p := cluster("", a, b)
	if err := p.awaitGroup(t.Context(), p.of(&b), lb.Observed{}); err != nil {
		t.Fatal(err)
	}
	a.Status.Conditions = nil // accepted now, while the cache does not show yet that the other one has started
	p.Reader, p.Remembered = onlyServices{services: []corev1.Service{a, b}}, unanswered{"b"}
	if err := p.awaitGroup(t.Context(), p.of(&a), lb.Observed{}); err == nil || !strings.Contains(err.Error(), "default/b") {
		t.Errorf("a second load balancer would be created: %v", err)
	}
	refusedNow(&b)
	p.Reader = onlyServices{services: []corev1.Service{a, b}}
	if err := p.awaitGroup(t.Context(), p.of(&a), lb.Observed{}); err != nil {
		t.Errorf("the Service that had started is refused, but the other one waits for it: %v", err)
	}
}

func TestServiceWithAnotherLoadBalancerThanItsGroupIsRefused(t *testing.T) {
	const one, two = "11111111-1111-1111-1111-111111111111", "22222222-2222-2222-2222-222222222222"
	for name, c := range map[string]struct {
		web    corev1.Service
		others []corev1.Service
		has    string
		exist  map[string]string
		reason string
	}{
		"the group has none":              {web: ofGroup("web", 2), others: []corev1.Service{ofGroup("a", 1)}, has: one},
		"the same":                        {web: ofGroup("web", 2, has(one)), others: []corev1.Service{ofGroup("a", 1, has(one))}, has: one},
		"another":                         {web: ofGroup("web", 2, has(one)), others: []corev1.Service{ofGroup("a", 1, has(two))}, has: one, exist: map[string]string{two: "ACTIVE"}, reason: desired.ReasonRequiresReplacement},
		"another, which does not exist":   {web: ofGroup("web", 2, has(one)), others: []corev1.Service{ofGroup("a", 1, has(two))}, has: one},
		"another, which is being deleted": {web: ofGroup("web", 2, has(one)), others: []corev1.Service{ofGroup("a", 1, has(two))}, has: one, exist: map[string]string{two: "PENDING_DELETE"}},
		"a new one, without id yet":       {web: ofGroup("web", 1, has(two)), others: []corev1.Service{ofGroup("a", 2)}, has: one, exist: map[string]string{two: "ACTIVE"}},
		"one requested by id too":         {web: ofGroup("web", 2, requests(one)), others: []corev1.Service{ofGroup("a", 1, has(two))}, reason: desired.ReasonInvalidAnnotation},
	} {
		t.Run(name, func(t *testing.T) {
			p := calling(t, func(w http.ResponseWriter, r *http.Request) {
				id := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
				if c.exist[id] == "" {
					w.WriteHeader(http.StatusNotFound)
					return
				}
				fmt.Fprintf(w, `{"loadbalancer": {"id": %q, "provisioning_status": %q}}`, id, c.exist[id])
			})
			g := cluster("", append(c.others, c.web)...)
			p.Reader, p.Policy = g.Reader, g.Policy
			adapting(p)
			var observed lb.Observed
			if c.has != "" {
				observed.LoadBalancer = &lb.LoadBalancer{ID: c.has}
			}
			err := p.checkGroup(t.Context(), p.of(&c.web), nil, observed)
			reason := ""
			if refused, is := errors.AsType[*desired.Invalid](err); is {
				reason = refused.Reason
			}
			if reason != c.reason || err != nil && reason == "" {
				t.Errorf("%v, want reason %q", err, c.reason)
			}
		})
	}
}
