// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package observe

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
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
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
		ob, kind := cluster(scope, all...), service.Kind{Policy: policy, Config: config.LoadBalancer{SharedScope: scope}}
		f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: kind.Of(&all[0])})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range f.Group {
			names = append(names, s.Owner.Key.Name)
		}
		if d := cmp.Diff(want, names); d != "" {
			t.Errorf("scope %q (-want +got):\n%s", scope, d)
		}
		for i := 4; i < 7; i++ {
			f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: kind.Of(&all[i])})
			if err != nil || len(f.Group) > 0 {
				t.Errorf("%s is in the group %v, %v", all[i].Name, f.Group, err)
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
		f, err := cluster("", c.group...).WithGroup(t.Context(), decide.Facts{Owner: of(&c.group[0])})
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, decide.LoadBalancersOf(f.Group)); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
	}
}

// awaits returns what the Service of a group waits for, if it has this load balancer or none.
func awaits(t *testing.T, ob *Observer, s *corev1.Service, has *lb.LoadBalancer) error {
	t.Helper()
	f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: of(s)})
	if err != nil {
		t.Fatal(err)
	}
	return decide.AwaitsGroup(f, lb.Observed{LoadBalancer: has})
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
		ob := cluster("", c.group...)
		for i := range c.group {
			var waits *decide.GroupWait
			err := awaits(t, ob, &c.group[i], nil)
			if creates := err == nil; creates != (c.group[i].Name == c.want) || !creates && !errors.As(err, &waits) {
				t.Errorf("%s: %s: %v", name, c.group[i].Name, err)
			}
			if err := awaits(t, ob, &c.group[i], &lb.LoadBalancer{ID: "lb-1"}); err != nil {
				t.Errorf("%s: %s has one: %v", name, c.group[i].Name, err)
			}
		}
	}
	alone := ofGroup("alone", 1, without(annotation.LoadBalancerGroup))
	ob := cluster("", alone, ofGroup("a", 0))
	if err := awaits(t, ob, &alone, nil); err != nil {
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
			ob := cluster("", append(c.others, c.web)...)
			l := lb.LoadBalancer{ID: refusing}
			if c.edit != nil {
				c.edit(&l)
			}
			f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: of(&c.web)})
			if err != nil {
				t.Fatal(err)
			}
			f.Record.Cloud.Observed = lb.Observed{LoadBalancer: &l, Sharer: true}
			if got := requestsOther(f); got != c.want {
				t.Errorf("requests another one: %v", got)
			}
			f.Record.Cloud.Observed.Sharer = false
			if requestsOther(f) {
				t.Error("requests another one than its own load balancer")
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
			ob := cluster("", a, b, c)
			ob.Remembered = rejected{test.rejected}
			f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: of(&a)})
			if err != nil {
				t.Fatal(err)
			}
			if got := decide.CreatorOf(f.Group).Key.Name; got != test.want {
				t.Errorf("%s creates the load balancer", got)
			}
		})
	}
}

func TestServiceThatStartedToCreateTheLoadBalancerOfAGroupFinishesIt(t *testing.T) {
	a, b := ofGroup("a", 1, refusedNow), ofGroup("b", 2)
	ob := cluster("", a, b)
	if err := awaits(t, ob, &b, nil); err != nil {
		t.Fatal(err)
	}
	a.Status.Conditions = nil // accepted now, while the cache does not show yet that the other one has started
	ob.Owners.Reader, ob.Remembered = onlyServices{services: []corev1.Service{a, b}}, unanswered{"b"}
	if err := awaits(t, ob, &a, nil); err == nil || !strings.Contains(err.Error(), "default/b") {
		t.Errorf("a second load balancer would be created: %v", err)
	}
	refusedNow(&b)
	ob.Owners.Reader = onlyServices{services: []corev1.Service{a, b}}
	if err := awaits(t, ob, &a, nil); err != nil {
		t.Errorf("the Service that had started is refused, but the other one waits for it: %v", err)
	}
}

