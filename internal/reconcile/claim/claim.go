// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim says what owners of load balancers are, how a kind of object in Kubernetes becomes one, and which Services
// belong to this controller. A Policy decides that from the Service alone: its type, class, labels, finalizer and the mark
// of the controller.
package claim

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// Finalizer is the finalizer that Kubernetes defines for load balancers of Services (KEP-980), so
// that another controller can take over a Service.
const Finalizer = "service.kubernetes.io/load-balancer-cleanup"

// Policy says which Services belong to this controller. It is plain data.
type Policy struct {
	// ClusterName is --cluster-name. ClusterUID is the uid of namespace kube-system.
	ClusterName, ClusterUID string
	// LoadBalancerClass is the spec.loadBalancerClass that is handled. DefaultClass is whether
	// Services without a class are handled too.
	LoadBalancerClass string
	DefaultClass      bool
	// ClusterIPs selects the Services that get a load balancer at their ClusterIP; nil selects none.
	ClusterIPs *ClusterIPs
	// Drain is whether no Service is served, and all that this controller has claimed are released.
	Drain bool
}

// Owner returns the Service as the owner of cloud objects.
func (p Policy) Owner(service *corev1.Service) lb.Owner {
	o := lb.Owner{
		ClusterName: p.ClusterName, ClusterUID: p.ClusterUID,
		Namespace: service.Namespace, Name: service.Name, ServiceUID: p.ownerUID(service), Returns: p.returns(service),
	}
	if p.AtClusterIP(service) {
		o.ClusterIP, o.ServiceSubnetID = service.Spec.ClusterIP, p.ClusterIPs.subnetID
	}
	return o
}

// Handles reports whether this controller handles the Service's class.
func (p Policy) Handles(service *corev1.Service) bool {
	if class := service.Spec.LoadBalancerClass; class != nil {
		return *class == p.LoadBalancerClass
	}
	return p.DefaultClass
}

// Serves reports whether this controller gives the Service a load balancer: it is of type
// LoadBalancer, of a class that is handled, or gets one at its ClusterIP; and it is not being deleted.
func (p Policy) Serves(service *corev1.Service) bool {
	return service.DeletionTimestamp == nil && p.selects(service)
}

// selects is Serves for a Service that may be being deleted.
func (p Policy) selects(service *corev1.Service) bool {
	switch {
	case p.Drain:
		return false
	case service.Spec.Type == corev1.ServiceTypeLoadBalancer:
		return p.Handles(service)
	}
	return p.AtClusterIP(service)
}

// WhyNotServed says why this controller does not serve the Service, for one for which Serves and Leaves return false.
func (p Policy) WhyNotServed(service *corev1.Service) string {
	balancer := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch class := service.Spec.LoadBalancerClass; {
	case !balancer && p.ClusterIPs != nil:
		return p.whyNotAtClusterIP(service)
	case !balancer:
		return fmt.Sprintf("its type is %s and not LoadBalancer", service.Spec.Type)
	case class != nil && *class != p.LoadBalancerClass:
		return fmt.Sprintf("spec.loadBalancerClass is %q, and --load-balancer-class is %q", *class, p.LoadBalancerClass)
	case service.DeletionTimestamp != nil:
		return "it is being deleted, and has no load balancer finalizer"
	}
	return "it has no spec.loadBalancerClass, and --handle-default-class is false"
}

// Leaves reports whether this controller has to release the Service: it is no longer served and may
// still have cloud objects. The finalizer alone does not prove that: controllers of other
// classes set it too. The mark proves it: it contains the Service's uid, because a mark may be
// copied from another Service, and the class, because a controller of another class may
// be this program too.
//
// A Service of type LoadBalancer without a class, with the mark, that is no longer handled because
// an operator changed --handle-default-class, is not released: another controller takes it over
// with its load balancer. It is released here when it is deleted. One that had only its ClusterIP is
// released: no other controller can use that load balancer.
//
// With Drain only the mark and the class count. A Service that has neither may be one of
// openstack-cloud-controller-manager, which still works for it. One with the mark may have lost its finalizer.
func (p Policy) Leaves(service *corev1.Service) bool {
	balancer := service.Spec.Type == corev1.ServiceTypeLoadBalancer
	switch {
	case p.Serves(service):
		return false
	case service.Annotations[annotation.Managed] == p.Mark(service): // also if another client removed the finalizer
		return !balancer || service.DeletionTimestamp != nil || service.Spec.LoadBalancerClass != nil || p.Handles(service) || p.onlyAtClusterIP(service)
	case !hasFinalizer(service):
		return false
	case p.Drain:
		return balancer && service.Spec.LoadBalancerClass != nil && p.Handles(service) && service.Annotations[annotation.Managed] == ""
	case balancer:
		return p.Handles(service)
	}
	// A Service of another type no longer has a class. One of openstack-cloud-controller-manager has
	// the load balancer's id. The mark of another class means that its controller releases it.
	otherClass := strings.HasPrefix(service.Annotations[annotation.Managed], string(service.UID)+" ")
	return p.DefaultClass && service.Annotations[annotation.LoadBalancerID] != "" && !otherClass
}

