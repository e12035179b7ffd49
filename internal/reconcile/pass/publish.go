// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

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

// send makes a write to the object in Kubernetes. It has a time limit, because a write without an answer would block its
// owner. The conflict.Tracker recognises the write when it comes back as an event. The controller writes by patches only.
func (r *Reconciler) send(ctx context.Context, s subject, write func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, r.Timing.KubernetesLimit)
	defer cancel()
	if r.conflicts == nil {
		return write(ctx) // there is no cloud yet, and nothing follows events
	}
	return r.conflicts.Track(s.owner(), func() error { return write(ctx) })
}

// patch calls change with the annotations, and writes the difference that it makes in the object's metadata. Without a
// difference it writes nothing. The error begins with the parameter what, and is a conflict if another client has written
// to the object since it was read.
func (r *Reconciler) patch(ctx context.Context, s subject, what string, change func(annotations map[string]string)) error {
	before := copyOf(s.object)
	annotations := maps.Clone(s.object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	change(annotations)
	s.object.SetAnnotations(annotations)
	if maps.Equal(before.GetAnnotations(), annotations) && slices.Equal(before.GetFinalizers(), s.object.GetFinalizers()) {
		return nil
	}
	err := r.send(ctx, s, func(ctx context.Context) error { return r.Client.Patch(ctx, s.object, optimistic(before)) })
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// patchStatus is like patch, for the status. It reports whether it wrote anything; an object that is gone is no error.
func (r *Reconciler) patchStatus(ctx context.Context, s subject, what string, change func(*claim.Status)) (wrote bool, _ error) {
	before, was := copyOf(s.object), s.status()
	to := claim.Status{Conditions: slices.Clone(was.Conditions), Addresses: was.Addresses}
	change(&to)
	if equality.Semantic.DeepEqual(was, to) {
		return false, nil
	}
	s.kind.SetStatus(s.object, to)
	err := r.send(ctx, s, func(ctx context.Context) error {
		return s.kind.WriteStatus(ctx, r.Client, s.object, optimistic(before))
	})
	if err != nil {
		err = client.IgnoreNotFound(err)
		if err != nil {
			err = fmt.Errorf("%s: %w", what, err)
		}
		return false, err
	}
	return true, nil
}

// status returns what the status of the object has now.
func (s subject) status() claim.Status {
	recorded := s.owner().Recorded
	return claim.Status{Conditions: recorded.Conditions, Addresses: recorded.Ingress}
}

// copyOf returns a copy of the object.
func copyOf(object client.Object) client.Object {
	same, _ := object.DeepCopyObject().(client.Object) // a copy has the type of the original
	return same
}

// optimistic makes a patch that fails if another client has written to the object since it
// was read.
func optimistic(before client.Object) client.Patch {
	return client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
}

// publish writes the annotations, conditions and addresses of the pass, and emits events.
func (r *Reconciler) publish(ctx context.Context, s subject, p status.Pass) error {
	if !p.OnlyObserved {
		if err := r.annotate(ctx, s, p); err != nil {
			return err
		}
	}
	of := s.owner()
	return r.writeStatus(ctx, s, func(to *claim.Status) {
		to.Conditions = status.Conditions(to.Conditions, of.Generation, p)
		if of.Publishes {
			to.Addresses = status.Ingress(to.Addresses, p)
		}
	})
}

// withdraw removes an address from the status of the owner before the address is released, because another client may
// get it after that. The same write publishes the address that replaces it, if there is one, and what is left to do: a
// write that left Programmed=True would say that the owner has what it requests.
func (r *Reconciler) withdraw(ctx context.Context, s subject, f decide.Facts, d decide.Decision, address string) error {
	if address == "" || !f.Owner.Serves || !f.Owner.Publishes {
		return nil
	}
	p, addresses := r.passOf(ctx, f, d, outcome{}), s.status().Addresses
	withdrawn := status.Withdraw(addresses, p, address)
	if equality.Semantic.DeepEqual(withdrawn, addresses) {
		return nil
	}
	return r.writeStatus(ctx, s, func(to *claim.Status) {
		to.Conditions, to.Addresses = status.Conditions(to.Conditions, f.Owner.Generation, p), withdrawn
	})
}

// writeStatus writes the status and emits an event for each condition that changed.
func (r *Reconciler) writeStatus(ctx context.Context, s subject, change func(*claim.Status)) error {
	before := slices.Clone(s.status().Conditions)
	wrote, err := r.patchStatus(ctx, s, "write the status", change)
	if !wrote || err != nil {
		return err
	}
	for _, e := range status.Events(before, s.status().Conditions) {
		r.Recorder.Eventf(s.object, nil, e.Type, e.Reason, "Reconcile", "%s", e.Message)
	}
	return nil
}

// annotate writes the load balancer's id and address.
func (r *Reconciler) annotate(ctx context.Context, s subject, p status.Pass) error {
	of := s.owner()
	return client.IgnoreNotFound(r.patch(ctx, s, "write the annotations", func(annotations map[string]string) {
		if p.Done || outlivedRecordedVIP(of, p.Observed.LoadBalancer) {
			delete(annotations, annotation.VIPAddress)
		}
		// The id of a load balancer that the owner does not share yet is the user's request.
		if l := p.Observed.LoadBalancer; l != nil && (!p.Observed.Sharer || of.Identity.Joined(*l)) && !p.GaveUp() {
			annotations[annotation.LoadBalancerID] = cmp.Or(p.Noted, l.ID)
			if len(status.Ingress(nil, p)) > 0 {
				annotations[annotation.LoadBalancerAddress] = p.Address()
			}
		}
	}))
}

// outlivedRecordedVIP reports whether the owner has a load balancer that works again, so that the recorded address is
// not needed any more. The load balancer has this address, or another address that the owner requests by now, such as
// that of a port. An owner that is refused in part never has everything that it requests, and does not need the record
// any more either.
func outlivedRecordedVIP(of claim.Owner, l *lb.LoadBalancer) bool {
	_, recorded := decide.RecordedVIP(of)
	return recorded && l != nil && l.ProvisioningStatus == lb.Active
}

// dropNote removes the id of a load balancer from the owner: of one that is gone, before another one is created, or
// of one that the owner leaves to other owners. If the controller is killed before it writes the new id, the
// missing id shows the next controller that it has to look for the new load balancer.
func (r *Reconciler) dropNote(ctx context.Context, s subject) error {
	return r.patch(ctx, s, "remove annotation "+annotation.LoadBalancerID, func(annotations map[string]string) {
		delete(annotations, annotation.LoadBalancerID)
	})
}

// noteVIP writes the VIP's address to the owner, before the VIP is given up.
func (r *Reconciler) noteVIP(ctx context.Context, s subject, vip lb.VIP) error {
	return r.patch(ctx, s, "write annotation "+annotation.VIPAddress, func(annotations map[string]string) {
		annotations[annotation.VIPAddress] = strings.TrimSpace(vip.Address + " " + vip.SubnetID)
	})
}

// note writes to the owner what was confirmed of its load balancer, for the next controller.
func (r *Reconciler) note(ctx context.Context, s subject, d decide.Decision) error {
	if d.Goal.Policy == "" {
		return nil // the pass failed before the policy was read
	}
	return client.IgnoreNotFound(r.patch(ctx, s, "write annotation "+annotation.Programmed, func(annotations map[string]string) {
		annotations[annotation.Programmed] = d.Note(annotations[annotation.Programmed])
		if annotations[annotation.Programmed] == "" {
			delete(annotations, annotation.Programmed)
		}
	}))
}

// letGo removes everything that the controller wrote to the owner, the finalizer last. If the controller of another class
// handles the owner, the addresses belong to that controller, and perhaps the finalizer too: see claim.Owner. In
// cluster-ip mode it is ours: the Service already had it when it got its class.
func (r *Reconciler) letGo(ctx context.Context, s subject, f decide.Facts) error {
	of := s.owner()
	if !of.Deleting {
		if _, err := r.patchStatus(ctx, s, "clear the status", func(to *claim.Status) {
			removeConditions(to)
			if !of.OfAnotherClass {
				to.Addresses = nil
			}
		}); err != nil {
			return err
		}
	}
	return client.IgnoreNotFound(r.patch(ctx, s, "remove the finalizer", func(annotations map[string]string) {
		if !of.KeepsFinalizer {
			controllerutil.RemoveFinalizer(s.object, claim.Finalizer)
		}
		for _, key := range []string{annotation.Managed, annotation.VIPAddress, annotation.Programmed, annotation.LoadBalancerAddress} {
			delete(annotations, key)
		}
		if !f.Record.Cloud.Observed.Sharer || annotation.Value(annotations, annotation.LoadBalancerGroup) != "" {
			// Otherwise a user wrote the id, to share another Service's load balancer.
			delete(annotations, annotation.LoadBalancerID)
		}
	}))
}

// retract removes the conditions from an owner that was refused and is no longer to be served. The owner was never
// claimed, so there is nothing else to remove. With Policy.Drain an earlier controller may have written them.
func (r *Reconciler) retract(ctx context.Context, s subject) error {
	of := s.owner()
	if !of.NeverClaimed && !r.Memory.Has(of.Key, of.UID) {
		return nil
	}
	_, err := r.patchStatus(ctx, s, "remove the conditions", removeConditions)
	return err
}

func removeConditions(s *claim.Status) {
	s.Conditions = slices.DeleteFunc(slices.Clone(s.Conditions), func(c metav1.Condition) bool {
		return slices.Contains(status.Types, c.Type)
	})
}
