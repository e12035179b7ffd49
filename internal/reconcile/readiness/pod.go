// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package readiness sets the readiness gates of Pods: a Pod becomes ready only when its member in the load
// balancer of its Service takes traffic. It reads Pods from the cache of the manager and patches only the
// conditions of its gates.
package readiness

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
)

// Prefix begins the condition type of a gate; the name of a Service in the namespace of the Pod follows.
const Prefix = "kube-octavia.io/"

// Gates are processed only in namespaces with the label NamespaceLabel and the value Enabled.
const (
	NamespaceLabel = "kube-octavia.io/readiness-gates"
	Enabled        = "enabled"
)

// notReady is the reason that the kubelet gives to condition Ready when all containers are ready and only
// readiness gates are missing.
const notReady = "ReadinessGatesNotReady"

// Gate returns the condition type of the gate for a Service.
func Gate(service string) corev1.PodConditionType { return corev1.PodConditionType(Prefix + service) }

// Services returns the names of the Services that gates of the Pod name, in their order.
func Services(pod *corev1.Pod) []string {
	var names []string
	for _, g := range pod.Spec.ReadinessGates {
		if name, ours := strings.CutPrefix(string(g.ConditionType), Prefix); ours {
			names = append(names, name)
		}
	}
	return names
}

// Slim drops everything of a Pod that this package does not read: there may be very many Pods, and most have no
// gate.
func Slim(pod *corev1.Pod) {
	slim := corev1.Pod{TypeMeta: pod.TypeMeta}
	slim.Namespace, slim.Name, slim.UID, slim.ResourceVersion = pod.Namespace, pod.Name, pod.UID, pod.ResourceVersion
	slim.DeletionTimestamp = pod.DeletionTimestamp
	if len(Services(pod)) > 0 {
		slim.Spec.ReadinessGates, slim.Status.PodIPs = pod.Spec.ReadinessGates, pod.Status.PodIPs
		for _, c := range pod.Status.Conditions {
			slim.Status.Conditions = append(slim.Status.Conditions,
				corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime})
		}
	}
	*pod = slim
}

// condition returns the condition of the type, or nil.
func condition(pod *corev1.Pod, of corev1.PodConditionType) *corev1.PodCondition {
	i := slices.IndexFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == of })
	if i < 0 {
		return nil
	}
	return &pod.Status.Conditions[i]
}

func isTrue(pod *corev1.Pod, of corev1.PodConditionType) bool {
	c := condition(pod, of)
	return c != nil && c.Status == corev1.ConditionTrue
}

// waiting returns the Services for whose gates the Pod waits. A Pod that is being deleted waits for none.
func waiting(pod *corev1.Pod) []string {
	if pod.DeletionTimestamp != nil {
		return nil
	}
	return slices.DeleteFunc(Services(pod), func(service string) bool { return isTrue(pod, Gate(service)) })
}

// Gated returns the addresses of a Pod with a gate for the Service whose endpoints count as ready, although its
// EndpointSlice may say that they are not: without its member the Pod would never become ready. That is so while
// only gates of load balancers are missing, and then until the EndpointSlice shows that the Pod is ready:
// otherwise the member would be removed for a moment between the two. Waits reports whether the gate for this
// Service is still missing.
//
// Several gates of this kind do not wait for each other. Gates of other controllers come first.
func Gated(pod *corev1.Pod, service string) (addresses []netip.Addr, waits bool) {
	ready := condition(pod, corev1.PodReady)
	if ready == nil || pod.DeletionTimestamp != nil || !slices.Contains(Services(pod), service) {
		return nil, false
	}
	if ready.Status != corev1.ConditionTrue && (ready.Reason != notReady || !othersTrue(pod)) {
		return nil, false
	}
	for _, ip := range pod.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			addresses = append(addresses, address)
		}
	}
	return addresses, !isTrue(pod, Gate(service))
}

// changed returns the Services of which other addresses of the Pod count as ready than before. After is nil if the Pod
// is gone.
func changed(before, after *corev1.Pod) []string {
	return slices.DeleteFunc(Services(before), func(service string) bool {
		was, _ := Gated(before, service)
		if after == nil {
			return len(was) == 0
		}
		is, _ := Gated(after, service)
		return slices.Equal(was, is)
	})
}

// othersTrue reports whether all gates of other controllers are True.
func othersTrue(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(pod.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool {
		return !strings.HasPrefix(string(g.ConditionType), Prefix) && !isTrue(pod, g.ConditionType)
	})
}

// takesTraffic reports whether the Pod is a member, and each of its members takes traffic. A member with the
// name of the Pod and another address is that of an earlier Pod.
func takesTraffic(pod *corev1.Pod, taking map[decide.PodMember]bool) bool {
	member := false
	for _, ip := range pod.Status.PodIPs {
		takes, is := taking[decide.PodMember{Pod: pod.Name, Address: ip.IP}]
		if is && !takes {
			return false
		}
		member = member || is
	}
	return member
}

// timeLeft returns how long the gates of the Pod may still be missing: the limit counts from when all containers
// became ready, and never from before started. Counts is false while a container is not ready.
func timeLeft(pod *corev1.Pod, started, now time.Time) (left time.Duration, counts bool) {
	c := condition(pod, corev1.ContainersReady)
	if c == nil || c.Status != corev1.ConditionTrue {
		return 0, false
	}
	since := c.LastTransitionTime.Time
	if since.Before(started) {
		since = started
	}
	return since.Add(limit).Sub(now), true
}
