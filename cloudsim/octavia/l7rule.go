// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

var ruleResource = &resource[*l7rule]{
	kind: rulesView, path: "/l7policies/{id}/rules", item: "/l7policies/{id}/rules/{rule}",
	root: "rule_", changeRoot: "l7rule_", attributes: ruleCreate, changes: ruleUpdate,
	known: func(s *State) index[*l7rule] { return s.Rules },
	find:  func(r *request, write bool) (*l7rule, error) { return r.rule(r.may(write)) },
	rows: func(r *request) ([]*l7rule, error) {
		policy, err := r.policyInPath(r.mayRead)
		if err != nil {
			return nil, err
		}
		return policy.rules, nil
	},
	create: createRule, update: updateRule, remove: deleteRule,
}

func createRule(r *request, v values) (*l7rule, error) {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return nil, err
	}
	rule, err := r.newRule(policy, v)
	if err != nil {
		return nil, err
	}
	if len(policy.rules) >= mostRules {
		return nil, tooManyRules(policy)
	}
	lb := policy.listener.lb
	if err := r.State.Quotas.Check(lb.project, ruleQuota, 1); err != nil {
		return nil, err
	}
	if err := policy.checkParents(); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), lb, pendingUpdate).CreateRule(rule)
	return rule, nil
}

func updateRule(r *request, rule *l7rule, v values) error {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return err
	}
	changed := *rule
	if err := changed.change(v); err != nil {
		return err
	}
	if err := policy.checkParents(); err != nil {
		return err
	}
	r.State.Begin(r.Context(), policy.listener.lb, pendingUpdate).UpdateRule(policy, rule, changed)
	return nil
}

func deleteRule(r *request, rule *l7rule) error {
	policy, err := r.policyInPath(r.mayWrite)
	if err != nil {
		return err
	}
	if err := policy.checkParents(); err != nil {
		return err
	}
	r.State.Begin(r.Context(), policy.listener.lb, pendingUpdate).DeleteRule(policy, rule)
	return nil
}
