// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package readiness

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Options are the dependencies of Gates.
type Options struct {
	// Client reads Pods, Namespaces and Services from caches, and patches the status of Pods. Uncached reads from
	// the API server.
	Client   client.Client
	Uncached client.Reader
	Recorder events.EventRecorder
	// Services adapts Services: only these have readiness gates.
	Services service.Kind
	// Enqueue requests a pass over a Service.
	Enqueue func(owner.Key)
	Timing  timing.Delays
	// Now returns the time; nil means time.Now.
	Now func() time.Time
	// First has to be started before the first look at a Pod.
	First []source.Source
}

// Gates are the readiness gates of the Pods in the namespaces that have opted in.
type Gates struct {
	Options

	// started returns when this process first looked at a Pod: it is the leader since about then.
	started func() time.Time
}

// New returns Gates. The cache of Pods needs the index that SetUp adds.
func New(o Options) *Gates {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Gates{Options: o, started: sync.OnceValue(o.Now)}
}

// Gated returns the addresses of Pods whose endpoints of the Service count as ready, whatever its EndpointSlices say,
// and which of these Pods still wait for their gate of this Service. See the function Gated.
func (g *Gates) Gated(ctx context.Context, of claim.Owner) (desired.Gates, error) {
	pods, err := g.pods(ctx, of)
	if err != nil || len(pods) == 0 {
		return desired.Gates{}, err
	}
	all := desired.Gates{Gated: map[string][]netip.Addr{}, Waiting: map[string]bool{}}
	for i := range pods {
		addresses, waits := Gated(&pods[i], of.Key.Name)
		if len(addresses) > 0 {
			all.Gated[pods[i].Name] = addresses
		}
		if waits {
			all.Waiting[pods[i].Name] = true
		}
	}
	return all, nil
}

// Report sets the gates of Pods that wait and whose members take traffic now. Once True, a gate stays True. Without
// Gates (nil) it does nothing.
func (g *Gates) Report(ctx context.Context, of claim.Owner, taking map[decide.PodMember]bool) error {
	if g == nil || len(taking) == 0 {
		return nil
	}
	pods, err := g.pods(ctx, of)
	if err != nil {
		return err
	}
	now := outcome{ReasonTakesTraffic, fmt.Sprintf("the member of the Pod takes traffic in the load balancer of Service %s", of.Key.Name)}
	var failures []error
	for i := range pods {
		if _, waits := Gated(&pods[i], of.Key.Name); waits && takesTraffic(&pods[i], taking) {
			failures = append(failures, g.set(ctx, &pods[i], of.Key.Name, now))
		}
	}
	return errors.Join(failures...)
}

// pods returns the Pods with a gate for the owner. It returns none if the owner is no Service, its members are not Pods,
// or its namespace has not opted in. They are those of the cache: they must not be changed.
func (g *Gates) pods(ctx context.Context, of claim.Owner) ([]corev1.Pod, error) {
	if of.Key.Kind != owner.Service || !of.Spec.PodTargets() {
		return nil, nil
	}
	if enabled, err := g.enabled(ctx, of.Key.Namespace); err != nil || !enabled {
		return nil, err
	}
	var pods corev1.PodList
	err := g.Client.List(ctx, &pods, client.InNamespace(of.Key.Namespace), client.MatchingFields{byService: of.Key.Name}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list Pods with a readiness gate: %w", err)
	}
	return pods.Items, nil
}

// enabled reports whether the namespace has opted in.
func (g *Gates) enabled(ctx context.Context, name string) (bool, error) {
	var namespace corev1.Namespace
	if err := g.Client.Get(ctx, types.NamespacedName{Name: name}, &namespace); err != nil {
		err = client.IgnoreNotFound(err)
		if err != nil {
			err = fmt.Errorf("read namespace %s: %w", name, err)
		}
		return false, err
	}
	return namespace.Labels[NamespaceLabel] == Enabled, nil
}

