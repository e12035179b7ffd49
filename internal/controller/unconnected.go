// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/pass"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
)

// TellUnconnected returns the function that reports in the Services that the cloud is not connected, and why. Only the
// replica that would serve them reports it.
func TellUnconnected(m manager.Manager, others *Others, p *planner.Planner, log logr.Logger) func(context.Context, error) {
	return func(ctx context.Context, failure error) {
		select {
		case <-m.Elected():
		default:
			return
		}
		others.BeforeWriting(ctx)
		if err := pass.ReportUnconnected(ctx, m, p, failure); err != nil && ctx.Err() == nil {
			log.Info("cannot report in the conditions of the Services that the cloud is unavailable", "error", err.Error())
		}
	}
}
