// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package pass

import (
	"context"
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// ReportUnconnected writes into the conditions of all Services of this controller that the controller cannot connect to
// the cloud, and why. It is for a controller that never was connected. Published addresses stay. The Planner needs only
// its Reader and Kinds.
func ReportUnconnected(ctx context.Context, m manager.Manager, p *planner.Planner, failure error) error {
	r := &Reconciler{Options: Options{Planner: p, Client: m.GetClient(), Recorder: m.GetEventRecorder("kube-octavia"), Timing: timing.Default()}}
	owners, err := p.Owners().List(ctx)
	if err != nil {
		return err
	}
	var problems []error
	for _, of := range owners {
		if !of.Serves {
			continue
		}
		object, kind, err := p.Owners().Get(ctx, of.Key)
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			problems = append(problems, err)
			continue
		}
		err = r.publish(ctx, newSubject(kind, object), status.Pass{Err: failure, Acceptance: status.Acceptance{Undecided: true}})
		if !apierrors.IsConflict(err) { // it has just changed; the next attempt reports it
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}