// set makes the gate True. A Pod that is gone, or has been replaced by another one, is no error.
func (g *Gates) set(ctx context.Context, pod *corev1.Pod, service string, o outcome) error {
	patch, err := patchOf(pod, service, o, g.Now())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, g.Timing.KubernetesLimit)
	defer cancel()
	target := &corev1.Pod{}
	target.Namespace, target.Name = pod.Namespace, pod.Name // the patch is answered with the Pod, which is written here
	err = g.Client.Status().Patch(ctx, target, client.RawPatch(types.StrategicMergePatchType, patch))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("set readiness gate %s of Pod %s/%s: %w", Gate(service), pod.Namespace, pod.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("set a readiness gate", "pod", pod.Name, "service", service, "reason", o.reason)
	return nil
}

// Reconcile looks at one Pod. It requests a pass over each Service for which the Pod waits, and sets the gates
// for which no load balancer is responsible and those that waited too long.
func (g *Gates) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	started := g.started()
	var pod corev1.Pod
	if err := g.Client.Get(ctx, request.NamespacedName, &pod); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	names := waiting(&pod)
	left, counts := timeLeft(&pod, started, g.Now())
	if len(names) == 0 || !counts {
		return reconcile.Result{}, nil // an event of the Pod shows when that changes
	}
	if enabled, err := g.enabled(ctx, pod.Namespace); err != nil || !enabled {
		return reconcile.Result{}, err
	}
	var result reconcile.Result
	var failures []error
	for _, name := range names {
		waits, err := g.settle(ctx, &pod, name, left)
		failures = append(failures, err)
		if waits {
			result.RequeueAfter = min(left, recheck)
		}
	}
	if err := errors.Join(failures...); err != nil {
		return reconcile.Result{}, err
	}
	return result, nil
}

// settle sets a gate that this controller can decide about without the cloud, and else requests a pass over its
// Service. It reports whether the gate still waits.
func (g *Gates) settle(ctx context.Context, pod *corev1.Pod, service string, left time.Duration) (waits bool, _ error) {
	key := owner.ServiceKey(pod.Namespace, service)
	t, err := g.target(ctx, key)
	if err != nil {
		return true, err
	}
	o := judge(t, left)
	if o.reason == "" {
		if addresses, _ := Gated(pod, service); len(addresses) > 0 && t.serves {
			g.Enqueue(key)
		}
		return true, nil
	}
	if err := g.set(ctx, pod, service, o); err != nil {
		return true, err
	}
	if o.reason == ReasonTimedOut {
		// Kubernetes counts events with equal objects as one. The Service makes those of several gates differ.
		related := &corev1.ObjectReference{Kind: "Service", Namespace: pod.Namespace, Name: service}
		g.Recorder.Eventf(pod, related, corev1.EventTypeWarning, status.ReasonReadinessGateTimedOut, "Reconcile", "%s", o.message)
	}
	return false, nil
}

// target reads the Service that a gate names. If the cache does not have it, the API server is asked: a Pod may
// be seen before the Service that was created before it.
func (g *Gates) target(ctx context.Context, key owner.Key) (target, error) {
	t := target{name: key.Name}
	var service corev1.Service
	err := g.Client.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: key.Name}, &service)
	switch {
	case err == nil:
		t.service = &service
	case apierrors.IsNotFound(err):
		// The role of the controller allows lists only.
		var found corev1.ServiceList
		if err := g.Uncached.List(ctx, &found, client.InNamespace(key.Namespace), client.MatchingFields{"metadata.name": key.Name}); err != nil {
			return t, fmt.Errorf("look for Service %s: %w", key, err)
		}
		if len(found.Items) == 0 {
			return t, nil
		}
		t.service = &found.Items[0]
	default:
		return t, fmt.Errorf("read Service %s: %w", key, err)
	}
	of := g.Services.Owner(t.service)
	t.serves = of.Serves
	t.pods = of.Serves && of.Spec.PodTargets()
	t.others = !of.Unclaimed && !of.Claimed
	return t, nil
}
