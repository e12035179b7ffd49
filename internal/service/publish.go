// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// claim makes sure that the Service cannot vanish while it has anything in the
// cloud, and that it is known as ours whatever becomes of its type and class. It
// comes before the first create.
func (r *Reconciler) claim(ctx context.Context, service *corev1.Service) error {
	if r.Claimed(service) {
		return nil
	}
	before := service.DeepCopy()
	controllerutil.AddFinalizer(service, claim.Finalizer)
	setAnnotation(service, annotation.Managed, r.Mark(service))
	if err := r.Client.Patch(ctx, service, optimistic(before)); err != nil {
		return fmt.Errorf("add the finalizer: %w", err)
	}
	return nil
}

// publish writes conditions, addresses, annotations and events, and nothing
// when they are as they should be.
func (r *Reconciler) publish(ctx context.Context, service *corev1.Service, p status.Pass) error {
	if !p.OnlyObserved {
		if err := r.annotate(ctx, service, p); err != nil {
			return err
		}
	}
	before := service.DeepCopy()
	service.Status.Conditions = status.Conditions(before.Status.Conditions, service.Generation, p)
	if service.Spec.Type == corev1.ServiceTypeLoadBalancer && r.Handles(service) {
		service.Status.LoadBalancer.Ingress = status.Ingress(before.Status.LoadBalancer.Ingress, p)
	}
	return r.patchStatus(ctx, service, before)
}

// annotate writes the load balancer's id and address.
func (r *Reconciler) annotate(ctx context.Context, service *corev1.Service, p status.Pass) error {
	before := service.DeepCopy()
	if p.Done {
		// The load balancer has the address itself.
		delete(service.Annotations, annotation.VIPAddress)
	}
	if l := p.Observed.LoadBalancer; l != nil {
		setAnnotation(service, annotation.LoadBalancerID, cmp.Or(p.Noted, l.ID))
		if len(status.Ingress(nil, p)) > 0 {
			setAnnotation(service, annotation.LoadBalancerAddress, p.Observed.Address())
		}
	}
	if equality.Semantic.DeepEqual(before.Annotations, service.Annotations) {
		return nil
	}
	if err := r.Client.Patch(ctx, service, optimistic(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("write the annotations: %w", err)
	}
	return nil
}

// dropNote takes the id of a load balancer that has gone off the Service, before
// another one is made. If we are killed before the other's id is there, the next
// controller knows from that to look for it.
func (r *Reconciler) dropNote(ctx context.Context, service *corev1.Service) error {
	if _, there := service.Annotations[annotation.LoadBalancerID]; !there {
		return nil
	}
	before := service.DeepCopy()
	delete(service.Annotations, annotation.LoadBalancerID)
	if err := r.Client.Patch(ctx, service, optimistic(before)); err != nil {
		return fmt.Errorf("remove annotation %s: %w", annotation.LoadBalancerID, err)
	}
	return nil
}

// noteVIP writes the VIP's address to the Service, before it is given up.
func (r *Reconciler) noteVIP(ctx context.Context, service *corev1.Service, vip lb.VIP) error {
	note := strings.TrimSpace(vip.Address + " " + vip.SubnetID)
	if service.Annotations[annotation.VIPAddress] == note {
		return nil
	}
	before := service.DeepCopy()
	setAnnotation(service, annotation.VIPAddress, note)
	if err := r.Client.Patch(ctx, service, optimistic(before)); err != nil {
		return fmt.Errorf("write annotation %s: %w", annotation.VIPAddress, err)
	}
	return nil
}

func setAnnotation(service *corev1.Service, key, value string) {
	if service.Annotations == nil {
		service.Annotations = map[string]string{}
	}
	service.Annotations[key] = value
}

// letGo takes every mark of ours off the Service, the finalizer last. Where a
// controller of another class has taken the Service over, addresses and
// finalizer are its own by now.
func (r *Reconciler) letGo(ctx context.Context, f decide.Facts) error {
	service := f.Service
	before := service.DeepCopy()
	removeConditions(service)
	foreign := service.Spec.Type == corev1.ServiceTypeLoadBalancer && service.Spec.LoadBalancerClass != nil && !r.Handles(service)
	if !foreign {
		service.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	if service.DeletionTimestamp == nil && !equality.Semantic.DeepEqual(before.Status, service.Status) {
		if err := r.Client.Status().Patch(ctx, service, optimistic(before)); err != nil {
			return fmt.Errorf("clear the status: %w", err)
		}
	}
	before = service.DeepCopy()
	if !foreign {
		controllerutil.RemoveFinalizer(service, claim.Finalizer)
	}
	delete(service.Annotations, annotation.Managed)
	delete(service.Annotations, annotation.VIPAddress)
	delete(service.Annotations, annotation.Programmed)
	if !f.Record.Cloud.Observed.Guest || service.Annotations[annotation.LoadBalancerGroup] != "" {
		// The user set that of a load balancer which is another's.
		delete(service.Annotations, annotation.LoadBalancerID)
	}
	delete(service.Annotations, annotation.LoadBalancerAddress)
	if err := r.Client.Patch(ctx, service, optimistic(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the finalizer: %w", err)
	}
	return nil
}

// retract takes the conditions off a Service that this controller, or one before it,
// could not serve and that is not to be served any more. It bears no other mark of ours:
// it was never claimed.
func (r *Reconciler) retract(ctx context.Context, service *corev1.Service) error {
	nobodys := service.Spec.Type != corev1.ServiceTypeLoadBalancer && service.Annotations[annotation.Managed] == "" &&
		!controllerutil.ContainsFinalizer(service, claim.Finalizer)
	if !nobodys && !r.Memory.Has(keyOf(service), service.UID) {
		return nil
	}
	before := service.DeepCopy()
	removeConditions(service)
	if equality.Semantic.DeepEqual(before.Status, service.Status) {
		return nil
	}
	if err := r.Client.Status().Patch(ctx, service, optimistic(before)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("remove the conditions: %w", err)
	}
	return nil
}

func removeConditions(service *corev1.Service) {
	service.Status.Conditions = slices.Clone(service.Status.Conditions)
	meta.RemoveStatusCondition(&service.Status.Conditions, status.Accepted)
	meta.RemoveStatusCondition(&service.Status.Conditions, status.Programmed)
}

// optimistic makes a patch that fails when somebody else has written to the
// object since it was read.
func optimistic(before *corev1.Service) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}
