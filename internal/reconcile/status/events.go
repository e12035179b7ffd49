// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Event is an event of a Service, one line of `kubectl describe service`.
type Event struct {
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type            string
	Reason, Message string
}

// Note shortens a text to what the API takes as the note of an event.
func Note(text string) string { return shorten(text, longestEvent) }

// Events returns one event for each condition that changed its status or its
// reason, one for a change of the annotations that are unknown, and none for a pass that changed nothing.
func Events(before, after []metav1.Condition) []Event {
	var events []Event
	if e, tells := annotationsEvent(before, after); tells {
		events = append(events, e)
	}
	for _, kind := range []string{Accepted, Programmed} {
		old, now := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(after, kind)
		if now == nil || old != nil && old.Status == now.Status && old.Reason == now.Reason && !moreDrift(*old, *now) {
			continue
		}
		if kind == Accepted && old == nil && now.Reason == ReasonAccepted || now.Reason == ReasonNotAccepted {
			// The usual case, or a repetition of another event.
			continue
		}
		e := Event{Type: corev1.EventTypeNormal, Reason: now.Reason, Message: Note(now.Message)}
		if now.Status == metav1.ConditionFalse && !underway(now.Reason) || now.Reason == ReasonCertificateNotValid {
			e.Type = corev1.EventTypeWarning
		}
		events = append(events, e)
	}
	old, now := meta.FindStatusCondition(before, Serving), meta.FindStatusCondition(after, Serving)
	if now == nil || old != nil && old.Status == now.Status && old.Reason == now.Reason {
		return events
	}
	if e, tells := servingEvent(old, now); tells {
		events = append(events, e)
	}
	return events
}

// moreDrift reports whether the drift differs from the drift that was reported before.
func moreDrift(old, now metav1.Condition) bool {
	return now.Reason == ReasonDrifted && old.Message != now.Message
}

// The reasons of events that are not those of conditions.
const (
	// ReasonDriftRepaired: a change that another client made in the cloud was undone.
	ReasonDriftRepaired = "DriftRepaired"
	// ReasonLoadBalancerNotFound: the Service names a load balancer that does not exist, so another one is created.
	ReasonLoadBalancerNotFound = "LoadBalancerNotFound"
	// ReasonOrphanFound: an object has the uid of a Service that does not exist, or that no longer uses it.
	ReasonOrphanFound = "OrphanFound"
	// ReasonSecurityGroupNotAttached: the security group that admits load balancers cannot be
	// attached to a node.
	ReasonSecurityGroupNotAttached = "SecurityGroupNotAttached"
	// ReasonNoMemberAddress: a node has no address to which a load balancer could send.
	ReasonNoMemberAddress = "NoMemberAddress"
	// ReasonNodeNotInitialized: the server of a new Node was not found. ReasonNodeNotDeleted: a Node without a server is kept.
	ReasonNodeNotInitialized = "NodeNotInitialized"
	ReasonNodeNotDeleted     = "NodeNotDeleted"
	// ReasonServerNotFound: the server of a Node that is ready does not exist any more.
	ReasonServerNotFound = "ServerNotFound"
	// ReasonInvalidProviderID: the provider id of a Node names no server.
	ReasonInvalidProviderID = "InvalidProviderID"
	// ReasonReadinessGateTimedOut: a readiness gate was set although the member of the Pod does not take traffic.
	ReasonReadinessGateTimedOut = "ReadinessGateTimedOut"
	// ReasonOtherController: another controller serves the same Services. ReasonOtherControllerGone: it does not any more.
	ReasonOtherController     = "OtherController"
	ReasonOtherControllerGone = "OtherControllerGone"
	// ReasonOrphanDeleted: an orphan was deleted after the grace period.
	ReasonOrphanDeleted = "OrphanDeleted"
)

// Repaired is the event for operations that undid changes of another client.
func Repaired(ops []string) Event {
	return Event{Type: corev1.EventTypeNormal, Reason: ReasonDriftRepaired, Message: Note(
		"the cloud objects of this Service had been changed outside kube-octavia; repaired: " + strings.Join(ops, "; "))}
}

// NamedButMissing is the event for a Service that names a load balancer that does not exist: its manifest comes from another
// cluster or an old backup, or was mistyped, or another client has deleted the load balancer.
func NamedButMissing(id string) Event {
	return Event{Type: corev1.EventTypeWarning, Reason: ReasonLoadBalancerNotFound, Message: Note(fmt.Sprintf(
		"annotation %s names load balancer %q, which does not exist in this project; another one is created and the annotation is replaced. "+
			"If the Service is applied from a file, remove the annotation there", annotation.LoadBalancerID, id))}
}

func underway(reason string) bool {
	return reason == ReasonCreating || reason == ReasonUpdating || reason == ReasonDeleting || reason == ReasonWaitingForGroup || reason == ReasonReplacingOnChange
}
