// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubernetes

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// setFamilies sets the IP families of a Service and gives up what it no longer requests, as kube-apiserver does with ClusterIPs
// of both families (initIPFamilyFields in pkg/registry/core/service/storage/alloc.go, and the validation that it calls). Old is
// the Service before, or one without families. It says what is wrong; "" for nothing.
func setFamilies(s, old *corev1.Service) string {
	spec, before := &s.Spec, old.Spec
	if spec.ClusterIP == "" && len(spec.ClusterIPs) == 0 || spec.ClusterIP == "" && slices.Equal(spec.ClusterIPs, before.ClusterIPs) {
		spec.ClusterIP, spec.ClusterIPs = before.ClusterIP, slices.Clone(before.ClusterIPs)
	}
	if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = []string{spec.ClusterIP}
		if spec.ClusterIP == before.ClusterIP {
			spec.ClusterIPs = slices.Clone(before.ClusterIPs)
		}
	}
	if spec.IPFamilyPolicy == nil {
		spec.IPFamilyPolicy = ptr.To(ptr.Deref(before.IPFamilyPolicy, corev1.IPFamilyPolicySingleStack))
	}
	if why := checkFamilies(spec); why != "" {
		return why
	}
	single := *spec.IPFamilyPolicy == corev1.IPFamilyPolicySingleStack
	switch {
	case single && len(spec.ClusterIPs) == 2 && slices.Equal(spec.ClusterIPs, before.ClusterIPs):
		spec.ClusterIPs = spec.ClusterIPs[:1]
	case !single && len(spec.ClusterIPs) < len(before.ClusterIPs):
		return "ipFamilyPolicy: must be 'SingleStack' to release the secondary cluster IP"
	}
	switch {
	case single && len(spec.IPFamilies) == 2 && slices.Equal(spec.IPFamilies, before.IPFamilies):
		spec.IPFamilies = spec.IPFamilies[:1]
	case !single && len(spec.IPFamilies) < len(before.IPFamilies):
		return "ipFamilyPolicy: must be 'SingleStack' to release the secondary IP family"
	case single && (len(spec.IPFamilies) == 2 || len(spec.ClusterIPs) == 2):
		return "ipFamilyPolicy: must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families or cluster IPs are specified"
	}
	for _, ip := range spec.ClusterIPs[min(len(spec.IPFamilies), len(spec.ClusterIPs)):] {
		spec.IPFamilies = append(spec.IPFamilies, familyOf(ip))
	}
	if len(spec.IPFamilies) == 0 {
		spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
	}
	if !single && len(spec.IPFamilies) == 1 {
		other := corev1.IPv6Protocol
		if spec.IPFamilies[0] == other {
			other = corev1.IPv4Protocol
		}
		spec.IPFamilies = append(spec.IPFamilies, other)
	}
	return checkKept(spec, &before)
}

// checkFamilies says what is wrong with the families and addresses that a request has; "" for nothing.
func checkFamilies(spec *corev1.ServiceSpec) string {
	known := []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	policies := []corev1.IPFamilyPolicy{corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyPreferDualStack, corev1.IPFamilyPolicyRequireDualStack}
	if !slices.Contains(policies, *spec.IPFamilyPolicy) {
		return "ipFamilyPolicy: Unsupported value"
	}
	if spec.ClusterIP == "" && len(spec.ClusterIPs) > 0 || spec.ClusterIP != "" && spec.ClusterIPs[0] != spec.ClusterIP {
		return "clusterIPs: first value must match `clusterIP`"
	}
	for i, family := range spec.IPFamilies {
		switch {
		case !slices.Contains(known, family):
			return fmt.Sprintf("ipFamilies[%d]: Unsupported value", i)
		case slices.Contains(spec.IPFamilies[:i], family):
			return fmt.Sprintf("ipFamilies[%d]: Duplicate value", i)
		case i < len(spec.ClusterIPs) && familyOf(spec.ClusterIPs[i]) != family:
			return fmt.Sprintf("clusterIPs[%d]: expected an %s value as indicated by `ipFamilies[%d]`", i, family, i)
		}
	}
	if len(spec.ClusterIPs) > 2 || len(spec.ClusterIPs) == 2 && familyOf(spec.ClusterIPs[0]) == familyOf(spec.ClusterIPs[1]) {
		return "clusterIPs: may specify no more than one IP for each IP family"
	}
	return ""
}

// checkKept says which family or address changes that may not; "" for none.
func checkKept(spec, before *corev1.ServiceSpec) string {
	for i := range min(len(spec.IPFamilies), len(before.IPFamilies)) {
		if spec.IPFamilies[i] != before.IPFamilies[i] {
			return fmt.Sprintf("ipFamilies[%d]: may not change once set", i)
		}
	}
	for i := range min(len(spec.ClusterIPs), len(before.ClusterIPs)) {
		if spec.ClusterIPs[i] != before.ClusterIPs[i] {
			return fmt.Sprintf("clusterIPs[%d]: may not change once set", i)
		}
	}
	return ""
}

// familyOf returns the family of an address. What is no address counts as IPv4.
func familyOf(ip string) corev1.IPFamily {
	if a, err := netip.ParseAddr(ip); err == nil && a.Is6() {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}
