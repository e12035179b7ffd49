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
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/conflict"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

// notSeenYet drops the objects of the initial list: the first pass over each Service covers
// them.
var notSeenYet = predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}

// serviceMatters lets two kinds of events through: changes of Services that affect the desired state, and writes of
// other clients to fields that only the controller writes. The controller's own writes are dropped: otherwise the
// report of a failed pass would start the next pass.
func (r *Reconciler) serviceMatters() predicate.Funcs {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok := e.ObjectOld.(*corev1.Service)
			after, also := e.ObjectNew.(*corev1.Service)
			if !ok || !also {
				return true
			}
			fields := conflict.ChangedFields(before, after)
			others := len(fields) > 0 && !r.conflicts.Made(after) && r.Memory.Has(keyOf(after), after.UID)
			if others && r.Serves(before) && r.Serves(after) {
				if !r.OnlyObserves(before, lb.Observed{}) {
					r.conflicts.Wrote(after, conflict.Write{Kind: conflict.OnService, Texts: fields})
				}
				r.Memory.MarkStale(keyOf(after))
			}
			if !sameRequest(before, after) {
				r.conflicts.Changed(after)
			}
			selects := r.AtClusterIP(before) != r.AtClusterIP(after) // by labels, which are no part of sameRequest
			return others || selects || !sameService(before, after)
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			r.conflicts.Forget(owner.ServiceKey(e.Object.GetNamespace(), e.Object.GetName()))
			return true
		},
	}
}

// sameService reports whether a change of a Service needs no pass. A finalizer that was removed
// has to be restored.
func sameService(a, b *corev1.Service) bool {
	lost := controllerutil.ContainsFinalizer(a, claim.Finalizer) && !controllerutil.ContainsFinalizer(b, claim.Finalizer)
	return !lost && a.UID == b.UID && (a.DeletionTimestamp == nil) == (b.DeletionTimestamp == nil) && sameRequest(a, b)
}

// sameRequest reports whether users request the same of the Service.
func sameRequest(a, b *corev1.Service) bool {
	return equality.Semantic.DeepEqual(a.Spec, b.Spec) && maps.Equal(ofUsers(a.Annotations), ofUsers(b.Annotations))
}

// ofUsers returns the annotations that the controller does not write.
func ofUsers(annotations map[string]string) map[string]string {
	rest := maps.Clone(annotations)
	maps.DeleteFunc(rest, func(key, _ string) bool { return conflict.IsOwn(key) })
	return rest
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
	var services corev1.ServiceList
	// The Services are only read, and there may be thousands of them, so they are not copied.
	if err := r.Reader.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services whose members change with a node")
		return
	}
	for i := range services.Items {
		service := &services.Items[i]
		if !r.Serves(service) || !planner.Refused(*service) && r.PodTargets(service) && !r.Memory.HasPredecessor(keyOf(service), service.UID) {
			continue // the EndpointSlices show where Pods are
		}
		// A Service with an invalid selector keeps its members.
		selector, err := annotation.Selector(service.Annotations, r.Settings(service))
		selected := func(n *corev1.Node) bool {
			return n != nil && member.TakesTraffic(n) && (err != nil || selector.Matches(n.Labels))
		}
		if was, is := selected(was), selected(is); was != is || was && !same {
			q.Add(r.ask(ctx, service))
		}
	}
}

// sliceEvents requests a pass over the slice's Service if its members depend on its endpoints, and otherwise only if
// the slice got its first endpoint that takes traffic, or lost the last one: condition Serving depends on that.
func (r *Reconciler) sliceEvents() handler.TypedFuncs[client.Object, owner.Key] {
	type queue = workqueue.TypedRateLimitingInterface[owner.Key]
	return handler.TypedFuncs[client.Object, owner.Key]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { r.enqueueServiceOf(ctx, q, nil, e.Object) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { r.enqueueServiceOf(ctx, q, e.Object, nil) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			r.enqueueServiceOf(ctx, q, e.ObjectOld, e.ObjectNew)
		},
	}
}

// enqueueServiceOf requests a pass over the Service of a slice that has changed. Either state may be nil.
func (r *Reconciler) enqueueServiceOf(ctx context.Context, q workqueue.TypedInterface[owner.Key], before, after client.Object) {
	was, _ := before.(*discoveryv1.EndpointSlice)
	is, _ := after.(*discoveryv1.EndpointSlice)
	served := endpointsServe(was) != endpointsServe(is) || was != nil && is != nil && !equality.Semantic.DeepEqual(was.Ports, is.Ports)
	keys := map[owner.Key]bool{}
	for _, slice := range []*discoveryv1.EndpointSlice{was, is} {
		if slice != nil {
			keys[owner.ServiceKey(slice.Namespace, slice.Labels[discoveryv1.LabelServiceName])] = true
		}
	}
	for key := range keys {
		var service corev1.Service
		if key.Name == "" || r.Reader.Get(ctx, nameOf(key), &service) != nil || !r.Serves(&service) {
			// The first pass over a Service that does not exist yet reads its slices.
			continue
		}
		if r.followsEndpoints(&service) || (served || len(keys) > 1) && !r.awaitsCreate(key) {
			q.Add(r.ask(ctx, &service))
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

// followsEndpoints reports whether the members of the Service may depend on its endpoints. The members of a refused
// Service may be Pods, whatever the Service requests now.
func (r *Reconciler) followsEndpoints(service *corev1.Service) bool {
	return service.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal || r.PodTargets(service) ||
		planner.Refused(*service) || r.Memory.HasPredecessor(keyOf(service), service.UID)
}

// sharingEvents requests passes over the other Services that share a load balancer, or will
// share one, when a change of one Service affects them. Own writes count too.
func (r *Reconciler) sharingEvents() handler.TypedFuncs[client.Object, owner.Key] {
	type queue = workqueue.TypedRateLimitingInterface[owner.Key]
	return handler.TypedFuncs[client.Object, owner.Key]{
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			before, ok := e.ObjectOld.(*corev1.Service)
			after, also := e.ObjectNew.(*corev1.Service)
			if !ok || !also {
				return
			}
			was, is := r.sharingStateOf(before), r.sharingStateOf(after)
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
			if gone, ok := e.Object.(*corev1.Service); ok {
				for _, key := range r.others(ctx, gone) {
					q.Add(r.askFor(ctx, key))
				}
			}
		},
	}
}

// sharingState is the part of a Service that affects those that share its load balancer.
type sharingState struct {
	group, balancer, address   string
	claimed, refused, internal bool
}

func (r *Reconciler) sharingStateOf(s *corev1.Service) sharingState {
	options, _ := annotation.Parse(s.Annotations, r.Settings(s))
	return sharingState{
		group: r.GroupOf(s), balancer: notedID(s), address: s.Annotations[annotation.LoadBalancerAddress],
		claimed: r.Claimed(s), refused: planner.Refused(*s), internal: options.Internal,
	}
}

// others returns the other Services that share a load balancer with this one.
func (r *Reconciler) others(ctx context.Context, s *corev1.Service) []owner.Key {
	all, err := r.sharing(ctx, s)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the Services that share a load balancer")
	}
	return slices.DeleteFunc(all, func(key owner.Key) bool { return key == keyOf(s) })
}
