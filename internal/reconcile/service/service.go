// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package service adapts Services: it makes of a Service what the passes over owners of load balancers work with.
//
// File service.go is pure.
package service

import (
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Kind has what Services mean beside their own content: which of them this controller serves, and the operator's
// settings.
type Kind struct {
	Policy claim.Policy
	Config config.LoadBalancer
}

// Of returns the Service as the owner of a load balancer. The result refers to parts of the Service, which must not be
// changed after that.
func (k Kind) Of(s *corev1.Service) claim.Owner {
	o := k.state(s)
	o.Spec = Spec(s, o.Settings(k.Config))
	return o
}

// state returns the owner without its Spec.
func (k Kind) state(s *corev1.Service) claim.Owner {
	balancer, handles := s.Spec.Type == corev1.ServiceTypeLoadBalancer, k.Policy.Handles(s)
	marked := s.Annotations[annotation.Managed] != ""

	return claim.Owner{
		Key:            owner.ServiceKey(s.Namespace, s.Name),
		UID:            s.UID,
		Created:        s.CreationTimestamp,
		Generation:     s.Generation,
		Deleting:       s.DeletionTimestamp != nil,
		Identity:       k.Policy.Owner(s),
		Serves:         k.Policy.Serves(s),
		Leaves:         k.Policy.Leaves(s),
		Claimed:        k.Policy.Claimed(s),
		Unclaimed:      claim.Unclaimed(s),
		MayOwn:         k.Policy.MayOwn(s),
		LostMark:       claim.LostMark(s),
		Copied:         claim.Copied(s),
		Original:       claim.Original(s),
		Mark:           k.Policy.Mark(s),
		Publishes:      balancer && handles,
		OfAnotherClass: balancer && !handles,
		KeepsFinalizer: balancer && !handles && s.Spec.LoadBalancerClass != nil && k.Policy.ClusterIPs == nil,
		NeverClaimed:   !balancer && !marked && !controllerutil.ContainsFinalizer(s, claim.Finalizer) || k.Policy.Drain && k.Policy.Reports(s),
		AtClusterIP:    k.Policy.ConfigOf(s, config.LoadBalancer{}).AtClusterIP,
		WasAtClusterIP: k.Policy.WasAtClusterIP(s),
		FromKuryr:      k.Policy.FromKuryr(s),
		Group:          k.groupOf(s),
		Recorded:       k.recorded(s),
	}
}

// Spec returns what the Service requests. The defaults are the operator's settings for it: see claim.Owner.Settings.
func Spec(s *corev1.Service, defaults config.LoadBalancer) *desired.Spec {
	spec := desired.SpecOf(s.Annotations, defaults)
	spec.Ports, spec.Backend = s.Spec.Ports, s.Name
	spec.Families = s.Spec.IPFamilies
	policy := s.Spec.IPFamilyPolicy
	spec.RequireDualStack = policy != nil && *policy == corev1.IPFamilyPolicyRequireDualStack
	spec.SourceRanges = s.Spec.LoadBalancerSourceRanges
	spec.SessionAffinity = s.Spec.SessionAffinity == corev1.ServiceAffinityClientIP
	affinity := s.Spec.SessionAffinityConfig
	if affinity != nil && affinity.ClientIP != nil && affinity.ClientIP.TimeoutSeconds != nil {
		spec.AffinityTimeoutSeconds = int(*affinity.ClientIP.TimeoutSeconds)
	}
	spec.LoadBalancerIP = s.Spec.LoadBalancerIP
	spec.ClusterIPs = clusterIPs(s)
	spec.LocalTraffic = s.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	spec.HealthCheckNodePort = int(s.Spec.HealthCheckNodePort)
	return spec
}

// clusterIPs returns the Service's ClusterIPs by family.
func clusterIPs(s *corev1.Service) map[corev1.IPFamily]netip.Addr {
	all := map[corev1.IPFamily]netip.Addr{}
	for _, text := range append([]string{s.Spec.ClusterIP}, s.Spec.ClusterIPs...) {
		if address, err := netip.ParseAddr(text); err == nil {
			all[desired.FamilyOf(address)] = address
		}
	}
	return all
}

// recorded returns what controllers have recorded on the Service.
func (k Kind) recorded(s *corev1.Service) claim.Recorded {
	accepted := meta.FindStatusCondition(s.Status.Conditions, status.Accepted)
	return claim.Recorded{
		LoadBalancerID: loadBalancerID(s),
		Address:        s.Annotations[annotation.LoadBalancerAddress],
		Ingress:        s.Status.LoadBalancer.Ingress,
		VIPAddress:     s.Annotations[annotation.VIPAddress],
		Note:           s.Annotations[annotation.Programmed],
		Mark:           s.Annotations[annotation.Managed],
		Annotations:    claim.RecordedIn(s.Annotations),
		Finalizer:      controllerutil.ContainsFinalizer(s, claim.Finalizer),
		Conditions:     s.Status.Conditions,
		Refused:        accepted != nil && accepted.Status == metav1.ConditionFalse && desired.Refuses(accepted.Reason),
		Served:         k.Policy.DefaultClass && status.Served(s.Status.Conditions),
	}
}

// loadBalancerID returns the id of the load balancer that is on the Service, or "".
func loadBalancerID(s *corev1.Service) string {
	return strings.TrimSpace(s.Annotations[annotation.LoadBalancerID])
}

// groupOf returns the name of the Service's group, or "". It contains the namespace unless groups span namespaces.
func (k Kind) groupOf(s *corev1.Service) string {
	name := annotation.Value(s.Annotations, annotation.LoadBalancerGroup)
	switch {
	case name == "" || !k.Policy.Serves(s):
		return ""
	case k.Config.SharedScope == config.ShareInCluster || k.Config.SharedScope == config.ShareAny:
		return name
	}
	return s.Namespace + "/" + name
}
