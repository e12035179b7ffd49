// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
)

// notSeenYet drops the objects of the initial list: the first pass over each Service covers
// them.
var notSeenYet = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

// ownerMatters lets two kinds of events through: changes of owners that affect the desired state, and writes of
// another client to fields of the controller. These are noted, and the next pass reads the cloud: memory may not fit
// what is on the owner now.
func (r *Reconciler) ownerMatters(kind claim.Kind) predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := kind.Owner(e.ObjectOld), kind.Owner(e.ObjectNew)
			same := kind.SameRequest(e.ObjectOld, e.ObjectNew)
			fields := conflict.ChangedFields(before, after)
			others := len(fields) > 0 && !r.conflicts.Made(after) && r.Memory.Has(after.Key, after.UID)
			if others && before.Serves && after.Serves {
				if !r.Planner.OnlyObserves(before, lb.Observed{}) {
					r.conflicts.Wrote(after, conflict.Write{Kind: conflict.OnService, Texts: fields})
				}
				r.Memory.MarkStale(after.Key)
			}
			if !same {
				r.conflicts.Changed(after)
			}
			selects := (before.AtClusterIP == nil) != (after.AtClusterIP == nil) // by labels, which are no part of the request
			return others || selects || !same || !sameOwner(before, after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.conflicts.Forget(claim.KeyOf(kind, e.Object))
			return true
		},
	}
}

// sameOwner reports whether a change of an owner that requests the same needs no pass. A finalizer that was removed has
// to be restored.
func sameOwner(a, b claim.Owner) bool {
	lost := a.Recorded.Finalizer && !b.Recorded.Finalizer
	return !lost && a.UID == b.UID && a.Deleting == b.Deleting
}

// nodeEvents requests passes over the Services whose members change with a node.
func (r *Reconciler) nodeEvents() handler.TypedFuncs[client.Object, owner.Key] {
	type queue = workqueue.TypedRateLimitingInterface[owner.Key]
	return handler.TypedFuncs[client.Object, owner.Key]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.enqueueMembers(ctx, q, nil, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.enqueueMembers(ctx, q, e.Object, nil) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueMembers(ctx, q, e.ObjectOld, e.ObjectNew)
		},
	}
}

// enqueueMembers enqueues the Services whose members change with a node. Before is nil for a new
// node, after for a deleted one.
func (r *Reconciler) enqueueMembers(ctx context.Context, q workqueue.TypedInterface[owner.Key], before, after client.Object) {
	was, _ := before.(*corev1.Node)
	is, _ := after.(*corev1.Node)
	same := was != nil && is != nil && member.SameNode(was, is)
	if same && maps.Equal(was.Labels, is.Labels) {
		return // such as a heartbeat
	}
	owners, err := r.Planner.Owners().List(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services whose members change with a node")
		return
	}
	for _, of := range owners {
		if !of.Serves || !of.Recorded.Refused && of.Spec.PodTargets() && !r.Memory.HasPredecessor(of.Key, of.UID) {
			continue // the EndpointSlices show where Pods are
		}
		// An owner with an invalid selector keeps its members.
		selector, err := of.Spec.Selector()
		selected := func(n *corev1.Node) bool {
			return n != nil && member.TakesTraffic(n) && (err != nil || selector.Matches(n.Labels))
		}
		if was, is := selected(was), selected(is); was != is || was && !same {
			q.Add(r.ask(ctx, of))
		}
	}
}

// sliceEvents requests a pass over the slice's Service if its members depend on its endpoints, and otherwise only if
// the slice got its first endpoint that takes traffic, or lost the last one: condition Serving depends on that.
func (r *Reconciler) sliceEvents() handler.TypedFuncs[client.Object, owner.Key] {
	type queue = workqueue.TypedRateLimitingInterface[owner.Key]
	return handler.TypedFuncs[client.Object, owner.Key]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.enqueueOwnersOf(ctx, q, nil, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.enqueueOwnersOf(ctx, q, e.Object, nil) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueOwnersOf(ctx, q, e.ObjectOld, e.ObjectNew)
		},
	}
}

