// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

var _ claim.Kind = Kind{}

// Name implements claim.Kind.
func (k Kind) Name() string { return owner.Service }

// New implements claim.Kind.
func (k Kind) New() client.Object { return &corev1.Service{} }

// Owner implements claim.Kind.
func (k Kind) Owner(object client.Object) claim.Owner {
	s, is := object.(*corev1.Service)
	if !is {
		return claim.Owner{Spec: &desired.Spec{}}
	}
	return k.Of(s)
}

// Refresh implements claim.Kind.
func (k Kind) Refresh(of claim.Owner, object client.Object) claim.Owner {
	s, is := object.(*corev1.Service)
	if !is {
		return of
	}
	now := k.state(s)
	now.Spec = of.Spec
	return now
}

// List implements claim.Kind. There may be thousands of Services, so they are not copied from the cache.
func (k Kind) List(ctx context.Context, from client.Reader, options ...client.ListOption) ([]claim.Owner, error) {
	inPages := (&client.ListOptions{}).ApplyOptions(options).Limit > 0 // a cache lists everything, and refuses to continue
	var all []claim.Owner
	for next := ""; ; {
		var page corev1.ServiceList
		if err := from.List(ctx, &page, append(options, client.UnsafeDisableDeepCopy, client.Continue(next))...); err != nil {
			return nil, fmt.Errorf("list Services: %w", err)
		}
		for i := range page.Items {
			all = append(all, k.Of(&page.Items[i]))
		}
		next = page.Continue
		if !inPages || next == "" {
			return all, nil
		}
	}
}

// BackedBy implements claim.Kind. Behind a Service are its own EndpointSlices.
func (k Kind) BackedBy(ctx context.Context, from client.Reader, namespace, service string) ([]claim.Owner, error) {
	var s corev1.Service
	if err := from.Get(ctx, client.ObjectKey{Namespace: namespace, Name: service}, &s); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return []claim.Owner{k.Of(&s)}, nil
}

// SameRequest implements claim.Kind.
func (k Kind) SameRequest(before, after client.Object) bool {
	a, is := before.(*corev1.Service)
	b, also := after.(*corev1.Service)
	return is && also && equality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(ofUsers(a.Annotations), ofUsers(b.Annotations))
}

// ofUsers returns the annotations that controllers do not write.
func ofUsers(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	maps.DeleteFunc(rest, func(key, _ string) bool { return claim.Records(key) })
	return rest
}

// SetStatus implements claim.Kind.
func (k Kind) SetStatus(object client.Object, to claim.Status) {
	if s, is := object.(*corev1.Service); is {
		s.Status.Conditions, s.Status.LoadBalancer.Ingress = to.Conditions, to.Addresses
	}
}

// WriteStatus implements claim.Kind.
func (k Kind) WriteStatus(ctx context.Context, to client.Client, object client.Object, patch client.Patch) error {
	return to.Status().Patch(ctx, object, patch)
}
