// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Owner is an object of Kubernetes that a load balancer is for, as plain data: what it requests, whether this controller
// serves it, and what controllers have recorded on it. The adapter of each kind of owner makes it of the object; see
// package service for Services. It describes the object as it was then: after a write to the object it is made again.
type Owner struct {
	Key        owner.Key
	UID        types.UID
	Created    metav1.Time
	Generation int64
	// Deleting means that the owner is being deleted.
	Deleting bool
	// Identity is the owner's identity in the cloud.
	Identity lb.Owner
	// Serves means that this controller gives the owner a load balancer. Leaves means that it does not, and releases what
	// the owner still has.
	Serves, Leaves bool
	// Claimed means that the owner has the finalizer and the mark of this controller. Unclaimed means that it lacks the
	// finalizer, or the mark of any controller.
	Claimed, Unclaimed bool
	// MayOwn means that the owner may have objects in the cloud, whichever controller serves it.
	MayOwn bool
	// LostMark means that the owner has the finalizer but no longer the mark, and its type does not show whose it is.
	LostMark bool
	// Copied means that the annotations that controllers write were written for another owner. Original is the uid of that
	// one, if the mark shows it.
	Copied   bool
	Original string
	// Mark is the mark of this controller on the owner, see Policy.Mark.
	Mark string
	// Publishes means that this controller writes addresses to the owner's status. OfAnotherClass means that the
	// controller of another class does that. KeepsFinalizer means that the finalizer stays for that controller.
	Publishes, OfAnotherClass, KeepsFinalizer bool
	// NeverClaimed means that conditions of this controller may be on the owner although it was never claimed.
	NeverClaimed bool
	// AtClusterIP are the settings of cluster-ip mode, or nil. WasAtClusterIP means that the owner had a load balancer at
	// its ClusterIP before. FromKuryr means that one at its ClusterIP may have been created for Kuryr.
	AtClusterIP    *config.AtClusterIP
	WasAtClusterIP bool
	FromKuryr      bool
	// Group names the owner's group, whose owners share one load balancer, or is "". Names of groups that do not share are
	// different.
	Group string
	// Spec is what the owner requests.
	Spec *desired.Spec
	// Recorded is what controllers have recorded on the owner.
	Recorded Recorded
}

// Recorded is what controllers have recorded on an owner: annotations and status. See Owner.Copied.
type Recorded struct {
	// LoadBalancerID is the id of the load balancer. A user may have written it, to share that load balancer.
	LoadBalancerID string
	// Address is the address for clients, and Ingress what the status publishes.
	Address string
	Ingress []corev1.LoadBalancerIngress
	// VIPAddress is the VIP that a load balancer gets when it is created again: its address, and the id of its subnet.
	VIPAddress string
	// Note is the text of annotation programmed: see survey.Note.
	Note string
	// Mark is the mark of a controller, or "".
	Mark string
	// Annotations are the annotations in RecordedAnnotations that the owner has.
	Annotations map[string]string
	// Finalizer means that the owner has the finalizer. Conditions are those of its status, also of other controllers.
	Finalizer  bool
	Conditions []metav1.Condition
	// Refused means that the condition Accepted says that the owner is refused as a whole. Served means that the
	// conditions show that kube-octavia has worked for the owner, rather than only observed it, and that this controller
	// handles owners without a class.
	Refused, Served bool
}

// Published returns the address that was last published for the owner, or "". That of another owner, of which this one
// is a copy, does not count.
func (o Owner) Published() string {
	switch {
	case o.Copied:
		return ""
	case o.Recorded.Address == "" && len(o.Recorded.Ingress) > 0:
		return o.Recorded.Ingress[0].IP
	}
	return o.Recorded.Address
}

// LoadBalancerID returns the id of the owner's load balancer, or "". The id on an owner that is not claimed and has no address
// was written by a user, as a request.
func (o Owner) LoadBalancerID() string {
	if o.Claimed || len(o.Recorded.Ingress) > 0 && !o.Copied {
		return o.Recorded.LoadBalancerID
	}
	return ""
}

// Settings returns the operator's settings for the owner.
func (o Owner) Settings(c config.LoadBalancer) config.LoadBalancer {
	c.AtClusterIP = o.AtClusterIP
	return c
}

// RecordedAnnotations are the annotations in which controllers record something on an owner.
var RecordedAnnotations = []string{annotation.Managed, annotation.VIPAddress, annotation.LoadBalancerID, annotation.LoadBalancerAddress, annotation.Programmed}

// RecordedIn returns those of the annotations in which controllers record something.
func RecordedIn(annotations map[string]string) map[string]string {
	var recorded map[string]string
	for _, key := range RecordedAnnotations {
		if value, is := annotations[key]; is {
			if recorded == nil {
				recorded = map[string]string{}
			}
			recorded[key] = value
		}
	}
	return recorded
}

// Records reports whether only controllers write the annotation.
func Records(key string) bool { return slices.Contains(RecordedAnnotations, key) }
