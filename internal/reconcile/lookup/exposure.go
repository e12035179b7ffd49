// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

// readExposure reads what the other owners of a shared load balancer request, if that matters.
func (b *Builder) readExposure(ctx context.Context, of claim.Owner, in desired.Input, _ lb.Observed) (desired.Input, error) {
	if !decide.ExposureMatters(in) {
		return in, nil
	}
	all, err := b.Owners.List(ctx)
	if err == nil {
		in.Sharing = decide.Exposure(in, of, all)
	}
	return in, err
}
