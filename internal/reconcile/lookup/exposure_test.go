// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// listing is a Kubernetes API with these Services, or with an error.
type listing struct {
	client.Reader
	services []corev1.Service
	fails    error
	lists    int
}

// List implements client.Reader.
func (l *listing) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	l.lists++
	if into, is := list.(*corev1.ServiceList); is {
		into.Items = l.services
	}
	return l.fails
}

func TestWhatOtherOwnersRequestIsReadOnlyIfTheExposureChanges(t *testing.T) {
	named := func(name string, annotations map[string]string) corev1.Service {
		return corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-of-" + name), Annotations: annotations},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer},
		}
	}
	noAnswer := errors.New("no answer")
	web, api := named("web", nil), named("api", map[string]string{annotation.Internal: "true"})
	kind := service.Kind{Policy: claim.Policy{ClusterName: "kubernetes", ClusterUID: "c-1", DefaultClass: true}}
	of, other := kind.Of(&web), kind.Of(&api)
	for name, c := range map[string]struct {
		address string
		fails   error
		lists   int
		want    []string
	}{
		"a floating IP is added": {address: "10.0.0.9", lists: 1, want: []string{"default/api"}},
		"there is one":           {address: "203.0.113.1"},
		"a floating IP is added, and the others are unknown": {address: "10.0.0.9", fails: noAnswer, lists: 1},
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &listing{services: []corev1.Service{web, api}, fails: c.fails}
			b := &Builder{Owners: claim.Owners{Reader: cluster, Kinds: []claim.Kind{kind}}}
			found := &lb.LoadBalancer{ID: "lb-1", Tags: append(of.Identity.Tags(), other.Identity.LoadBalancerName()), VIP: lb.VIP{Address: "10.0.0.9"}}
			in := desired.Input{Spec: of.Spec, Owner: of.Identity, Found: found, Sharing: desired.Sharing{FoundAddress: c.address}}
			in, err := b.readExposure(t.Context(), of, in, lb.Observed{})
			if !errors.Is(err, c.fails) {
				t.Errorf("the error is %v, want %v", err, c.fails)
			}
			if d := cmp.Diff(c.want, in.WouldExpose); d != "" || cluster.lists != c.lists {
				t.Errorf("%d lists, want %d; would expose (-want +got):\n%s", cluster.lists, c.lists, d)
			}
		})
	}
}
