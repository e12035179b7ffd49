// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// writerOf asks Kubernetes who wrote to the marks last; "" means that it does not say.
// The cache does not have that. It is asked for by a list, as the cache is, so that it
// takes no other right.
func (r *ServiceReconciler) writerOf(ctx context.Context, service *corev1.Service, marks []string) string {
	ctx, cancel := context.WithTimeout(ctx, r.timing.KubernetesLimit)
	defer cancel()
	page := metav1.PartialObjectMetadataList{}
	page.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ServiceList"))
	err := r.Uncached.List(ctx, &page, client.InNamespace(service.Namespace), client.MatchingFields{"metadata.name": service.Name})
	if err != nil || len(page.Items) != 1 {
		return ""
	}
	return lastWriter(page.Items[0].ManagedFields, marks)
}

// lastWriter says who of those that own any of the marks wrote last.
func lastWriter(entries []metav1.ManagedFieldsEntry, marks []string) string {
	var last *metav1.ManagedFieldsEntry
	for i, e := range entries {
		if e.FieldsV1 == nil || e.Time == nil || last != nil && !last.Time.Before(e.Time) {
			continue
		}
		if slices.ContainsFunc(marks, func(mark string) bool { return ownsField(e.FieldsV1.GetRawBytes(), fieldOf(mark)) }) {
			last = &entries[i]
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("field manager %q at %s", last.Manager, last.Time.UTC().Format(time.RFC3339))
}

// fieldOf is the path of a mark in the managed fields of a Service.
func fieldOf(mark string) []string {
	if key, ok := strings.CutPrefix(mark, annotationMark); ok {
		return []string{"f:metadata", "f:annotations", "f:" + key}
	}
	if kind, ok := strings.CutPrefix(mark, conditionMark); ok {
		return []string{"f:status", "f:conditions", fmt.Sprintf(`k:{"type":%q}`, kind)}
	}
	if mark == finalizerMark {
		return []string{"f:metadata", "f:finalizers", fmt.Sprintf("v:%q", claim.Finalizer)}
	}
	return []string{"f:status", "f:loadBalancer"}
}

// ownsField reports whether the path leads somewhere in managed fields, which are objects
// in objects.
func ownsField(fields []byte, path []string) bool {
	if len(path) == 0 {
		return true
	}
	var below map[string]json.RawMessage
	if json.Unmarshal(fields, &below) != nil {
		return false
	}
	next, there := below[path[0]]
	return there && ownsField(next, path[1:])
}

// contest is what the Service's users are told of somebody else who writes.
func (r *ServiceReconciler) contest(ctx context.Context, service *corev1.Service, known rivalry) status.Contest {
	c := status.Contest{Overwritten: known.marks(), Undone: known.undone(), Again: known.until}
	if len(c.Overwritten) > 0 {
		c.Writer = r.writerOf(ctx, service, known.lastMarks())
	}
	return c
}
