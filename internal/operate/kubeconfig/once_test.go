// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// counted is a Kubernetes API whose lists contain the Service web, and which counts the lists.
type counted struct {
	client.Reader
	lists int
	err   error
}

func (c *counted) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	c.lists++
	if services, ok := list.(*corev1.ServiceList); ok && c.err == nil {
		services.Items = []corev1.Service{{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}}}
	}
	return c.err
}

func TestEachListIsRequestedOnceUntilItIsForgotten(t *testing.T) {
	from := &counted{}
	once := &Once{Reader: from}
	list := func(want int, list client.ObjectList, options ...client.ListOption) {
		t.Helper()
		if err := once.List(t.Context(), list, options...); err != nil || from.lists != want {
			t.Errorf("%d lists, want %d; %v", from.lists, want, err)
		}
	}
	var first, again corev1.ServiceList
	list(1, &first)
	first.Items[0].Labels["a"] = "changed by the reader"
	list(1, &again)
	if len(again.Items) != 1 || again.Items[0].Labels["a"] != "b" {
		t.Errorf("a reader's change shows in the list of another one: %+v", again.Items)
	}
	var shared, after corev1.ServiceList
	list(1, &shared, client.UnsafeDisableDeepCopy)
	shared.Items[0] = corev1.Service{}
	list(1, &after, client.UnsafeDisableDeepCopy)
	if after.Items[0].Name != "web" {
		t.Errorf("what one reader removes is missing for another one: %+v", after.Items)
	}
	list(2, &corev1.ServiceList{}, client.InNamespace("shop"))
	list(3, &corev1.ServiceList{}, client.InNamespace("shop"), client.MatchingLabels{"a": "b"})
	list(3, &corev1.ServiceList{}, client.InNamespace("shop"), client.MatchingLabels{"a": "b"})
	list(4, &corev1.NodeList{})
	list(5, &corev1.ServiceList{}, client.Limit(1))
	list(6, &corev1.ServiceList{}, client.Limit(1))
	once.Forget()
	list(7, &corev1.ServiceList{})
}

func TestAListThatFailedFailsUntilItIsForgotten(t *testing.T) {
	from := &counted{err: errors.New("no answer")}
	once := &Once{Reader: from}
	for range 2 {
		if err := once.List(t.Context(), &corev1.ServiceList{}); !errors.Is(err, from.err) || from.lists != 1 {
			t.Errorf("%v after %d lists", err, from.lists)
		}
	}
	from.err = nil
	once.Forget()
	if err := once.List(t.Context(), &corev1.ServiceList{}); err != nil {
		t.Error(err)
	}
}
