// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

func TestWhatControllersWriteIsNoRequest(t *testing.T) {
	type row struct {
		change func(*corev1.Service)
		same   bool
	}
	rows := map[string]row{
		"nothing":                         {func(*corev1.Service) {}, true},
		"a condition":                     {func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{Type: "x"}} }, true},
		"an address":                      {func(s *corev1.Service) { s.Status = *statusWith("203.0.113.5") }, true},
		"a label":                         {func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }, true},
		"the finalizer":                   {func(s *corev1.Service) { s.Finalizers = nil }, true},
		"all annotations of controllers":  {func(s *corev1.Service) { s.Annotations = nil }, true},
		"an empty list instead of none":   {func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{} }, true},
		"an annotation of a user":         {annotated(annotation.KeepFloatingIP, "true"), false},
		"an annotation of another client": {annotated("example.com/x", "y"), false},
		"a port":                          {func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }, false},
		"the type":                        {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, false},
	}
	for _, key := range claim.RecordedAnnotations {
		rows["annotation "+key] = row{annotated(key, "x"), true}
	}
	for name, c := range rows {
		t.Run(name, func(t *testing.T) {
			before, after := web(), web(c.change)
			kept := maps.Clone(after.Annotations)
			if got := ours.SameRequest(before, after); got != c.same {
				t.Errorf("the same request: %t, want %t", got, c.same)
			}
			if got := ours.SameRequest(after, before); got != c.same {
				t.Errorf("the same request, the other way round: %t, want %t", got, c.same)
			}
			if d := cmp.Diff(kept, after.Annotations); d != "" {
				t.Errorf("comparing has changed the Service (-before +after):\n%s", d)
			}
		})
	}
	t.Run("a value of a user's annotation", func(t *testing.T) {
		if ours.SameRequest(web(annotated(annotation.MaxMembers, "5")), web(annotated(annotation.MaxMembers, "6"))) {
			t.Error("the request is said to be the same")
		}
	})
	t.Run("an object of another kind", func(t *testing.T) {
		if ours.SameRequest(web(), &corev1.ConfigMap{}) || ours.SameRequest(&corev1.ConfigMap{}, web()) {
			t.Error("the request is said to be the same")
		}
	})
}

// pages is an API server, or a cache, with three Services. It has an error for the call number failing.
type pages struct {
	client.Reader
	cached  bool
	failing int
	calls   []client.ListOptions
}

var errNoAnswer = errors.New("no answer")

func named(name string) corev1.Service {
	return *web(func(s *corev1.Service) { s.Name = name })
}

// List implements client.Reader.
func (p *pages) List(_ context.Context, list client.ObjectList, options ...client.ListOption) error {
	o := (&client.ListOptions{}).ApplyOptions(options)
	p.calls = append(p.calls, *o)
	into, _ := list.(*corev1.ServiceList)
	all := []corev1.Service{named("web"), named("api"), named("pay")}
	switch {
	case len(p.calls) == p.failing:
		return errNoAnswer
	case p.cached && o.Continue != "":
		return errors.New("a cache cannot continue a list")
	case p.cached: // as controller-runtime's cache answers
		into.Items, into.Continue = all, "continue-not-supported"
	case o.Limit == 0:
		return errors.New("the API server is asked for all at once")
	case o.Continue == "":
		into.Items, into.Continue = all[:1], "1"
	case o.Continue == "1":
		into.Items, into.Continue = all[1:2], "2"
	case o.Continue == "2":
		into.Items = all[2:]
	default:
		return fmt.Errorf("no list has the continue token %q", o.Continue)
	}
	return nil
}

// Get implements client.Reader.
func (p *pages) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	into, _ := object.(*corev1.Service)
	switch {
	case p.failing > 0:
		return errNoAnswer
	case key != client.ObjectKey{Namespace: "shop", Name: "web"}:
		return apierrors.NewNotFound(corev1.Resource("services"), key.Name)
	}
	web().DeepCopyInto(into)
	return nil
}

func TestAllServicesAreListedFromACacheAndInPagesFromTheAPIServer(t *testing.T) {
	for name, c := range map[string]struct {
		from  pages
		want  []string
		calls []string // their continue tokens
		fails error
	}{
		"cache":                        {from: pages{cached: true}, want: []string{"web", "api", "pay"}, calls: []string{""}},
		"cache without an answer":      {from: pages{cached: true, failing: 1}, calls: []string{""}, fails: errNoAnswer},
		"API server":                   {want: []string{"web", "api", "pay"}, calls: []string{"", "1", "2"}},
		"API server without an answer": {from: pages{failing: 1}, calls: []string{""}, fails: errNoAnswer},
		"API server that loses an answer in between": {from: pages{failing: 2}, calls: []string{"", "1"}, fails: errNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			from := claim.Owners{Reader: &c.from, Kinds: []claim.Kind{ours}}
			if !c.from.cached {
				from = from.From(&c.from)
			}
			all, err := from.List(t.Context(), client.InNamespace("shop"))
			if !errors.Is(err, c.fails) {
				t.Errorf("the error is %v, want %v", err, c.fails)
			}
			var names, calls []string
			for _, o := range all {
				names = append(names, o.Key.Name)
			}
			for _, o := range c.from.calls {
				calls = append(calls, o.Continue)
				if o.Namespace != "shop" || o.UnsafeDisableDeepCopy == nil || !*o.UnsafeDisableDeepCopy {
					t.Errorf("a call has the options %+v", o)
				}
			}
			if d := cmp.Diff(c.want, names); d != "" {
				t.Errorf("owners (-want +got):\n%s", d)
			}
			if d := cmp.Diff(c.calls, calls); d != "" {
				t.Errorf("continue tokens (-want +got):\n%s", d)
			}
		})
	}
}

