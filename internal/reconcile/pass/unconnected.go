// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// ReportUnconnected writes into the conditions of all Services of this controller that the controller cannot connect to
// the cloud, and why. It is for a controller that never was connected. Published addresses stay. The Planner needs only
// its Reader and Policy.
func ReportUnconnected(ctx context.Context, m manager.Manager, p *planner.Planner, failure error) error {
	untracked := func(_ client.Object, write func() error) error { return write() }
	kube := patching{m.GetClient(), timing.Default().KubernetesLimit, untracked}
	r := &Reconciler{Options: Options{Planner: p, Client: kube, Recorder: m.GetEventRecorder("kube-octavia")}}
	var services corev1.ServiceList
	if err := p.Reader.List(ctx, &services); err != nil {
		return err
	}
	var problems []error
	for i := range services.Items {
		if !p.Serves(&services.Items[i]) {
			continue
		}
		err := r.publish(ctx, services.Items[i].DeepCopy(), status.Pass{Err: failure, Acceptance: status.Acceptance{Undecided: true}})
		if !apierrors.IsConflict(err) { // it has just changed; the next attempt reports it
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
