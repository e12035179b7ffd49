// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

// field is a field of an owner that only the controller writes.
type field struct {
	// name is for users. key is the field's key in managedFields; no other field has it.
	name, key string
	value     func(claim.Owner) any
}

var ownFields = allOwnFields()

func allOwnFields() []field {
	fields := []field{
		{"status.loadBalancer", "f:loadBalancer", func(o claim.Owner) any { return corev1.LoadBalancerStatus{Ingress: o.Recorded.Ingress} }},
		{"finalizer " + claim.Finalizer, fmt.Sprintf("v:%q", claim.Finalizer), func(o claim.Owner) any {
			return o.Recorded.Finalizer
		}},
	}
	for _, key := range claim.RecordedAnnotations {
		fields = append(fields, field{"annotation " + key, "f:" + key, func(o claim.Owner) any {
			value, set := o.Recorded.Annotations[key]
			return []any{value, set}
		}})
	}
	for _, kind := range status.Types {
		fields = append(fields, field{"condition " + kind, fmt.Sprintf(`k:{"type":%q}`, kind), func(o claim.Owner) any {
			if c := meta.FindStatusCondition(o.Recorded.Conditions, kind); c != nil {
				return []any{c.Status, c.Reason, c.Message}
			}
			return nil
		}})
	}
	return fields
}

// ChangedFields returns the names of the own fields that differ between two states of an owner. That one of
// them is from an API server that does not have the field ipMode is no difference: Kubernetes is being updated.
func ChangedFields(before, after claim.Owner) (names []string) {
	before, after = asKeptBy(after, before), asKeptBy(before, after)
	for _, f := range ownFields {
		if !equality.Semantic.DeepEqual(f.value(before), f.value(after)) {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	return names
}

// asKeptBy returns the owner with its addresses as the API server that has the other one keeps them.
func asKeptBy(other, o claim.Owner) claim.Owner {
	o.Recorded.Ingress = status.Kept(other.Recorded.Ingress, o.Recorded.Ingress)
	return o
}

// values returns the values of all own fields.
func values(o claim.Owner) string {
	var all []any
	for _, f := range ownFields {
		all = append(all, f.value(o))
	}
	text, _ := json.Marshal(all) // strings and booleans never fail
	return string(text)
}

// LastWriter returns the field manager that last wrote to one of the named own fields, or "".
func LastWriter(entries []metav1.ManagedFieldsEntry, names []string) string {
	var last *metav1.ManagedFieldsEntry
	for i, e := range entries {
		wrote := slices.ContainsFunc(ownFields, func(f field) bool {
			return slices.Contains(names, f.name) && strings.Contains(e.FieldsV1.GetRawString(), strconv.Quote(f.key))
		})
		if wrote && e.Time != nil && (last == nil || last.Time.Before(e.Time)) {
			last = &entries[i]
		}
	}
	if last == nil {
		return ""
	}
	return fmt.Sprintf("field manager %q at %s", last.Manager, last.Time.UTC().Format(time.RFC3339))
}
