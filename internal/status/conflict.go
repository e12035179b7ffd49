// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ReasonConflictingController is that another controller writes to what the Service has again
// and again, and work on it has stopped.
const ReasonConflictingController = "ConflictingController"

// Conflict is what is known of another controller that writes to what a Service has.
type Conflict struct {
	// Overwritten are the fields of the Service that were written over, and Undone is
	// what it would take to make up for what was changed in the cloud.
	Overwritten, Undone []string
	// Writer is who wrote to the Service last, or "".
	Writer string
	// Again is when work is taken up again.
	Again time.Time
}

// mostNamed bounds how much of a kind is named: the rest says nothing more.
const mostNamed = 5

// Condition is Programmed for a Service on which work has stopped.
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
		parts = append(parts, "undone in the cloud: "+named(c.Undone))
	}
	return "another controller writes to what this Service has, again and again, and kube-octavia has stopped work on it: " + strings.Join(parts, "; ") + ". " + onlyOne + ". kube-octavia tries again at " +
		c.Again.UTC().Format(time.RFC3339) + ", and when the Service is changed"
}

func named(all []string) string {
	if len(all) > mostNamed {
		all = append(all[:mostNamed:mostNamed], "...")
	}
	return strings.Join(all, ", ")
}

// onlyOne is the way out.
const onlyOne = "One controller only may serve a Service: start openstack-cloud-controller-manager with --controllers=*,-service, " +
	"or give the Service a spec.loadBalancerClass that only one controller serves; and no tool may replace the whole Service, since what controllers wrote is lost then"

// ReasonOverwritten is that another client wrote to fields of the Service that only the
// controller writes.
const ReasonOverwritten = "Overwritten"

// Overwritten is the event about fields that another client wrote to; writer is who, or "".
func Overwritten(fields []string, writer string) Event {
	text := "another client wrote to fields of this Service that only kube-octavia writes; they are repaired: " + named(fields)
	if writer != "" {
		text += ", last by " + writer
	}
	return Event{Type: corev1.EventTypeWarning, Reason: ReasonOverwritten, Message: shorten(text+". "+onlyOne, longestEvent)}
}
