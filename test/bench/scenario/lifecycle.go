// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"

	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// writesOfService is the number of writes for the creation of an external Service, and for its
// deletion: one for the load balancer, one for the floating IP.
const writesOfService = 2

// writesOfPort is the number of writes for a new port: pool, members, listener. Octavia locks the
// load balancer for each.
const writesOfPort = 3

func create(ctx context.Context, r *Run) error {
	if err := r.Depopulate(ctx); err != nil {
		return err
	}
	m, err := r.Measure(ctx, func(ctx context.Context) error { return r.Create(ctx, r.Services, r.Ports) }, stage.Nothing)
	if err != nil {
		return err
	}
	times := r.Served(r.Names(), m.Began)
	row := r.add("create", m, longest(times), r.Limits.Create, writesOfService*r.Services)
	row.Times = report.PercentilesOf(times)
	goals(row, 6)
	return nil
}

func deleteAll(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	names := r.Names()
	m, err := r.Measure(ctx, r.Depopulate, stage.Nothing)
	if err != nil {
		return err
	}
	times := r.Gone(names, m.Began)
	row := r.add("delete", m, longest(times), r.Limits.Delete, writesOfService*r.Services)
	row.Times = report.PercentilesOf(times)
	goals(row, 4)
	return nil
}

// resync needs no call.
func resync(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	m, err := r.Measure(ctx, func(ctx context.Context) error { return r.Touch(ctx, r.Names(), "once") }, stage.Nothing)
	if err != nil {
		return err
	}
	r.add("resync", m, m.LastCall, 0, 0)
	return nil
}

func addPort(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	members, err := r.MembersGrow(ctx, r.Services*r.Nodes())
	if err != nil {
		return err
	}
	m, err := r.Measure(ctx, func(ctx context.Context) error { return r.AddPort(ctx, r.Names(), r.Ports) }, members)
	if err != nil {
		return err
	}
	row := r.add("port", m, longest(m.Times()), writesOfPort*r.Limits.Update, writesOfPort*r.Services)
	row.Times = report.PercentilesOf(m.Times())
	members, err = r.MembersGrow(ctx, -r.Services*r.Nodes())
	if err != nil {
		return err
	}
	if err := r.RemovePort(ctx, r.Names(), r.Ports); err != nil {
		return err
	}
	return r.Settle(ctx, members)
}
