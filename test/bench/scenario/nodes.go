// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"maps"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// In a burst, burstChanges changes begin at this interval.
const (
	burstChanges  = 10
	burstInterval = 500 * time.Millisecond
	burstTime     = (burstChanges - 1) * burstInterval
)

func join(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	m, err := nodesChange(ctx, r, 1, func(ctx context.Context) error { return r.AddNodes(ctx, 1) })
	if err != nil {
		return err
	}
	row := r.add("join", m, longest(m.Times()), r.Limits.UpdatePorts, r.Services*r.Ports)
	row.Times = report.PercentilesOf(m.Times())
	goals(row, float64(r.Ports+3))
	return nil
}

// joinTen lets nodes join faster than Octavia can follow: changes of the members should be
// combined. The limit is the last join and one change of each port after it.
func joinTen(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	m, err := nodesChange(ctx, r, burstChanges, func(ctx context.Context) error {
		return burst(ctx, r, func(int) error { return r.AddNodes(ctx, 1) })
	})
	if err != nil {
		return err
	}
	row := r.add("join10", m, longest(m.Times()), burstTime+r.Limits.UpdatePorts, r.Services*r.Ports)
	row.Times = report.PercentilesOf(m.Times())
	return nil
}

// burst makes changes at a fixed interval.
func burst(ctx context.Context, r *Run, change func(number int) error) error {
	for i := range burstChanges {
		if i > 0 {
			if err := r.Pause(ctx, burstInterval); err != nil {
				return err
			}
		}
		if err := change(i); err != nil {
			return err
		}
	}
	return nil
}

// rolling replaces every node: a new one joins, and when all pools have it, the oldest one
// leaves. The times of all steps are added.
func rolling(ctx context.Context, r *Run) error {
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	var sum stage.Measured
	var took time.Duration
	sum.Calls.Routes = map[string]int{}
	nodes := r.Nodes()
	for range nodes {
		for _, step := range []struct {
			by     int
			change func(context.Context, int) error
		}{{1, r.AddNodes}, {-1, r.RemoveNodes}} {
			m, err := nodesChange(ctx, r, step.by, func(ctx context.Context) error { return step.change(ctx, 1) })
			if err != nil {
				return err
			}
			took += longest(m.Times())
			addMeasured(&sum, m)
		}
	}
	steps := 2 * nodes
	row := r.add("rolling", sum, took, time.Duration(steps)*r.Limits.UpdatePorts, steps*r.Services*r.Ports)
	row.AddFigure("nodes replaced", float64(nodes), "")
	return nil
}

// addMeasured adds what a step of several cost.
func addMeasured(sum *stage.Measured, m stage.Measured) {
	sum.Calls.Total += m.Calls.Total
	sum.Calls.Writes += m.Calls.Writes
	sum.CPU += m.CPU
	sum.Memory = m.Memory
	for route, n := range maps.All(m.Calls.Routes) {
		sum.Calls.Routes[route] += n
	}
}

// nodesChange measures until the pools have followed, by which number of nodes is how many
// there are more.
func nodesChange(ctx context.Context, r *Run, by int, change func(context.Context) error) (stage.Measured, error) {
	members, err := r.MembersGrow(ctx, by*r.Services*r.Ports)
	if err != nil {
		return stage.Measured{}, err
	}
	return r.Measure(ctx, change, members)
}

// local moves endpoints faster than Octavia can follow, as joinTen does with nodes.
func local(ctx context.Context, r *Run) error {
	if err := r.Depopulate(ctx); err != nil {
		return err
	}
	if err := r.AddNodes(ctx, max(0, 3-r.Nodes())); err != nil {
		return err
	}
	r.Say("preparing %d Services with externalTrafficPolicy Local", r.Services)
	names, err := r.LocalServices(ctx, r.Services, r.Ports)
	if err != nil {
		return err
	}
	m, err := r.Measure(ctx, func(ctx context.Context) error {
		// Each move is to another node, and in the end they are not where they were at first.
		return burst(ctx, r, func(i int) error { return r.MoveEndpoints(ctx, names, r.Ports, 1+i%2) })
	}, stage.Nothing)
	if err != nil {
		return err
	}
	row := r.add("local", m, longest(m.Times()), burstTime+r.Limits.UpdatePorts, r.Services*r.Ports)
	row.Times = report.PercentilesOf(m.Times())
	return r.Delete(ctx, names)
}
