// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"regexp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonConflictingController is that another controller keeps changing the Service or its cloud
// objects, and kube-octavia has stopped writing to them.
const ReasonConflictingController = "ConflictingController"

// Conflict describes the writes of another controller that conflict with those of kube-octavia.
type Conflict struct {
	// Overwritten are the fields of the Service that were overwritten. Undone are the
	// operations that would repair what was changed in the cloud.
	Overwritten, Undone []string
	// Writer is the last writer to the Service, or "" if it is unknown.
	Writer string
	// Again is the time of the next attempt.
	Again time.Time
}

// mostNamed limits how many items of a list a message names.
const mostNamed = 5

// Condition returns the condition Programmed for a Service that kube-octavia has stopped writing to.
func (c Conflict) Condition(generation int64) metav1.Condition {
	return metav1.Condition{Type: Programmed, Status: metav1.ConditionFalse, Reason: ReasonConflictingController,
		ObservedGeneration: generation, Message: shorten(c.message(), longestMessage)}
}

func (c Conflict) message() string {
	var parts []string
	if len(c.Overwritten) > 0 {
		text := "overwritten on the Service: " + named(c.Overwritten)
		if c.Writer != "" {
			text += ", last by " + c.Writer
		}
		parts = append(parts, text)
	}
	if len(c.Undone) > 0 {
		parts = append(parts, "changed in the cloud; to repair it: "+named(c.Undone))
	}
	return "another controller keeps changing this Service or its cloud objects, so kube-octavia has stopped writing to them: " + strings.Join(parts, "; ") + ". " + onlyOne + ". kube-octavia tries again at " +
		c.Again.UTC().Format(time.RFC3339) + ", or when the Service changes"
}

// writer finds the last writer in a message of Conflict.
var writer = regexp.MustCompile(`, last by (field manager "[^"]+")`)

// ConflictingWriter returns the other controller that the message of a condition with reason ConflictingController names,
// or "".
func ConflictingWriter(message string) string {
	if m := writer.FindStringSubmatch(message); m != nil {
		return m[1]
	}
	return ""
}

func named(all []string) string {
	if len(all) > mostNamed {
		all = append(all[:mostNamed:mostNamed], "...")
	}
	return strings.Join(all, ", ")
}

// onlyOne tells the user how to end the conflict.
const onlyOne = "Only one controller may serve a Service: start openstack-cloud-controller-manager with --controllers=*,-service, " +
	"or give the Service a spec.loadBalancerClass that only one controller serves. No tool may replace the whole Service: that removes the fields that controllers write"

// ReasonConflictingWrite is that another client wrote to fields of the Service that kube-octavia manages.
const ReasonConflictingWrite = "ConflictingWrite"

// Overwritten is the event for fields that another client wrote to; writer is that client, or "".
func Overwritten(marks []string, writer string) Event {
	text := "another client changed fields of this Service that only kube-octavia may write; kube-octavia restores them: " + named(marks)
	if writer != "" {
		text += ", last by " + writer
	}
	return Event{Type: corev1.EventTypeWarning, Reason: ReasonConflictingWrite, Message: Note(text + ". " + onlyOne)}
}
