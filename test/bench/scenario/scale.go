// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// scaleNodes is how many nodes the cluster of many Services has.
const scaleNodes = 3

func scaleNeeds(*Run) Needs { return Needs{Nodes: scaleNodes} }

// scale creates many Services with a controller that is allowed to be fast, and then
// measures the usual one: its restart, and what it costs without work.
func scale(ctx context.Context, r *Run) error {
	r.Services, r.Ports = r.ScaleServices, r.ScalePorts
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	if err := restartOf(ctx, r, "scale, restart"); err != nil {
		return err
	}
	goalMB, goalCPU := 100.0, 2.0
	if r.Services > 1000 {
		goalMB, goalCPU = 400, 3
	}
	return idleOf(ctx, r, "scale, idle", goalMB, goalCPU)
}

func clusterIPNeeds(*Run) Needs { return Needs{Nodes: scaleNodes, ClusterIPs: true} }

// clusterIPs is scale for Services of type ClusterIP with one port, beginning with their creation.
func clusterIPs(ctx context.Context, r *Run) error {
	r.Services, r.Ports = r.ScaleServices, 1
	m, err := r.Measure(ctx, func(ctx context.Context) error { return r.Create(ctx, r.Services, r.Ports) }, stage.Nothing)
	if err != nil {
		return err
	}
	row := r.add("clusterip, create", m, 0, 0, r.Services)
	goals(row, 5) // one less than for an external Service, which has a floating IP
	if err := restartOf(ctx, r, "clusterip, restart"); err != nil {
		return err
	}
	return idleOf(ctx, r, "clusterip, idle", 100, 2)
}

func nodesNeeds(*Run) Needs {
	return Needs{Flags: []string{"--controllers=service,node,node-lifecycle"}}
}

// nodes lets as many Nodes register at once as subset has, and then observes the controller without work.
func nodes(ctx context.Context, r *Run) error {
	r.Services, r.Ports = 0, 0
	names, err := r.AddServers(r.SubsetNodes)
	if err != nil {
		return err
	}
	var took time.Duration
	m, err := r.Measure(ctx, func(ctx context.Context) error {
		began := time.Now()
		if err := r.Register(ctx, names); err != nil {
			return err
		}
		err := r.Wait(ctx, "the Nodes to be initialized", r.Initialized)
		took = time.Since(began)
		return err
	}, stage.Nothing)
	if err != nil {
		return err
	}
	r.nodes = len(names)
	row := r.add("nodes, register", m, took, 0, 0)
	row.AddFigure("calls divided by one for each Node", report.Ratio(float64(m.Calls.Total), float64(len(names))), "")
	return idleOf(ctx, r, "nodes, idle", 0, 0)
}

// subsetJoins is how many nodes join, one after the other. The UIDs of the Services decide by chance which load balancers a
// node concerns: with five nodes, one run in twenty would miss the goal.
const subsetJoins = 20

func subsetNeeds(r *Run) Needs {
	return Needs{Nodes: r.SubsetNodes, Conf: fmt.Sprintf("max-members=%d\n", r.MaxMembers)}
}

// subset counts the load balancers that a joining node touches. A pool of max-members nodes
// out of all needs the new node with the probability max-members / nodes.
func subset(ctx context.Context, r *Run) error {
	r.Services, r.Ports = r.SubsetServices, 1
	if err := r.Populate(ctx, r.Services, r.Ports); err != nil {
		return err
	}
	if err := r.Stop(); err != nil {
		return err
	}
	if err := r.Restart(); err != nil {
		return err
	}
	if err := r.Settle(ctx, r.Called); err != nil {
		return err
	}
	expected := float64(r.Services) * math.Min(1, float64(r.MaxMembers)/float64(r.Nodes()))
	sum := stage.Measured{Calls: cloud.Calls{Routes: map[string]int{}}}
	touched := 0
	for range subsetJoins {
		m, err := r.Measure(ctx, func(ctx context.Context) error { return r.AddNodes(ctx, 1) }, stage.Nothing)
		if err != nil {
			return err
		}
		touched += len(m.Finished)
		addMeasured(&sum, m)
	}
	row := r.add("subset", sum, 0, 0, int(math.Round(subsetJoins*expected)))
	row.AddFigure("max-members", float64(r.MaxMembers), "")
	row.AddFigure("nodes that joined, one after the other", subsetJoins, "")
	row.AddFigure("load balancers touched by each", float64(touched)/subsetJoins, "")
	row.AddFigure("load balancers expected", expected, "")
	row.AddGoal("load balancers touched divided by expected", report.Ratio(float64(touched)/subsetJoins, expected), 1.2)
	return nil
}
