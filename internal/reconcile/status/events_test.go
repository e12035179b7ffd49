// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// told are the type and reason of each event of a Service's life, one line a
// pass.
func told(passes ...Pass) []string {
	var lines []string
	var conditions []metav1.Condition
	for _, p := range passes {
		next := Conditions(conditions, 1, p)
		var events []string
		for _, e := range Events(conditions, next) {
			events = append(events, e.Type+" "+e.Reason)
		}
		lines = append(lines, strings.Join(events, ", "))
		conditions = next
	}
	return lines
}

// withProblem is the pass with a certificate that clients refuse.
func withProblem(p Pass) Pass {
	p.CertificateProblem = "it has expired"
	return p
}

func TestEventsTellALifeWithoutRepeatingThemselves(t *testing.T) {
	building := Pass{Observed: observed(lb.PendingCreate, 1)}
	opening := Pass{Observed: observed(lb.PendingUpdate, 1), Left: []diff.Op{closePort, closePort}}
	closing := Pass{Observed: observed(lb.PendingUpdate, 1), Left: []diff.Op{closePort}}
	follows := Pass{Observed: observed(lb.PendingUpdate, 1), Left: []diff.Op{members}}
	silent := Pass{Err: silence, Acceptance: Acceptance{Undecided: true}}
	other := Pass{Err: errors.New("another message of the same reason"), Acceptance: Acceptance{Undecided: true}}
	quota := Pass{Err: &openstack.Error{Class: openstack.Quota, Message: "no more"}}
	bad := Pass{Acceptance: Acceptance{Invalid: badAnnotation}, Observed: observed(lb.Active, 1)}
	worse := Pass{Acceptance: Acceptance{Invalid: &desired.Invalid{Reason: desired.ReasonUnsupported}}, Observed: observed(lb.Active, 1)}
	for name, test := range map[string]struct {
		passes []Pass
		want   []string
	}{
		"made, and looked at again": {
			[]Pass{building, building, done(), done()}, []string{"Normal Creating", "", "Normal Programmed", ""},
		},
		"clients refuse the certificate for a while": {
			[]Pass{withProblem(building), withProblem(done()), done(), withProblem(done()), bad},
			[]string{"Warning CertificateNotValid, Normal Creating", "Normal Programmed", "Normal Accepted", "Warning CertificateNotValid", "Warning InvalidAnnotation"},
		},
		"nodes come and go": {[]Pass{done(), follows, done(), follows}, []string{"Normal Programmed", "", "", ""}},
		"a port changes": {
			[]Pass{done(), opening, closing, done()}, []string{"Normal Programmed", "Normal Updating", "", "Normal Programmed"},
		},
		"the cloud fails for a while": {
			[]Pass{done(), silent, silent, other, done()},
			[]string{"Normal Programmed", "Warning CloudUnavailable", "", "", "Normal Programmed"},
		},
		"the failure changes": {
			[]Pass{building, silent, quota}, []string{"Normal Creating", "Warning CloudUnavailable", "Warning QuotaExceeded"},
		},
		"refused, then for something else, then right": {
			[]Pass{done(), bad, bad, worse, done()},
			[]string{"Normal Programmed", "Warning InvalidAnnotation", "", "Warning Unsupported", "Normal Accepted, Normal Programmed"},
		},
		"refused from the start":             {[]Pass{bad, bad}, []string{"Warning InvalidAnnotation", ""}},
		"refused, and then the cloud fails":  {[]Pass{bad, silent, bad}, []string{"Warning InvalidAnnotation", "Warning CloudUnavailable", ""}},
		"ERROR":                              {[]Pass{done(), {Observed: observed(lb.Error, 1)}}, []string{"Normal Programmed", "Warning LoadBalancerFailed"}},
		"parts not ready, and ready at last": {[]Pass{{Observed: observed(lb.Active, 1), Health: Health{Unready: "x"}}, done()}, []string{"Warning ChildrenNotActive", "Normal Programmed"}},
		"deleted":                            {[]Pass{done(), {Observed: observed(lb.PendingDelete, 1)}}, []string{"Normal Programmed", "Normal Deleting"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, told(test.passes...)); diff != "" {
				t.Errorf("events of each pass (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAnEventSaysWhatItsConditionSays(t *testing.T) {
	got := Events(nil, after(done()))
	want := []Event{{corev1.EventTypeNormal, ReasonProgrammed, "load balancer lb-1 serves 1 port at 203.0.113.7"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnEventIsNotLongerThanTheAPITakes(t *testing.T) {
	got := Events(nil, after(Pass{Err: errors.New(strings.Repeat("x", 3*longestEvent))}))
	if len(got) != 1 || len(got[0].Message) != longestEvent || !strings.HasSuffix(got[0].Message, " ...") {
		t.Errorf("got %d events: %v", len(got), got)
	}
}

func TestConditionsOfOthersAreNoEvents(t *testing.T) {
	others := append(after(done()), metav1.Condition{Type: "example.com/Ready", Status: metav1.ConditionFalse, Reason: "Bad"})
	if got := Events(after(done()), others); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}
