// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package scenario has what the bench measures: one file for each subject.
package scenario

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
	"github.com/kube-octavia/kube-octavia/test/bench/report"
	"github.com/kube-octavia/kube-octavia/test/bench/stage"
)

// Scenario is one thing to measure.
type Scenario struct {
	Name, About string
	// Own returns the stage that the scenario needs for itself; nil if it uses the stage that
	// the others use.
	Own func(*Run) Needs
	// OnlyThis is set if other controllers than kube-octavia lack what is measured.
	OnlyThis bool
	run      func(context.Context, *Run) error
}

// Needs are those of a scenario that has a stage of its own: a simulated cloud that takes no
// time. There the controller first runs with flags for handling many Services fast; after
// Stop and Restart it is the usual one.
type Needs struct {
	// Conf are lines for the section LoadBalancer of cloud.conf.
	Conf  string
	Nodes int
	// ClusterIPs lets Services be of type ClusterIP, in cluster-ip mode.
	ClusterIPs bool
	// Flags are further flags of the controller.
	Flags []string
}

// All are the scenarios, in the order in which they are measured by default.
var All = []Scenario{
	{Name: "create", About: "N Services are created at once", run: create},
	{Name: "resync", About: "an annotation without meaning changes on every Service", run: resync},
	{Name: "join", About: "a node joins", run: join},
	{Name: "rolling", About: "all nodes are replaced, one after the other", run: rolling},
	{Name: "port", About: "every Service gets one more port", run: addPort},
	{Name: "local", About: "externalTrafficPolicy Local: the endpoint of every Service moves ten times in 5 s", run: local},
	{Name: "rollout", About: "target-type pod: 100 Pods of every Service are replaced in 20 s", OnlyThis: true, run: rollout},
	{Name: "drift", About: "another client empties a pool of some load balancers", run: drift},
	{Name: "stuck", About: "a node joins while one load balancer is stuck (simulated cloud only)", run: stuck},
	{Name: "restart", About: "the controller stops and another one starts, without and with a changed Service", run: restart},
	{Name: "idle", About: "nothing happens", run: idle},
	{Name: "join10", About: "ten nodes join in 5 s", run: joinTen},
	{Name: "delete", About: "N Services are deleted at once", run: deleteAll},
	{Name: "throttle", About: "Octavia answers 429 to everything while N Services are created", run: throttle},
	{Name: "kill", About: "kill -9 at a random moment of a create, then a restart", run: kill},
	{Name: "scale", About: "many Services: restart and idle (simulated cloud that takes no time)", Own: scaleNeeds, run: scale},
	{Name: "subset", About: "max-members: load balancers that a joining node touches (simulated cloud that takes no time)", Own: subsetNeeds, run: subset},
	{Name: "clusterip", About: "many Services of type ClusterIP: create, restart and idle (simulated cloud that takes no time)", OnlyThis: true, Own: clusterIPNeeds, run: clusterIPs},
	{Name: "nodes", About: "many Nodes register and are initialized; idle (simulated cloud that takes no time)", OnlyThis: true, Own: nodesNeeds, run: nodes},
}

// Named returns the scenarios with these names, in this order; all for no names.
func Named(names []string) ([]Scenario, error) {
	if len(names) == 0 {
		return All, nil
	}
	var chosen []Scenario
	for _, name := range names {
		i := slices.IndexFunc(All, func(s Scenario) bool { return s.Name == name })
		if i < 0 {
			var known []string
			for _, s := range All {
				known = append(known, s.Name)
			}
			return nil, fmt.Errorf("unknown scenario %q: use some of %s", name, strings.Join(known, ", "))
		}
		chosen = append(chosen, All[i])
	}
	return chosen, nil
}

// Options are the sizes of scenarios, apart from the number of Services and ports.
type Options struct {
	// Idle is how long idle and scale observe a controller without work.
	Idle time.Duration
	// Rounds is how often stuck and kill repeat.
	Rounds int
	// Seed is for random moments.
	Seed uint64
	// Drift is how many load balancers another client changes.
	Drift int
	// Throttle is how long Octavia answers 429.
	Throttle time.Duration
	// ScaleServices and ScalePorts are the size of scale.
	ScaleServices, ScalePorts int
	// SubsetServices, SubsetNodes and MaxMembers are the size of subset.
	SubsetServices, SubsetNodes, MaxMembers int
}

// Run is one scenario for one controller and one size.
type Run struct {
	Options
	*stage.Stage
	// Size is the number of Services and ports.
	Size
	// Limits are those of the cloud for this size.
	Limits cloud.Limits
	// LimitsOf are those for another number of Services.
	LimitsOf func(ctx context.Context, services int) (cloud.Limits, error)

	rows []*report.Row
	// nodes is how many there were at the beginning.
	nodes int
}

// Size is the number of Services, and of ports of each.
type Size struct{ Services, Ports int }

// Measure runs the scenario. If it fails, the rows until then are returned too.
func (s Scenario) Measure(ctx context.Context, r Run) ([]*report.Row, error) {
	r.nodes = r.Nodes()
	err := s.run(ctx, &r)
	return r.rows, err
}

// add adds a row. The time is what counts as the duration of the scenario.
func (r *Run) add(name string, m stage.Measured, took, limit time.Duration, limitWrites int) *report.Row {
	row := &report.Row{
		Scenario: name, Services: r.Services, Ports: r.Ports, Nodes: r.nodes, Affected: r.Services,
		Calls: m.Calls.Total, Writes: m.Calls.Writes, Routes: maps.Clone(m.Calls.Routes), LimitWrites: limitWrites,
		Seconds: took.Seconds(), LimitSeconds: limit.Seconds(), CPUSeconds: m.CPU.Seconds(), MB: m.Memory,
	}
	r.rows = append(r.rows, row)
	r.Say("%s: %d calls, %d of them writes (%d needed), %.1f s (limit %.1f s)", name, row.Calls, row.Writes, limitWrites, row.Seconds, row.LimitSeconds)
	return row
}

// The goals of the project for times, compared with the limit of the cloud.
const goalRatio = 1.15

func goals(row *report.Row, callsPerService float64) {
	row.AddGoal("calls per Service", row.CallsPerService(), callsPerService)
	if row.LimitSeconds > 0 {
		row.AddGoal("time divided by the limit", row.SecondsRatio(), goalRatio)
	}
}

// longest returns the last of some times.
func longest(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times)
}
