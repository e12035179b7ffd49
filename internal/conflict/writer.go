// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/claim"
)

// LastWriter returns who of those that own any of the fields wrote last, or "".
func LastWriter(entries []metav1.ManagedFieldsEntry, fields []string) string {
	var last *metav1.ManagedFieldsEntry
	for i, e := range entries {
		if e.FieldsV1 == nil || e.Time == nil || last != nil && !last.Time.Before(e.Time) {
			continue
		}
		if slices.ContainsFunc(fields, func(name string) bool { return owns(e.FieldsV1.GetRawBytes(), pathOf(name)) }) {
			last = &entries[i]
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("field manager %q at %s", last.Manager, last.Time.UTC().Format(time.RFC3339))
}

// pathOf is the path of a field in the managed fields of a Service.
func pathOf(name string) []string {
	if key, ok := strings.CutPrefix(name, annotationField); ok {
		return []string{"f:metadata", "f:annotations", "f:" + key}
	}
	if kind, ok := strings.CutPrefix(name, conditionField); ok {
		return []string{"f:status", "f:conditions", fmt.Sprintf(`k:{"type":%q}`, kind)}
	}
	if name == finalizerField {
		return []string{"f:metadata", "f:finalizers", fmt.Sprintf("v:%q", claim.Finalizer)}
	}
	return []string{"f:status", "f:loadBalancer"}
}

// owns reports whether the path leads somewhere in managed fields, which are objects
// in objects.
func owns(fields []byte, path []string) bool {
	if len(path) == 0 {
		return true
	}
	var below map[string]json.RawMessage
	if json.Unmarshal(fields, &below) != nil {
		return false
	}
	next, there := below[path[0]]
	return there && owns(next, path[1:])
}
