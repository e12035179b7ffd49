// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// limit is how long a gate may be missing after all containers are ready: a cloud that does not work must not
// block a rollout forever.
const limit = 5 * time.Minute

// recheck is the longest time between two looks at a Pod that waits: no event of the Pod shows that its Service
// has changed.
const recheck = 15 * time.Second

// The reasons of the condition of a gate, which is never set to anything but True.
const (
	// ReasonTakesTraffic: the member of the Pod takes traffic.
	ReasonTakesTraffic = "TakesTraffic"
	// ReasonTimedOut: the member did not take traffic in time.
	ReasonTimedOut = "TimedOut"
	// ReasonNotApplicable: the Service requests no load balancer with Pods as members.
	ReasonNotApplicable = "NotApplicable"
)

// outcome is what a gate is set to: True for this reason. Without a reason it still waits.
type outcome struct{ reason, message string }

// target is what is known about the Service that a gate names.
type target struct {
	name string
	// service is nil if there is no such Service.
	service *corev1.Service
	// serves reports whether this controller serves it, and pods whether it requests Pods as members.
	serves, pods bool
	// others reports whether another controller of this kind has claimed it.
	others bool
}

// notApplicable says why the Service requests no load balancer with the Pod as a member, or "". A Service of type
// LoadBalancer that this controller does not serve may be that of another one, and so may any that is claimed.
func (t target) notApplicable() string {
	switch s := t.service; {
	case s == nil:
		return fmt.Sprintf("there is no Service %s in the namespace", t.name)
	case s.DeletionTimestamp != nil:
		return fmt.Sprintf("Service %s is being deleted", t.name)
	case !t.serves && !t.others && s.Spec.Type != corev1.ServiceTypeLoadBalancer:
		return fmt.Sprintf("Service %s is not of type LoadBalancer", t.name)
	case t.serves && !t.pods:
		return fmt.Sprintf("Service %s requests nodes as members of its load balancer, not Pods", t.name)
	}
	return ""
}

// judge decides about a gate whose member is not known to take traffic, when the Pod may wait for that long.
// Nothing is decided before all containers are ready: until then the gate has no effect, and the Service may be
// created or changed.
func judge(t target, left time.Duration) outcome {
	if why := t.notApplicable(); why != "" {
		return outcome{ReasonNotApplicable, why}
	}
	if left > 0 {
		return outcome{}
	}
	return outcome{ReasonTimedOut, fmt.Sprintf("the Pod did not become a member that takes traffic in the load balancer of Service %s "+
		"within %v; it becomes ready anyway", t.name, limit)}
}

// patchOf returns a strategic merge patch of the one condition, for this very Pod: another one may have its name.
func patchOf(pod *corev1.Pod, service string, o outcome, now time.Time) ([]byte, error) {
	condition := map[string]any{
		"type": Gate(service), "status": corev1.ConditionTrue, "reason": o.reason, "message": o.message, "lastTransitionTime": metav1.NewTime(now),
	}
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	})
}