// enqueueOwnersOf requests a pass over the Service of a slice that has changed. Either state may be nil.
func (r *Reconciler) enqueueOwnersOf(ctx context.Context, q workqueue.TypedInterface[owner.Key], before, after client.Object) {
	was, _ := before.(*discoveryv1.EndpointSlice)
	is, _ := after.(*discoveryv1.EndpointSlice)
	served := endpointsServe(was) != endpointsServe(is) || was != nil && is != nil && !equality.Semantic.DeepEqual(was.Ports, is.Ports)
	services := map[types.NamespacedName]bool{}
	for _, slice := range []*discoveryv1.EndpointSlice{was, is} {
		if slice != nil {
			services[types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}] = true
		}
	}
	for service := range services {
		if service.Name == "" {
			continue
		}
		owners, err := r.Planner.Owners().BackedBy(ctx, service.Namespace, service.Name)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "cannot find the owners of load balancers whose members change with an EndpointSlice")
		}
		// The first pass over an owner that does not exist yet reads its slices.
		for _, of := range owners {
			if of.Serves && (r.followsEndpoints(of) || (served || len(services) > 1) && !r.awaitsCreate(of.Key)) {
				q.Add(r.ask(ctx, of))
			}
		}
	}
}

// awaitsCreate reports whether the cloud rejected the create of the Service's load balancer and the next attempt is not
// due yet. In that time condition Serving does not depend on endpoints, and each attempt that a change of endpoints
// starts may leave a VIP port behind.
func (r *Reconciler) awaitsCreate(key owner.Key) bool {
	return r.Memory.CreateRejected(key, r.Now()) && len(r.Memory.LoadBalancersOf(key)) == 0
}

// endpointsServe reports whether an endpoint of the slice takes traffic. The slice may be nil.
func endpointsServe(s *discoveryv1.EndpointSlice) bool { return s != nil && member.AnyReady(s) }

// followsEndpoints reports whether the members of the owner may depend on its endpoints. The members of a refused
// owner may be Pods, whatever it requests now.
func (r *Reconciler) followsEndpoints(of claim.Owner) bool {
	return of.Spec.LocalTraffic || of.Spec.PodTargets() || of.Recorded.Refused || r.Memory.HasPredecessor(of.Key, of.UID)
}

// sharingEvents requests passes over the other owners that share a load balancer, or will
// share one, when a change of one owner affects them. Own writes count too.
func (r *Reconciler) sharingEvents(kind claim.Kind) handler.TypedFuncs[client.Object, owner.Key] {
	type queue = workqueue.TypedRateLimitingInterface[owner.Key]
	return handler.TypedFuncs[client.Object, owner.Key]{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, after := kind.Owner(e.ObjectOld), kind.Owner(e.ObjectNew)
			was, is := sharingStateOf(before), sharingStateOf(after)
			if was == is {
				return
			}
			if was.address != "" && was.address != is.address {
				// What is remembered of the floating IP is outdated.
				for _, key := range r.others(ctx, after) {
					r.Memory.MarkStale(key)
				}
			}
			for _, key := range append(r.others(ctx, before), r.others(ctx, after)...) {
				q.Add(r.askFor(ctx, key))
			}
			if was.refused && !is.refused && is.group != "" {
				q.Add(r.ask(ctx, after)) // it may create the load balancer now
			}
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) {
			for _, key := range r.others(ctx, kind.Owner(e.Object)) {
				q.Add(r.askFor(ctx, key))
			}
		},
	}
}

// sharingState is the part of an owner that affects those that share its load balancer.
type sharingState struct {
	group, balancer, address   string
	claimed, refused, internal bool
}

func sharingStateOf(of claim.Owner) sharingState {
	return sharingState{
		group: of.Group, balancer: of.Recorded.LoadBalancerID, address: of.Recorded.Address,
		claimed: of.Claimed, refused: of.Recorded.Refused, internal: of.Spec.Options.Internal,
	}
}

// others returns the other owners that share a load balancer with this one.
func (r *Reconciler) others(ctx context.Context, of claim.Owner) []owner.Key {
	all, err := r.sharing(ctx, of)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
	}
	return slices.DeleteFunc(all, func(key owner.Key) bool { return key == of.Key })
}
