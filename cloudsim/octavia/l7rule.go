// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var ruleResource = &resource[*model.L7Rule]{
	kind: view.Rules, path: "/l7policies/{id}/rules", item: "/l7policies/{id}/rules/{rule}",
	root: "rule_", changeRoot: "l7rule_", attributes: schema.RuleCreate, changes: schema.RuleUpdate,
	known: func(s *state.State) state.Index[*model.L7Rule] { return s.Rules },
	find:  func(r *request, write bool) (*model.L7Rule, error) { return r.rule(r.may(write)) },
	rows: func(r *request) ([]*model.L7Rule, error) {
		policy, err := r.policyInPath(r.mayRead)
		if err != nil {
			return nil, err
		}
		return policy.Rules, nil
	},
	create: createRule, update: updateRule, remove: deleteRule,
}

func createRule(r *request, v schema.Values) (*model.L7Rule, error) {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return nil, err
	}
	rule, err := r.checks.NewRule(policy, v)
	if err != nil {
		return nil, err
	}
	if len(policy.Rules) >= validate.MostRules {
		return nil, validate.TooManyRules(policy)
	}
	lb := policy.Tree()
	if err := r.state.Quotas.Check(lb.Project, model.RuleQuota, 1); err != nil {
		return nil, err
	}
	if err := validate.CheckPolicyParents(policy); err != nil {
		return nil, err
	}
	r.state.Begin(r.Context(), lb, model.PendingUpdate).CreateRule(rule)
	return rule, nil
}

func updateRule(r *request, rule *model.L7Rule, v schema.Values) error {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return err
	}
	changed := *rule
	if err := validate.ChangeRule(&changed, v); err != nil {
		return err
	}
	if err := validate.CheckPolicyParents(policy); err != nil {
		return err
	}
	r.state.Begin(r.Context(), policy.Tree(), model.PendingUpdate).UpdateRule(policy, rule, changed)
	return nil
}

func deleteRule(r *request, rule *model.L7Rule) error {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return err
	}
	if err := validate.CheckPolicyParents(policy); err != nil {
		return err
	}
	r.state.Begin(r.Context(), policy.Tree(), model.PendingUpdate).DeleteRule(policy, rule)
	return nil
}
