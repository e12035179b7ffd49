// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// cached are Services as the cache has them, with its two indexes.
type cached struct {
	client.Reader
	services []*corev1.Service
	broken   string // the Service that cannot be read
	lists    int
}

func (c *cached) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if key.Name == c.broken {
		return errors.New("broken")
	}
	for _, s := range c.services {
		if into, ok := o.(*corev1.Service); ok && s.Namespace == key.Namespace && s.Name == key.Name {
			s.DeepCopyInto(into)
			return nil
		}
	}
	return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
}

func (c *cached) List(_ context.Context, l client.ObjectList, options ...client.ListOption) error {
	var by client.MatchingFields
	for _, o := range options {
		if fields, ok := o.(client.MatchingFields); ok {
			by = fields
		}
	}
	c.lists++
	into, ok := l.(*corev1.ServiceList)
	for _, s := range c.services {
		of := services.Of(s)
		if ok && (by == nil || by[byLoadBalancer] != "" && by[byLoadBalancer] == of.Recorded.LoadBalancerID || by[byGroup] != "" && by[byGroup] == of.Group) {
			into.Items = append(into.Items, *s)
		}
	}
	return nil
}

func TestServicesThatShareALoadBalancerHaveOneQueueKey(t *testing.T) {
	age := 0
	service := func(name string, annotations ...string) *corev1.Service {
		age++
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), Annotations: map[string]string{},
			CreationTimestamp: metav1.NewTime(noon.Add(time.Duration(age) * time.Second))}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
		for i := 0; i < len(annotations); i += 2 {
			s.Annotations[annotations[i]] = annotations[i+1]
		}
		return s
	}
	const id, group = annotation.LoadBalancerID, annotation.LoadBalancerGroup
	uses := func(ids ...string) memory.Record {
		o := lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: ids[0]}}
		if len(ids) > 1 {
			o.Predecessor = &lb.LoadBalancer{ID: ids[1]}
		}
		return memory.Record{Cloud: memory.Cloud{Observed: o}}
	}
	all := []*corev1.Service{
		service("alone", id, "lb-1"), service("new"),
		service("owner", id, "lb-2"), service("guest", id, "lb-2"), service("lost-its-note"),
		service("maker", group, "shop", id, "lb-3"), service("member", group, "shop"), service("guest-of-group", id, "lb-3"),
		service("replaced", id, "lb-5"), service("joins-the-old-one", id, "lb-4"),
	}
	r, _ := withServices(all...)
	remember := func(name string, record memory.Record) {
		r.Memory.Put(owner.ServiceKey("default", name), record)
	}
	remember("alone", uses("lb-1"))
	remember("lost-its-note", uses("lb-2"))
	remember("replaced", uses("lb-5", "lb-4"))

	got := map[string]string{}
	for _, s := range all {
		got[s.Name] = r.ask(t.Context(), services.Of(s)).Name
	}
	want := map[string]string{
		"alone": "alone", "new": "new",
		"owner": "owner", "guest": "owner", "lost-its-note": "owner",
		"maker": "maker", "member": "maker", "guest-of-group": "maker",
		"replaced": "replaced", "joins-the-old-one": "replaced",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("queue keys (-want +got):\n%s", d)
	}
	// Whose key one Service is, its pass is one of that key's.
	for _, s := range all {
		members, err := r.members(t.Context(), r.ask(t.Context(), services.Of(s)))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, key := range members {
			found = found || key == services.Of(s).Key
		}
		if !found {
			t.Errorf("%s is not among the Services of its key: %v", s.Name, members)
		}
	}
}

func TestAServiceThatFailsDelaysNoOtherOfItsLoadBalancer(t *testing.T) {
	service := func(name string, age time.Duration) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
			Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}
	first, second, broken := service("owner", 3*time.Hour), service("second", 2*time.Hour), service("broken", time.Hour)
	p := planner.New(planner.Options{Reader: &cached{services: []*corev1.Service{first, second, broken}, broken: "broken"}, Kinds: []claim.Kind{services}, Policy: services.Policy})
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	clock := noon
	r := New(Options{Planner: p, Memory: memory.NewStore(), Metrics: counted, Timing: timing.Default(), Now: func() time.Time { return clock }})
	next := func(want time.Duration) {
		t.Helper()
		result, err := r.Reconcile(t.Context(), services.Of(first).Key)
		if err != nil || result.RequeueAfter != want {
			t.Errorf("the next pass is after %v (error %v), want %v", result.RequeueAfter, err, want)
		}
	}
	r.due.at(services.Of(second).Key, noon.Add(time.Minute))
	r.due.at(services.Of(broken).Key, time.Time{})
	wait := r.Timing.FirstBackoff
	next(wait)
	next(wait) // it is not tried again before
	clock = noon.Add(wait)
	next(2 * wait)
	for range 20 { // its backoff grows to the longest
		result, _ := r.Reconcile(t.Context(), services.Of(first).Key)
		if clock.Add(result.RequeueAfter).After(noon.Add(time.Minute)) {
			t.Fatalf("the other Service has to wait until %v", clock.Add(result.RequeueAfter))
		}
		if clock = clock.Add(result.RequeueAfter); clock.Equal(noon.Add(time.Minute)) {
			return
		}
	}
	t.Error("the other Service is never due")
}