func TestTheOwnerBehindAnEndpointSliceIsItsService(t *testing.T) {
	for name, c := range map[string]struct {
		from            pages
		namespace, name string
		want            []owner.Key
		fails           error
	}{
		"its Service":                    {namespace: "shop", name: "web", want: []owner.Key{owner.ServiceKey("shop", "web")}},
		"no such Service":                {namespace: "shop", name: "other"},
		"of the same name elsewhere":     {namespace: "other", name: "web"},
		"the API server does not answer": {from: pages{failing: 1}, namespace: "shop", name: "web", fails: errNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := ours.BackedBy(t.Context(), &c.from, c.namespace, c.name)
			if !errors.Is(err, c.fails) {
				t.Errorf("the error is %v, want %v", err, c.fails)
			}
			var keys []owner.Key
			for _, o := range all {
				keys = append(keys, o.Key)
				if o.Spec.Backend != c.name {
					t.Errorf("the Backend of %v is %q", o.Key, o.Spec.Backend)
				}
			}
			if d := cmp.Diff(c.want, keys); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestTheStatusOfAServiceHasItsConditionsAndAddresses(t *testing.T) {
	conditions := []metav1.Condition{{Type: "x", Status: metav1.ConditionTrue}}
	addresses := []corev1.LoadBalancerIngress{{IP: "203.0.113.5"}}
	had := func(s *corev1.Service) {
		s.Status = *statusWith("203.0.113.9")
		s.Status.Conditions = []metav1.Condition{{Type: "y"}}
	}
	for name, c := range map[string]struct {
		to   claim.Status
		want corev1.ServiceStatus
	}{
		"both": {claim.Status{Conditions: conditions, Addresses: addresses}, corev1.ServiceStatus{
			Conditions: conditions, LoadBalancer: corev1.LoadBalancerStatus{Ingress: addresses},
		}},
		"no address":   {claim.Status{Conditions: conditions}, corev1.ServiceStatus{Conditions: conditions}},
		"no condition": {claim.Status{Addresses: addresses}, corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: addresses}}},
		"nothing":      {claim.Status{}, corev1.ServiceStatus{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := web(had)
			ours.SetStatus(s, c.to)
			want := web(had)
			want.Status = c.want
			if d := cmp.Diff(want, s); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
			// What was written is what is read.
			recorded := ours.Of(s).Recorded
			if d := cmp.Diff(c.to, claim.Status{Conditions: recorded.Conditions, Addresses: recorded.Ingress}); d != "" {
				t.Errorf("read again (-want +got):\n%s", d)
			}
		})
	}
	t.Run("an object of another kind", func(t *testing.T) {
		other := &corev1.ConfigMap{}
		ours.SetStatus(other, claim.Status{Conditions: conditions})
		if d := cmp.Diff(&corev1.ConfigMap{}, other); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	})
}

// onlyStatus is a client that patches only the status.
type onlyStatus struct {
	client.Client
	patched []client.Object
	patches []client.Patch
}

// Status implements client.StatusClient.
func (c *onlyStatus) Status() client.SubResourceWriter { return subresource{to: c} }

type subresource struct {
	client.SubResourceWriter
	to *onlyStatus
}

// Patch implements client.SubResourceWriter.
func (s subresource) Patch(_ context.Context, object client.Object, patch client.Patch, _ ...client.SubResourcePatchOption) error {
	s.to.patched, s.to.patches = append(s.to.patched, object), append(s.to.patches, patch)
	return errNoAnswer
}

func TestTheStatusOfAServiceIsWrittenAsASubresource(t *testing.T) {
	c, s := &onlyStatus{}, web()
	patch := client.MergeFrom(web())
	if err := ours.WriteStatus(t.Context(), c, s, patch); !errors.Is(err, errNoAnswer) {
		t.Errorf("the error of the write is lost: %v", err)
	}
	if len(c.patched) != 1 || c.patched[0] != client.Object(s) || c.patches[0] != patch {
		t.Errorf("patched %v", c.patched)
	}
}

func TestAnObjectOfAnotherKindIsNotServed(t *testing.T) {
	if o := ours.Owner(&corev1.ConfigMap{}); o.Serves || o.Spec == nil {
		t.Errorf("%+v", o)
	}
	if _, _, err := (claim.Owners{Kinds: []claim.Kind{ours}}).Get(t.Context(), owner.Key{Kind: "Gateway", Namespace: "shop", Name: "web"}); err == nil {
		t.Error("a kind without an adapter is no error")
	}
}

func TestAServiceIsReadByTheKindOfItsKey(t *testing.T) {
	owners := claim.Owners{Reader: &pages{}, Kinds: []claim.Kind{ours}}
	object, kind, err := owners.Get(t.Context(), owner.ServiceKey("shop", "web"))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(client.Object(web()), object); d != "" || kind.Name() != owner.Service {
		t.Errorf("kind %q, object (-want +got):\n%s", kind.Name(), d)
	}
	if got := kind.Owner(object).Key; got != owner.ServiceKey("shop", "web") {
		t.Errorf("its key is %v", got)
	}
}
