// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhoeverWritesToAServiceIsNamedWithWhatTheyWrote(t *testing.T) {
	again := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		conflict     Conflict
		says, silent []string
		// with is the other controller in the message.
		with string
	}{
		"on the Service": {
			conflict: Conflict{Overwritten: []string{"status.loadBalancer", "annotation x"}, Writer: `field manager "occm" at noon`, Again: again},
			says: []string{"overwritten on the Service: status.loadBalancer, annotation x, last by field manager \"occm\" at noon.",
				"--controllers=*,-service", "tries again at 2026-11-21T12:00:00Z, or when the Service changes"},
			silent: []string{"changed in the cloud"}, with: `field manager "occm"`,
		},
		"by an unknown client": {
			conflict: Conflict{Overwritten: []string{"status.loadBalancer"}}, says: []string{"status.loadBalancer."}, silent: []string{"last by"},
		},
		"in the cloud": {
			conflict: Conflict{Undone: []string{"open port TCP/80"}}, says: []string{"changed in the cloud; to repair it: open port TCP/80."}, silent: []string{"overwritten on the Service"},
		},
		"all over": {
			conflict: Conflict{Overwritten: []string{"a", "b", "c", "d", "e", "f"}, Undone: []string{"x"}}, says: []string{"a, b, c, d, e, ...; changed in the cloud"},
			silent: []string{"f;"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := test.conflict.Condition(3)
			if c.Type != Programmed || c.Status != metav1.ConditionFalse || c.Reason != ReasonConflictingController || c.ObservedGeneration != 3 {
				t.Errorf("got %+v", c)
			}
			for _, text := range test.says {
				if !strings.Contains(c.Message, text) {
					t.Errorf("it does not say %q: %s", text, c.Message)
				}
			}
			for _, text := range test.silent {
				if strings.Contains(c.Message, text) {
					t.Errorf("it says %q: %s", text, c.Message)
				}
			}
			if with := ConflictingWriter(c.Message); with != test.with {
				t.Errorf("the other controller is %q, want %q", with, test.with)
			}
			if e := Events(after(done()), []metav1.Condition{c}); len(e) != 1 || e[0].Type != corev1.EventTypeWarning {
				t.Errorf("events: %+v", e)
			}
		})
	}
	e := Overwritten([]string{"status.loadBalancer"}, "kubectl")
	if e.Type != corev1.EventTypeWarning || e.Reason != ReasonConflictingWrite || !strings.Contains(e.Message, "status.loadBalancer, last by kubectl. Only one") {
		t.Errorf("the event of one write: %+v", e)
	}
}
