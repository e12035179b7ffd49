// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/planner"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// ReportUnconnected lets the conditions of all Services that are to be served say
// that there is no way to the cloud, and why. It is for a controller that never
// had one; addresses that are published stay. Of the planner only what chooses
// Services is needed.
func ReportUnconnected(ctx context.Context, m manager.Manager, p *planner.Planner, failure error) error {
	r := &Reconciler{Planner: p, Options: Options{Client: patching{m.GetClient(), timing.Default().KubernetesLimit, nil}, Recorder: m.GetEventRecorder("kube-octavia")}}
	var services corev1.ServiceList
	if err := p.Reader.List(ctx, &services); err != nil {
		return err
	}
	var problems []error
	for i := range services.Items {
		if !p.Serves(&services.Items[i]) {
			continue
		}
		err := r.publish(ctx, services.Items[i].DeepCopy(), status.Pass{Err: failure, Undecided: true})
		if !apierrors.IsConflict(err) { // it has just changed, and the next attempt tells it
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
