// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// patching is a Kubernetes client whose patches have a time limit, because a patch without an
// answer would block its Service. Track makes the patches; conflict.Tracker recognises them when
// they come back as watch events. The controller writes by patches only.
type patching struct {
	client.Client
	limit time.Duration
	track func(object client.Object, write func() error) error
}

// Patch implements client.Writer.
func (c patching) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	return c.track(object, func() error { return c.Client.Patch(ctx, object, patch, options...) })
}

// Status implements client.StatusClient.
func (c patching) Status() client.SubResourceWriter {
	return patchingStatus{c.Client.Status(), c}
}

type patchingStatus struct {
	client.SubResourceWriter
	client patching
}

// Patch implements client.SubResourceWriter.
func (c patchingStatus) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	ctx, cancel := context.WithTimeout(ctx, c.client.limit)
	defer cancel()
	return c.client.track(object, func() error { return c.SubResourceWriter.Patch(ctx, object, patch, options...) })
}

// patch calls change, and writes the difference that it makes in the Service's metadata. Without a difference it writes
// nothing. The error begins with the parameter what, and is a conflict if another client has written to the Service
// since it was read.
func (r *Reconciler) patch(ctx context.Context, service *corev1.Service, what string, change func()) error {
	before := service.DeepCopy()
	if service.Annotations == nil {
		service.Annotations = map[string]string{}
	}
	change()
	if equality.Semantic.DeepEqual(before.ObjectMeta, service.ObjectMeta) {
		return nil
	}
	if err := r.Client.Patch(ctx, service, optimistic(before)); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// patchStatus is like patch, for the status. It reports whether it wrote anything; a Service
// that is gone is no error.
func (r *Reconciler) patchStatus(ctx context.Context, service *corev1.Service, what string, change func(*corev1.ServiceStatus)) (wrote bool, _ error) {
	before := service.DeepCopy()
	change(&service.Status)
	if equality.Semantic.DeepEqual(before.Status, service.Status) {
		return false, nil
	}
	if err := r.Client.Status().Patch(ctx, service, optimistic(before)); err != nil {
		if err = client.IgnoreNotFound(err); err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return false, err
	}
	return true, nil
}

// optimistic makes a patch that fails if another client has written to the object since it
// was read.
func optimistic(before *corev1.Service) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// publish writes the annotations, conditions and addresses of the pass, and emits events.
func (r *Reconciler) publish(ctx context.Context, service *corev1.Service, p status.Pass) error {
	if !p.OnlyObserved {
		if err := r.annotate(ctx, service, p); err != nil {
			return err
		}
	}
	return r.writeStatus(ctx, service, func(s *corev1.ServiceStatus) {
		s.Conditions = status.Conditions(s.Conditions, service.Generation, p)
		if service.Spec.Type == corev1.ServiceTypeLoadBalancer && r.Handles(service) {
			s.LoadBalancer.Ingress = status.Ingress(s.LoadBalancer.Ingress, p)
		}
	})
}

// withdraw removes an address from the status of the Service before the address is released, because another client may
// get it after that. The same write publishes the address that replaces it, if there is one, and what is left to do: a
// write that left Programmed=True would say that the Service has what it requests.
func (r *Reconciler) withdraw(ctx context.Context, f decide.Facts, d decide.Decision, address string) error {
	service := f.Service
	if address == "" || !f.Serves || service.Spec.Type != corev1.ServiceTypeLoadBalancer || !r.Handles(service) {
		return nil
	}
	p := r.passOf(ctx, f, d, outcome{})
	withdrawn := status.Withdraw(service.Status.LoadBalancer.Ingress, p, address)
	if equality.Semantic.DeepEqual(withdrawn, service.Status.LoadBalancer.Ingress) {
		return nil
	}
	return r.writeStatus(ctx, service, func(s *corev1.ServiceStatus) {
		s.Conditions = status.Conditions(s.Conditions, service.Generation, p)
		s.LoadBalancer.Ingress = withdrawn
	})
}

// writeStatus writes the status and emits an event for each condition that changed.
func (r *Reconciler) writeStatus(ctx context.Context, service *corev1.Service, change func(*corev1.ServiceStatus)) error {
	before := slices.Clone(service.Status.Conditions)
	wrote, err := r.patchStatus(ctx, service, "write the status", change)
	if !wrote || err != nil {
		return err
	}
	for _, e := range status.Events(before, service.Status.Conditions) {
		r.Recorder.Eventf(service, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return nil
}

// annotate writes the load balancer's id and address.
func (r *Reconciler) annotate(ctx context.Context, service *corev1.Service, p status.Pass) error {
	return client.IgnoreNotFound(r.patch(ctx, service, "write the annotations", func() {
		if p.Done || outlivedRecordedVIP(service, p.Observed.LoadBalancer) {
			delete(service.Annotations, annotation.VIPAddress)
		}
		// The id of a load balancer that the Service does not share yet is the user's request.
		if l := p.Observed.LoadBalancer; l != nil && (!p.Observed.Sharer || r.Owner(service).Joined(*l)) && !p.GaveUp() {
			service.Annotations[annotation.LoadBalancerID] = cmp.Or(p.Noted, l.ID)
			if len(status.Ingress(nil, p)) > 0 {
				service.Annotations[annotation.LoadBalancerAddress] = p.Address()
			}
		}
	}))
}

// outlivedRecordedVIP reports whether the Service has a load balancer that works again, so that the recorded address is
// not needed any more. The load balancer has this address, or another address that the Service requests by now, such as
// that of a port. A Service that is refused in part never has everything that it requests, and does not need the record
// any more either.
func outlivedRecordedVIP(service *corev1.Service, l *lb.LoadBalancer) bool {
	_, recorded := decide.RecordedVIP(service)
	return recorded && l != nil && l.ProvisioningStatus == lb.Active
}

// dropNote removes the id of a load balancer from the Service: of one that is gone, before another one is created, or
// of one that the Service leaves to other Services. If the controller is killed before it writes the new id, the
// missing id shows the next controller that it has to look for the new load balancer.
func (r *Reconciler) dropNote(ctx context.Context, service *corev1.Service) error {
	return r.patch(ctx, service, "remove annotation "+annotation.LoadBalancerID, func() {
		delete(service.Annotations, annotation.LoadBalancerID)
	})
}

// noteVIP writes the VIP's address to the Service, before the VIP is given up.
func (r *Reconciler) noteVIP(ctx context.Context, service *corev1.Service, vip lb.VIP) error {
	return r.patch(ctx, service, "write annotation "+annotation.VIPAddress, func() {
		service.Annotations[annotation.VIPAddress] = strings.TrimSpace(vip.Address + " " + vip.SubnetID)
	})
}

// note writes to the Service what was confirmed of its load balancer, for the next controller.
func (r *Reconciler) note(ctx context.Context, f decide.Facts, d decide.Decision) error {
	if d.Goal.Policy == "" {
		return nil // the pass failed before the policy was read
	}
	return client.IgnoreNotFound(r.patch(ctx, f.Service, "write annotation "+annotation.Programmed, func() {
		f.Service.Annotations[annotation.Programmed] = d.Note(f.Service.Annotations[annotation.Programmed])
		if f.Service.Annotations[annotation.Programmed] == "" {
			delete(f.Service.Annotations, annotation.Programmed)
		}
	}))
}

// letGo removes everything that the controller wrote to the Service, the finalizer last. If another controller handles
// the Service, the addresses belong to that controller. So does the finalizer, if the Service has another class. But in
// cluster-ip mode the finalizer is ours: the Service already had it when it got its class.
func (r *Reconciler) letGo(ctx context.Context, f decide.Facts) error {
	service := f.Service
	others := service.Spec.Type == corev1.ServiceTypeLoadBalancer && !r.Handles(service)
	if service.DeletionTimestamp == nil {
		if _, err := r.patchStatus(ctx, service, "clear the status", func(s *corev1.ServiceStatus) {
			if removeConditions(s); !others {
				s.LoadBalancer = corev1.LoadBalancerStatus{}
			}
		}); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(r.patch(ctx, service, "remove the finalizer", func() {
		if !others || service.Spec.LoadBalancerClass == nil || r.ClusterIPs != nil {
			controllerutil.RemoveFinalizer(service, claim.Finalizer)
		}
		for _, key := range []string{annotation.Managed, annotation.VIPAddress, annotation.Programmed, annotation.LoadBalancerAddress} {
			delete(service.Annotations, key)
		}
		if !f.Record.Cloud.Observed.Sharer || annotation.Value(service.Annotations, annotation.LoadBalancerGroup) != "" {
			// Otherwise a user wrote the id, to share another Service's load balancer.
			delete(service.Annotations, annotation.LoadBalancerID)
		}
	}))
}

// retract removes the conditions from a Service that was refused and is no longer to be served. The Service was never
// claimed, so there is nothing else to remove. With Policy.Drain an earlier controller may have written them.
func (r *Reconciler) retract(ctx context.Context, service *corev1.Service) error {
	unclaimed := service.Spec.Type != corev1.ServiceTypeLoadBalancer && service.Annotations[annotation.Managed] == "" &&
		!controllerutil.ContainsFinalizer(service, claim.Finalizer)
	if drained := r.Drain && r.Reports(service); !unclaimed && !drained && !r.Memory.Has(keyOf(service), service.UID) {
		return nil
	}
	_, err := r.patchStatus(ctx, service, "remove the conditions", removeConditions)
	return err
}

func removeConditions(s *corev1.ServiceStatus) {
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
		return slices.Contains(status.Types, c.Type)
	})
}
