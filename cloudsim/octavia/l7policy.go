// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var policyResource = &resource[*model.L7Policy]{
	kind: view.Policies, path: "/l7policies", item: "/l7policies/{id}",
	root: "l7policy_", attributes: schema.PolicyCreate, changes: schema.PolicyUpdate,
	known: func(s *state.State) state.Index[*model.L7Policy] { return s.Policies },
	find:  byID((*request).policy),
	rows: parts(func(lb *model.LoadBalancer) []*model.L7Policy {
		var all []*model.L7Policy
		for _, l := range lb.Listeners {
			all = append(all, l.Policies...)
		}
		return all
	}),
	create: createPolicy, update: updatePolicy, remove: deletePolicy,
}

func createPolicy(r *request, v schema.Values) (*model.L7Policy, error) {
	l, err := r.listener(v.Text("listener_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if l.Protocol == "PROMETHEUS" {
		return nil, fault.ErrNoChildren
	}
	p, err := r.checks.RedirectPool(l, v)
	if err != nil {
		return nil, err
	}
	if err := r.state.Quotas.Check(l.LB.Project, model.PolicyQuota, 1); err != nil {
		return nil, err
	}
	policy, err := r.checks.NewPolicy(l, v, p)
	if err != nil {
		return nil, err
	}
	if err := validate.CheckMutable(l.LB); err != nil {
		return nil, err
	}
	if err := validate.CheckTarget(policy); err != nil {
		return nil, err
	}
	if len(policy.Rules) > 0 {
		return nil, fault.ErrNestedCreate
	}
	if err := provider.CheckPolicy(policy); err != nil {
		return nil, err
	}
	r.state.Begin(r.Context(), l.LB, model.PendingUpdate).CreatePolicy(policy, v.Number("position", schema.LastPosition))
	return policy, nil
}

func updatePolicy(r *request, policy *model.L7Policy, v schema.Values) error {
	changed := *policy
	if err := r.checks.ChangePolicy(&changed, v); err != nil {
		return err
	}
	lb := policy.Tree()
	if err := validate.CheckMutable(lb); err != nil {
		return err
	}
	if err := validate.CheckTarget(&changed); err != nil {
		return err
	}
	r.state.Begin(r.Context(), lb, model.PendingUpdate).UpdatePolicy(policy, changed, v.Number("position", 0))
	return nil
}

func deletePolicy(r *request, policy *model.L7Policy) error {
	lb := policy.Tree()
	if err := validate.CheckMutable(lb); err != nil {
		return err
	}
	r.state.Begin(r.Context(), lb, model.PendingUpdate).DeletePolicy(policy)
	return nil
}
