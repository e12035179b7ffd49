// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
)

// unhandled is Unhandled for the whole cluster.
func (s Source) unhandled(services []corev1.Service) string {
	return Unhandled(s.Finder.Policy, "the cluster", services)
}

// unclassedNames is the maximum number of Services without a class that are named.
const unclassedNames = 3

// Unclassed returns a text about the Services of type LoadBalancer that are not handled because they have no class, or
// "". A Service with another class is not meant for this controller, so it is not named.
func Unclassed(policy claim.Policy, services []corev1.Service) string {
	var names []string
	reason := ""
	for i := range services {
		service := &services[i]
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass == nil && !policy.Handles(service) && !policy.Leaves(service) {
			names, reason = append(names, service.Namespace+"/"+service.Name), policy.WhyNotServed(service)
		}
	}
	if len(names) == 0 {
		return ""
	}
	counted := "1 Service of type LoadBalancer is not handled: "
	if len(names) > 1 {
		counted = fmt.Sprintf("%d Services of type LoadBalancer are not handled: ", len(names))
	}
	more := ""
	if n := len(names) - unclassedNames; n > 0 {
		names, more = names[:unclassedNames], fmt.Sprintf(" and %d more", n)
	}
	return counted + strings.Join(names, ", ") + more + " (" + reason + ")"
}

// Unhandled returns a text that none of the Services in the place, a namespace or the cluster, is handled, and why
// those of type LoadBalancer are not. It returns "" if one is handled.
func Unhandled(policy claim.Policy, place string, services []corev1.Service) string {
	reasons := map[string]int{}
	for i := range services {
		service := &services[i]
		switch {
		case policy.Serves(service) || policy.Leaves(service):
			return ""
		case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
			reasons[policy.WhyNotServed(service)]++
		}
	}
	if len(reasons) == 0 {
		return fmt.Sprintf("there is no Service to handle in %s: none is of type LoadBalancer", place)
	}
	var counted []string
	for _, reason := range slices.Sorted(maps.Keys(reasons)) {
		counted = append(counted, fmt.Sprintf("%d of type LoadBalancer: %s", reasons[reason], reason))
	}
	return fmt.Sprintf("there is no Service to handle in %s; %s", place, strings.Join(counted, "; "))
}
