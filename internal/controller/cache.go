// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// CacheOptions returns the options of the caches of Services, nodes and EndpointSlices, and of Pods and namespaces if
// readiness gates are set. The caches hold all objects of the cluster, so they drop fields that nothing reads. That is
// safe: Services are written by patches with only the changed fields. ClusterIPs and labels of Services matter only in
// cluster-ip mode, but after the mode was disabled, the load balancer of default/kubernetes is found by its ClusterIP.
func CacheOptions(mode config.ClusterIP) cache.Options {
	slimService := slimService
	if mode.Enabled {
		slimService = slimServiceAtClusterIP
	}
	return cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Service{}:            {Transform: transform(slimService)},
			&corev1.Node{}:               {Transform: transform(slimNode)},
			&discoveryv1.EndpointSlice{}: {Transform: transform(slimSlice)},
			// These two are read only with readiness gates.
			&corev1.Pod{}: {Transform: transform(readiness.Slim)},
			&corev1.Namespace{}: {
				Label:     labels.SelectorFromSet(labels.Set{readiness.NamespaceLabel: readiness.Enabled}),
				Transform: transform(slimNamespace),
			},
		},
	}
}

// transform adapts a function for one kind of object to the cache, which may pass other kinds.
func transform[T any](slim func(*T)) func(any) (any, error) {
	return func(object any) (any, error) {
		if one, ok := object.(*T); ok {
			slim(one)
		}
		return object, nil
	}
}

// slimService drops the annotation of kubectl apply, often most of the Service, and fields about
// Pods.
func slimService(s *corev1.Service) {
	s.ManagedFields, s.Labels, s.OwnerReferences = nil, nil, nil
	delete(s.Annotations, corev1.LastAppliedConfigAnnotation)
	s.Spec.Selector, s.Spec.ClusterIPs, s.Spec.ExternalIPs = nil, nil, nil
	if !claim.IsAPIService(s) {
		s.Spec.ClusterIP = ""
	}
}

// slimServiceAtClusterIP is slimService for cluster-ip mode.
func slimServiceAtClusterIP(s *corev1.Service) {
	labels, clusterIP, clusterIPs := s.Labels, s.Spec.ClusterIP, s.Spec.ClusterIPs
	slimService(s)
	s.Labels, s.Spec.ClusterIP, s.Spec.ClusterIPs = labels, clusterIP, clusterIPs
}

// slimNode keeps only what determines members. Most of the size of a node is its list of images.
func slimNode(n *corev1.Node) {
	n.ManagedFields, n.Annotations, n.OwnerReferences = nil, nil, nil
	n.Spec = corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable}
	n.Status = corev1.NodeStatus{Addresses: n.Status.Addresses}
}

// slimSlice keeps which nodes have endpoints of which Service, the addresses and ports of endpoints, and which
// controller writes the slice.
func slimSlice(s *discoveryv1.EndpointSlice) {
	s.ManagedFields, s.Annotations, s.OwnerReferences = nil, nil, nil
	maps.DeleteFunc(s.Labels, func(key, _ string) bool {
		return key != discoveryv1.LabelServiceName && key != discoveryv1.LabelManagedBy
	})
	for i, e := range s.Endpoints {
		slim := discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions, NodeName: e.NodeName}
		if e.TargetRef != nil {
			slim.TargetRef = &corev1.ObjectReference{Kind: e.TargetRef.Kind, Name: e.TargetRef.Name}
		}
		s.Endpoints[i] = slim
	}
	for i, p := range s.Ports {
		s.Ports[i] = discoveryv1.EndpointPort{Name: p.Name, Protocol: p.Protocol, Port: p.Port}
	}
}

// slimNamespace keeps the label by which a namespace opts in to readiness gates.
func slimNamespace(n *corev1.Namespace) {
	n.ManagedFields, n.Annotations, n.OwnerReferences = nil, nil, nil
	n.Labels = map[string]string{readiness.NamespaceLabel: n.Labels[readiness.NamespaceLabel]}
	n.Spec, n.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
}