// Reports reports whether the conditions of a Service that is not claimed are this controller's: it handles the
// class, and no controller has put its mark on the Service.
func (p Policy) Reports(service *corev1.Service) bool {
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer && p.Handles(service) && service.Annotations[annotation.Managed] == ""
}

// Mark returns the value of annotation Managed on a Service that may have cloud objects.
func (p Policy) Mark(service *corev1.Service) string {
	return string(service.UID) + " " + p.LoadBalancerClass
}

// markedFor returns the uid of the Service for which a controller wrote the mark, and the other annotations of its output;
// "" if there is no mark.
func markedFor(service *corev1.Service) string {
	uid, _, _ := strings.Cut(service.Annotations[annotation.Managed], " ")
	return uid
}

// Original returns the uid of the Service of which this one is a copy, according to the mark; "" if it is not a copy, or
// has no mark. See Copied.
func Original(service *corev1.Service) string {
	if uid := markedFor(service); uid != string(service.UID) {
		return uid
	}
	return ""
}

// Copied reports whether the annotations that controllers write were written for another Service: people and backups copy
// them with the rest. They are no request, and do not describe this Service. The mark has the uid of the other one then.
// Without a mark, as openstack-cloud-controller-manager leaves a Service, it is the status that is not copied: a
// controller that wrote an address to the annotations has published one.
func Copied(service *corev1.Service) bool {
	if uid := markedFor(service); uid != "" {
		return uid != string(service.UID)
	}
	output := service.Annotations[annotation.LoadBalancerAddress] != "" || service.Annotations[annotation.Programmed] != ""
	return output && len(service.Status.LoadBalancer.Ingress) == 0
}

// Claimed reports whether the Service has the finalizer and this controller's mark.
func (p Policy) Claimed(service *corev1.Service) bool {
	return hasFinalizer(service) && service.Annotations[annotation.Managed] == p.Mark(service)
}

func hasFinalizer(service *corev1.Service) bool {
	return controllerutil.ContainsFinalizer(service, Finalizer)
}

// LostMark reports whether the Service is no longer of type LoadBalancer, and has the finalizer but
// no controller's mark: a client that replaced all annotations removed it. Whose the Service was, only its conditions,
// the cloud or memory can show.
func LostMark(service *corev1.Service) bool {
	return service.Spec.Type != corev1.ServiceTypeLoadBalancer && hasFinalizer(service) && service.Annotations[annotation.Managed] == ""
}

// Unclaimed reports whether the Service lacks the finalizer, or the mark of any controller.
func Unclaimed(service *corev1.Service) bool {
	return !hasFinalizer(service) || service.Annotations[annotation.Managed] == ""
}

// MayOwn reports whether the Service may have cloud objects, whichever controller serves it. It is
// of type LoadBalancer, or it gets a load balancer at its ClusterIP, also if another client has just removed
// finalizer or annotations. Or it has the finalizer, which is set before the first create and removed
// after the last deletion, and an annotation that leads to its objects.
func (p Policy) MayOwn(service *corev1.Service) bool {
	known := service.Annotations[annotation.Managed] != "" || service.Annotations[annotation.LoadBalancerID] != ""
	return service.Spec.Type == corev1.ServiceTypeLoadBalancer || p.AtClusterIP(service) || known && hasFinalizer(service)
}

// Adoption is how the controller handles objects that openstack-cloud-controller-manager created.
type Adoption string

const (
	// AdoptTag takes a load balancer over: it gets our tags, and from then on is handled like one
	// that we created.
	AdoptTag Adoption = "tag"
	// AdoptObserve only reports the plan for Services that were not taken over yet and for load
	// balancers without our tags. It writes nothing to the cloud, and only conditions to Services.
	AdoptObserve Adoption = "observe"
)