// created is the memory of a controller that has created load balancer lb-1 for the Service with this name.
type created struct{ name string }

func (c created) LoadBalancerOf(key owner.Key) string {
	if key.Name == c.name {
		return "lb-1"
	}
	return ""
}

func (created) Users(string) []owner.Key                 { return nil }
func (created) MayAppear(owner.Key) bool                 { return false }
func (created) CreateRejected(owner.Key, time.Time) bool { return false }

func TestAnIDOnAServiceOfAGroupIsARequestUntilTheServiceHasThatLoadBalancer(t *testing.T) {
	copied := func(s *corev1.Service) { s.Annotations[annotation.Managed] = "uid-of-another " + ourClass }
	for name, c := range map[string]struct {
		web        corev1.Service
		remembered Remembered
		request    bool
	}{
		"written by a user":             {web: ofGroup("web", 2, requests("lb-1")), request: true},
		"no id":                         {web: ofGroup("web", 2)},
		"no group":                      {web: ofGroup("web", 2, requests("lb-1"), without(annotation.LoadBalancerGroup))},
		"written by this controller":    {web: ofGroup("web", 2, has("lb-1"))},
		"copied from another Service":   {web: ofGroup("web", 2, requests("lb-1"), copied)},
		"created, the claim not shown":  {web: ofGroup("web", 2, requests("lb-1")), remembered: created{"web"}},
		"created for another one of it": {web: ofGroup("web", 2, requests("lb-1")), remembered: created{"pay"}, request: true},
		"written by a user, then served": {web: ofGroup("web", 2, requests("lb-1"), func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "203.0.113.1"}}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			ob := cluster("", ofGroup("pay", 1), c.web)
			ob.Remembered = c.remembered
			f, err := ob.WithGroup(t.Context(), decide.Facts{Owner: of(&c.web)})
			if err != nil {
				t.Fatal(err)
			}
			if got := decide.NamesIDAndGroup(f); got != c.request {
				t.Errorf("the id is a request: %t", got)
			}
		})
	}
}

// countingServices is onlyServices that counts how often Services are listed.
type countingServices struct {
	onlyServices
	lists *int
}

func (c countingServices) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	*c.lists++
	return c.onlyServices.List(ctx, list, options...)
}

// Each list of the owners makes an owner of every Service of the cluster.
func TestTheOwnersOfAGroupAreListedOnlyIfWhatTheOwnerHasDependsOnThem(t *testing.T) {
	web, pay := ofGroup("web", 2, claimedNow), ofGroup("pay", 1, has("lb-1"))
	alone := ofGroup("alone", 2, claimedNow, without(annotation.LoadBalancerGroup))
	joined := []string{"kube_service_kubernetes_default_web"}
	for name, c := range map[string]struct {
		service corev1.Service
		cloud   memory.Cloud
		lists   int
	}{
		"its load balancer is known":         {web, memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1", Tags: joined}, Sharer: true}}, 0},
		"it has not joined the one it knows": {web, memory.Cloud{Known: true, Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}, Sharer: true}}, 1},
		"it knows of none":                   {web, memory.Cloud{Known: true}, 1},
		"it has no group":                    {alone, memory.Cloud{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			ob := reading(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/lb-1") {
					http.NotFound(w, r)
					return
				}
				fmt.Fprint(w, `{"loadbalancers": []}`)
			})
			lists := 0
			ob.Owners.Reader = countingServices{onlyServices{services: []corev1.Service{web, pay, alone}}, &lists}
			_, err := ob.Observe(t.Context(), decide.Facts{Owner: of(&c.service), Record: memory.Record{Cloud: c.cloud}, Now: time.Unix(10, 0)})
			if err != nil {
				t.Fatal(err)
			}
			if lists != c.lists {
				t.Errorf("listed %d times, want %d", lists, c.lists)
			}
		})
	}
}