// TestAServiceThatFailsIsTriedAgainUnderItsNewQueueKey is about a copy: the id of the original's load balancer is removed before
// its own is created, and the creation fails.
func TestAServiceThatFailsIsTriedAgainUnderItsNewQueueKey(t *testing.T) {
	service := func(name string, age time.Duration) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
			Annotations: map[string]string{annotation.LoadBalancerID: "lb-1"}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}
	original, copied := service("original", time.Hour), service("copy", time.Minute)
	p := planner.New(planner.Options{Reader: &cached{services: []*corev1.Service{original, copied, service("third", time.Second)}, broken: "copy"}, Kinds: []claim.Kind{services}, Policy: services.Policy})
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	clock := noon
	var enqueued []string
	r := New(Options{Planner: p, Memory: memory.NewStore(), Metrics: counted, Timing: timing.Default(), Now: func() time.Time { return clock },
		Enqueue: func(key owner.Key) { enqueued = append(enqueued, key.Name) }})
	r.due.at(services.Of(copied).Key, time.Time{})
	for range 2 {
		result, err := r.Reconcile(t.Context(), services.Of(original).Key)
		if err != nil {
			t.Fatal(err)
		}
		clock = clock.Add(result.RequeueAfter)
		copied.Annotations = nil
	}
	if d := cmp.Diff([]string{"copy"}, enqueued); d != "" {
		t.Errorf("the queue gets (-want +got):\n%s", d)
	}
}

// TestAServiceThatIsCreatedAgainIsNotLostUnderTheQueueKeyOfTheDeletedOne is from a random walk: a Service that shared a load balancer
// was deleted and created again at once, while the deleted one was still remembered. Its pass was requested under the key of the
// load balancer, which it did not have, and never made.
func TestAServiceThatIsCreatedAgainIsNotLostUnderTheQueueKeyOfTheDeletedOne(t *testing.T) {
	service := func(name, balancer string, age time.Duration) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(noon.Add(-age)),
			Annotations: map[string]string{annotation.LoadBalancerID: balancer}}, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}
	}
	first, again := service("owner", "lb-1", time.Hour), service("again", "", time.Second)
	p := planner.New(planner.Options{Reader: &cached{services: []*corev1.Service{first, service("third", "lb-1", time.Minute), again}}, Kinds: []claim.Kind{services}, Policy: services.Policy})
	counted, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	var enqueued []string
	r := New(Options{Planner: p, Memory: memory.NewStore(), Metrics: counted, Timing: timing.Default(), Now: func() time.Time { return noon },
		Enqueue: func(key owner.Key) { enqueued = append(enqueued, key.Name) }})
	deleted := memory.Record{Cloud: memory.Cloud{Observed: lb.Observed{LoadBalancer: &lb.LoadBalancer{ID: "lb-1"}}}}
	r.Memory.Put(services.Of(again).Key, deleted)
	key := r.ask(t.Context(), services.Of(again))
	r.Memory.Forget(services.Of(again).Key) // at the end of the pass over the deleted one
	for range 2 {
		if _, err := r.Reconcile(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"again"}, enqueued); d != "" {
		t.Errorf("the queue gets (-want +got):\n%s", d)
	}
}

func TestLogLinesNameTheServiceOfAQueueKey(t *testing.T) {
	var lines []string
	log := logOf(funcr.NewJSON(func(line string) { lines = append(lines, line) }, funcr.Options{}))
	key := owner.ServiceKey("default", "web")
	log(&key).Info("pass")
	log(nil).Info("start")
	want := []string{
		`{"logger":"","level":0,"msg":"pass","controller":"service","Service":{"name":"web","namespace":"default"}}`,
		`{"logger":"","level":0,"msg":"start","controller":"service"}`,
	}
	if d := cmp.Diff(want, lines); d != "" {
		t.Errorf("lines (-want +got):\n%s", d)
	}
}
