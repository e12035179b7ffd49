// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// ClusterIPs selects the Services that get a load balancer at their ClusterIP (cluster-ip mode).
type ClusterIPs struct {
	subnetID, provider string
	selector           labels.Selector
	namespaces         []string // empty for all
}

// NewClusterIPs returns what the section [ClusterIP] selects, or nil if the mode is not enabled.
func NewClusterIPs(c config.ClusterIP) (*ClusterIPs, error) {
	if !c.Enabled {
		return nil, nil
	}
	selector, err := config.ParseSelector(c.Selector)
	if err != nil {
		return nil, fmt.Errorf("[ClusterIP] selector: %w", err)
	}
	namespaces, err := config.ParseNamespaces(c.Namespaces)
	if err != nil {
		return nil, fmt.Errorf("[ClusterIP] namespaces: %w", err)
	}
	return &ClusterIPs{subnetID: c.ServiceSubnetID, provider: c.Provider, selector: selector, namespaces: namespaces}, nil
}

// AtClusterIP reports whether the VIP of the Service's load balancer is its ClusterIP: it has one, and is
// selected. The class does not matter: only Services of type LoadBalancer have one.
func (p Policy) AtClusterIP(service *corev1.Service) bool {
	c := p.ClusterIPs
	if c == nil || service.Spec.Type == corev1.ServiceTypeExternalName {
		return false
	}
	if _, err := netip.ParseAddr(service.Spec.ClusterIP); err != nil {
		return false // a headless Service has "None"
	}
	return (len(c.namespaces) == 0 || slices.Contains(c.namespaces, service.Namespace)) && c.selector.Matches(labels.Set(service.Labels))
}

// onlyAtClusterIP reports whether clients reached the Service's load balancer at its ClusterIP, and not at a floating IP.
func (p Policy) onlyAtClusterIP(service *corev1.Service) bool {
	return p.AtClusterIP(service) && service.Annotations[annotation.LoadBalancerAddress] == service.Spec.ClusterIP
}

// WasAtClusterIP reports whether the Service had a load balancer at its ClusterIP: it was published, or is being replaced.
func (p Policy) WasAtClusterIP(service *corev1.Service) bool {
	replaced, _, _ := strings.Cut(service.Annotations[annotation.VIPAddress], " ")
	return p.Claimed(service) && (p.onlyAtClusterIP(service) || p.AtClusterIP(service) && replaced == service.Spec.ClusterIP)
}

// whyNotAtClusterIP is WhyNotServed in cluster-ip mode, for a Service that is not of type LoadBalancer.
func (p Policy) whyNotAtClusterIP(service *corev1.Service) string {
	switch {
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return "its type is ExternalName: it has no ClusterIP"
	case service.Spec.ClusterIP == corev1.ClusterIPNone:
		return "it is headless: it has no ClusterIP"
	case service.Spec.ClusterIP == "":
		return "it has no ClusterIP yet"
	case p.AtClusterIP(service):
		return "it is being deleted, and has no load balancer finalizer"
	}
	return fmt.Sprintf("its type is %s, and [ClusterIP] of cloud.conf does not select it", service.Spec.Type)
}

// InServiceSubnet reports whether the subnet is that of the ClusterIPs.
func (p Policy) InServiceSubnet(subnetID string) bool {
	return p.ClusterIPs != nil && subnetID == p.ClusterIPs.subnetID
}

// IsAPIService reports whether it is the Service of the API servers. If it is deleted, they create it again within seconds,
// at the same ClusterIP, which is the first address of their Service range.
func IsAPIService(service *corev1.Service) bool {
	return service.Namespace == metav1.NamespaceDefault && service.Name == "kubernetes"
}

// ownerUID returns the uid that identifies the Service in the cloud. That of default/kubernetes is made from what it has
// again after it was deleted, so that its load balancer is its own again.
func (p Policy) ownerUID(service *corev1.Service) string {
	if ip := service.Spec.ClusterIP; ip != "" && IsAPIService(service) {
		return uuid.NewSHA1(uuid.NameSpaceURL, []byte(p.ClusterUID+"/default/kubernetes/"+ip)).String()
	}
	return string(service.UID)
}

// returns reports whether the Service is being deleted, and its load balancer stays, because nothing would reach the API
// server without it until the Service is created again and has another one.
func (p Policy) returns(service *corev1.Service) bool {
	return service.DeletionTimestamp != nil && IsAPIService(service) && p.AtClusterIP(service) && p.selects(service)
}

// KuryrFinalizer is the finalizer that Kuryr-Kubernetes set on the Services that it served.
const KuryrFinalizer = "kuryr.openstack.org/service-finalizer"

// FromKuryr reports whether the load balancer at the Service's ClusterIP may have been created for Kuryr: by Kuryr itself,
// or, that of default/kubernetes, by a person. One that was taken over keeps its name, and after a loss of the annotations
// nothing else leads to it.
func (p Policy) FromKuryr(service *corev1.Service) bool {
	return p.AtClusterIP(service) && (IsAPIService(service) || hasFinalizer(service) || controllerutil.ContainsFinalizer(service, KuryrFinalizer))
}

// ConfigOf returns the operator's settings for the Service. Cluster-ip mode is nothing but other settings.
func (p Policy) ConfigOf(service *corev1.Service, c config.LoadBalancer) config.LoadBalancer {
	if p.AtClusterIP(service) {
		c.AtClusterIP = &config.AtClusterIP{
			SubnetID: p.ClusterIPs.subnetID, Provider: p.ClusterIPs.provider,
			Internal: service.Spec.Type != corev1.ServiceTypeLoadBalancer,
		}
	}
	return c
}
