// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/decide"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Plan returns what a controller that was just started would do for the Service, and what the
// Service has in the cloud.
func (p *Planner) Plan(ctx context.Context, of claim.Owner) (diff.Plan, lb.Observed, error) {
	return p.plan(ctx, of, p.Observer.Observe)
}

// PlanListed is Plan for one of many Services. What the lists show is not read again, and members only if the load
// balancer has changed since a controller last confirmed it: see survey.Choose.
func (p *Planner) PlanListed(ctx context.Context, of claim.Owner, lists *survey.Lists) (diff.Plan, lb.Observed, error) {
	return p.plan(ctx, of, func(ctx context.Context, f decide.Facts) (decide.Facts, error) {
		f, done, err := p.Observer.ObservePlain(ctx, f, lists.Snapshot)
		if done || err != nil {
			return f, err
		}
		return p.Observer.ObserveInLists(ctx, f, lists)
	})
}

// plan returns the plan for what observe returns.
func (p *Planner) plan(ctx context.Context, of claim.Owner, observe func(context.Context, decide.Facts) (decide.Facts, error)) (diff.Plan, lb.Observed, error) {
	f, d, err := p.preview(ctx, of, observe, p.Provide)
	if err != nil {
		return diff.Plan{}, f.Record.Cloud.Observed, err
	}
	return withRefusals(d), d.Record.Cloud.Observed, nil
}

// preview returns the decision about what observe returns, and the facts.
func (p *Planner) preview(ctx context.Context, of claim.Owner, observe func(context.Context, decide.Facts) (decide.Facts, error),
	provide func(context.Context, decide.Facts, decide.Decision) (decide.Facts, error)) (decide.Facts, decide.Decision, error) {
	f := p.Facts(of, memory.Record{ServiceUID: of.UID}, time.Now(), timing.Default())
	f.Preview = true
	f, err := observe(ctx, f)
	if err != nil {
		return f, decide.Decision{}, err
	}
	return p.Decide(ctx, p.BuildDesired(ctx, f), provide)
}

// withRefusals returns the plan of the decision. Its refusals also name everything that the decision refuses, and drift
// that is not repaired.
func withRefusals(d decide.Decision) diff.Plan {
	plan := d.Plan
	refuse := func(reason, message string) {
		plan.Refused = append(plan.Refused, diff.Refusal{Reason: reason, Message: message})
	}
	if r := d.Goal.Refused; r != nil {
		refuse(r.Reason, r.Message)
	}
	if w := d.Goal.Waits; w != nil {
		refuse(status.ReasonWaitingForGroup, w.Error())
	}
	for _, op := range d.Held {
		refuse(status.ReasonDrifted, "not repaired because of the Service's drift policy: "+op.String())
	}
	return plan
}

// Finder returns a finder of orphans.
func (p *Planner) Finder() *orphan.Finder {
	return &orphan.Finder{
		Policy: p.Options.Policy, Config: p.Options.Config, Kinds: p.Options.Kinds, Reader: p.Options.Reader, Octavia: p.Options.Octavia, Neutron: p.Options.Neutron, Barbican: p.Options.Barbican,
		KeepSecurityGroups: p.Options.Adopt == claim.AdoptObserve,
	}
}
