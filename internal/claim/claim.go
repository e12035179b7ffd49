// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim decides which Services are this controller's, from the Services
// alone: by type, class, finalizer and the mark that the controller sets. It reads
// and writes nothing. It may import annotation and lb.
package claim

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

// Finalizer is the one that Kubernetes defines for load balancers of Services
// (KEP-980), so that a Service can change hands between controllers.
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// Policy says which Services belong to this controller. It is plain data.
type Policy struct {
	// ClusterName is --cluster-name, ClusterUID the uid of the kube-system
	// namespace.
	ClusterName, ClusterUID string
	// LoadBalancerClass is the spec.loadBalancerClass that is handled;
	// DefaultClass is whether Services without a class are handled, too.
	LoadBalancerClass string
	DefaultClass      bool
}

// Owner returns the Service as the owner of objects in the cloud.
func (p Policy) Owner(service *corev1.Service) lb.Owner {
	return lb.Owner{
		ClusterName: p.ClusterName,
		ClusterUID:  p.ClusterUID,
		Namespace:   service.Namespace,
		Name:        service.Name,
		ServiceUID:  string(service.UID),
	}
}

// Handles reports whether the Service's class is one that is handled here.
func (p Policy) Handles(service *corev1.Service) bool {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return *class == p.LoadBalancerClass
	}
	return p.DefaultClass
}

// Serves reports whether the Service is to have a load balancer from here: it is
// of type LoadBalancer, of a class that is handled, and not being deleted.
func (p Policy) Serves(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.DeletionTimestamp == nil && p.Handles(service)
}

// Leaves reports whether the Service is not to be served any more and may still
// have something in the cloud. The finalizer alone does not prove it: Kubernetes
// defines it, and controllers of other classes set it too. The mark holds the
// Service's uid, so that one copied from another Service proves nothing, and the
// class, since a controller of another class may be of this project, too.
//
// A LoadBalancer without a class that has the mark, but is not handled here any more
// because an operator said so, is left as it is: another controller takes it over,
// with its load balancer. When it is deleted, it is released here.
func (p Policy) Leaves(service *corev1.Service) bool {
	balancer := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case p.Serves(service) || !controllerutil.ContainsFinalizer(service, Finalizer):
		return false
	case service.Annotations[annotation.Managed] == p.Mark(service):
		return !balancer || service.DeletionTimestamp != nil || service.Spec.LoadBalancerClass != nil
	case balancer:
		return p.Handles(service)
	}
	// A Service of another type has lost its class. One that
	// openstack-cloud-controller-manager left has the load balancer's id.
	return p.DefaultClass && service.Annotations[annotation.LoadBalancerID] != "" && !markedByAnother(service)
}

// Mark is the value of annotation Managed on a Service that has or may have
// something in the cloud.
func (p Policy) Mark(service *corev1.Service) string {
	return string(service.UID) + " " + p.LoadBalancerClass
}

// Claimed reports whether the Service has the finalizer and this controller's mark.
func (p Policy) Claimed(service *corev1.Service) bool {
	return controllerutil.ContainsFinalizer(service, Finalizer) && service.Annotations[annotation.Managed] == p.Mark(service)
}

// markedByAnother reports whether the Service has the mark of a controller of another
// class, which is to release it.
func markedByAnother(service *corev1.Service) bool {
	return strings.HasPrefix(service.Annotations[annotation.Managed], string(service.UID)+" ")
}

// LostMark reports whether the Service is no LoadBalancer any more, has the
// finalizer, and has no controller's mark: a client that sets all annotations
// removed it.
func LostMark(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeLoadBalancer && controllerutil.ContainsFinalizer(service, Finalizer) &&
		service.Annotations[annotation.Managed] == ""
}

// Unclaimed reports whether the Service lacks the finalizer or any controller's mark.
func Unclaimed(service *corev1.Service) bool {
	return !controllerutil.ContainsFinalizer(service, Finalizer) || service.Annotations[annotation.Managed] == ""
}

// MayOwn reports whether a Service may have something in the cloud, whichever
// controller serves it. It has the finalizer, which is set before the first create and
// removed after the last deletion, and a mark that leads to its objects; or it is a
// LoadBalancer, which gets both back when they were removed.
func MayOwn(service *corev1.Service) bool {
	known := service.Annotations[annotation.Managed] != "" || service.Annotations[annotation.LoadBalancerID] != ""
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer || known && controllerutil.ContainsFinalizer(service, Finalizer)
}

// Adoption is what is done about what openstack-cloud-controller-manager made.
type Adoption string

const (
	// AdoptTag takes a load balancer over: our tags are added to it, and from then on
	// it is as one that we made.
	AdoptTag Adoption = "tag"
	// AdoptObserve only looks at Services that were not taken over yet, and at load
	// balancers that do not bear our tags, and says what would be done: nothing is
	// written in the cloud, and on Services nothing but conditions.
	AdoptObserve Adoption = "observe"
)
