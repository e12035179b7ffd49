// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// unknown are annotations that are not known, each with a nearest key.
func unknown(keys ...string) (all []annotation.Unknown) {
	for _, key := range keys {
		all = append(all, annotation.Unknown{Key: key, Nearest: key + "-known"})
	}
	return all
}

func withUnknown(p Pass, keys ...string) Pass {
	p.Unknown = unknown(keys...)
	return p
}

func TestOnlyAServiceThatHadAnUnknownAnnotationHasTheCondition(t *testing.T) {
	clean := Conditions(nil, 7, done())
	if c := meta.FindStatusCondition(clean, AnnotationsKnown); c != nil {
		t.Errorf("a Service without unknown annotations has %+v", c)
	}
	bad := Conditions(clean, 7, withUnknown(done(), "a/b", "a/c"))
	want := said{metav1.ConditionFalse, ReasonUnknownAnnotation,
		"unknown annotations, which have no effect: a/b (did you mean a/b-known?), a/c (did you mean a/c-known?). Correct their keys, or remove them"}
	if diff := cmp.Diff(want, find(t, bad, AnnotationsKnown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	corrected := said{metav1.ConditionTrue, ReasonAnnotationsKnown, "all annotations that are meant for kube-octavia are known"}
	if diff := cmp.Diff(corrected, find(t, Conditions(bad, 7, done()), AnnotationsKnown)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if !meta.IsStatusConditionTrue(bad, Accepted) || !meta.IsStatusConditionTrue(bad, Programmed) {
		t.Errorf("a Service with unknown annotations that protect nothing is not served: %+v", bad)
	}
}

func TestAMessageTellsAnnotationsThatRefuseTheServiceFromOthers(t *testing.T) {
	tls := annotation.Unknown{Key: "a/tls-secert", Nearest: annotation.TLSSecret, Protects: annotation.RestrictsAccess}
	refusing := "unknown annotations, for which the Service is not accepted: a/tls-secert (did you mean " + annotation.TLSSecret + "?)"
	const end = ". Correct their keys, or remove them"
	for want, found := range map[string][]annotation.Unknown{
		refusing + end: {tls},
		refusing + "; unknown annotations, which have no effect: a/b (did you mean a/b-known?)" + end: append(unknown("a/b"), tls),
	} {
		p := done()
		p.Unknown = found
		if got := find(t, Conditions(nil, 1, p), AnnotationsKnown).Message; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
	}
}

func TestAMessageNamesSomeOfManyUnknownAnnotations(t *testing.T) {
	var keys []string
	for i := range 30 {
		keys = append(keys, fmt.Sprintf("a/%02d", i))
	}
	message := find(t, Conditions(nil, 1, withUnknown(done(), keys...)), AnnotationsKnown).Message
	if !strings.Contains(message, "a/19 ") || strings.Contains(message, "a/20 ") || !strings.Contains(message, ", 10 others.") {
		t.Error(message)
	}
}

func TestEachChangeOfTheUnknownAnnotationsIsOneEvent(t *testing.T) {
	refused := func(keys ...string) Pass {
		p := withUnknown(done(), keys...)
		p.Invalid = &desired.Invalid{Reason: desired.ReasonMisspeltAnnotation, Message: "did you mean"}
		return p
	}
	failed := withUnknown(Pass{Err: silence, Acceptance: Acceptance{Undecided: true}}, "a/b")
	for name, test := range map[string]struct {
		passes []Pass
		want   []string
	}{
		"one, then another, then none": {
			[]Pass{withUnknown(done(), "a/b"), withUnknown(done(), "a/b"), withUnknown(done(), "a/b", "a/c"), withUnknown(done(), "a/c"), done(), done()},
			[]string{"Warning UnknownAnnotation, Normal Programmed", "", "Warning UnknownAnnotation", "Warning UnknownAnnotation", "", ""},
		},
		"again after it was corrected": {
			[]Pass{withUnknown(done(), "a/b"), done(), withUnknown(done(), "a/b")},
			[]string{"Warning UnknownAnnotation, Normal Programmed", "", "Warning UnknownAnnotation"},
		},
		"one that protects, and another one": {
			[]Pass{done(), refused("a/b"), refused("a/b"), refused("a/b", "a/c")},
			[]string{"Normal Programmed", "Warning UnknownAnnotation, Warning MisspeltAnnotation", "", "Warning UnknownAnnotation"},
		},
		"while the cloud fails": {
			[]Pass{failed, failed}, []string{"Warning UnknownAnnotation, Warning CloudUnavailable", ""},
		},
	} {
		if diff := cmp.Diff(test.want, told(test.passes...)); diff != "" {
			t.Errorf("%s: events of each pass (-want +got):\n%s", name, diff)
		}
	}
	e := Events(nil, Conditions(nil, 1, withUnknown(Pass{}, "a/b")))
	if len(e) == 0 || e[0].Type != corev1.EventTypeWarning || !strings.Contains(e[0].Message, "a/b (did you mean a/b-known?)") {
		t.Errorf("%+v", e)
	}
}
