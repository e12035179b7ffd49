// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/claim"
	"github.com/kube-octavia/kube-octavia/internal/decide"
	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/memory"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
	"github.com/kube-octavia/kube-octavia/internal/report"
	"github.com/kube-octavia/kube-octavia/internal/status"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Plan returns what a controller that was just started does for the Service, from a fresh
// look at the cloud, and what the cloud has.
func (p *Planner) Plan(ctx context.Context, service *corev1.Service) (diff.Plan, lb.Observed, error) {
	f := p.Facts(service, memory.Record{ServiceUID: service.UID}, time.Now(), timing.Default())
	f.Preview = true
	f, err := p.Observe(ctx, f)
	if err != nil {
		return diff.Plan{}, f.Record.Cloud.Observed, err
	}
	f = p.Desire(ctx, f)
	f, d, err := p.Decide(ctx, f, p.Provide)
	if err != nil {
		return diff.Plan{}, f.Record.Cloud.Observed, err
	}
	plan := d.Plan
	if w := d.Goal.Refused; w != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: w.Reason, Message: w.Message})
	}
	if w := d.Goal.Waits; w != nil {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonWaitingForGroup, Message: w.Error()})
	}
	for _, op := range d.Held {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: status.ReasonDrifted, Message: "left as it is by the Service's drift policy: " + op.String()})
	}
	return plan, d.Record.Cloud.Observed, nil
}

// Finder returns what finds orphans, with the Planner's clients.
func (p *Planner) Finder() *orphan.Finder {
	return &orphan.Finder{
		Policy: p.Policy, Config: p.Config, Reader: p.Reader, Octavia: p.Octavia, Neutron: p.Neutron, Barbican: p.Barbican,
		KeepSecurityGroups: p.Adopt == claim.AdoptObserve,
	}
}

// Source returns what the reports of `status` and `migrate` are made from.
func (p *Planner) Source() report.Source {
	return report.Source{Finder: p.Finder(), Capabilities: p.Capabilities, Planner: p}
}

// Owns implements report.Planner.
func (p *Planner) Owns(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.claims(service, p.Owner(service), l, floating)
}

// Shares implements report.Planner.
func (p *Planner) Shares(service *corev1.Service, l lb.LoadBalancer, floating []lb.FloatingIP) bool {
	return p.uses(service, l) || p.Owner(service).MayUse(l) && publishes(service, l, floating)
}

// Heads lists the load balancers of the cluster.
func (p *Planner) Heads(ctx context.Context) ([]octavia.Head, error) {
	return p.Octavia.Heads(ctx, lb.ClusterTag(p.ClusterUID))
}

// StoppedPlan plans for a Service on which work has stopped: only that the pools of its load
// balancer follow the nodes, if those changed since the pools last did. What another client
// made of the members meanwhile is no reason to.
func (p *Planner) StoppedPlan(ctx context.Context, f decide.Facts) (decide.Facts, decide.Decision, error) {
	o := f.Record.Cloud.Observed
	d := decide.Decision{Action: decide.Converge, Record: f.Record}
	if o.LoadBalancer == nil || o.LoadBalancer.ProvisioningStatus != lb.Active || decide.MissesIDs(*o.LoadBalancer) {
		return f, d, nil
	}
	in, err := p.input(ctx, f.Service, o)
	if err != nil {
		return f, d, err
	}
	f.Desired.Input = in
	return f, decide.DecideStopped(f), nil
}
