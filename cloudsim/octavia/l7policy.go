// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

var policyResource = &resource[*l7policy]{
	kind: policiesView, path: "/l7policies", item: "/l7policies/{id}",
	root: "l7policy_", attributes: policyCreate, changes: policyUpdate,
	known: func(s *State) index[*l7policy] { return s.Policies },
	find:  func(r *request, write bool) (*l7policy, error) { return r.policy(r.PathValue("id"), r.may(write)) },
	rows: parts(func(lb *loadBalancer) []*l7policy {
		var all []*l7policy
		for _, l := range lb.listeners {
			all = append(all, l.policies...)
		}
		return all
	}),
	create: createPolicy, update: updatePolicy, remove: deletePolicy,
}

func createPolicy(r *request, v values) (*l7policy, error) {
	l, err := r.listener(v.text("listener_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if l.protocol == "PROMETHEUS" {
		return nil, errNoChildren
	}
	p, err := r.redirectPool(l, v)
	if err != nil {
		return nil, err
	}
	if err := r.State.Quotas.Check(l.lb.project, policyQuota, 1); err != nil {
		return nil, err
	}
	policy, err := r.newPolicy(l, v, p)
	if err != nil {
		return nil, err
	}
	if err := checkMutable(l.lb); err != nil {
		return nil, err
	}
	if err := checkTarget(policy); err != nil {
		return nil, err
	}
	if len(policy.rules) > 0 {
		return nil, errNestedCreate
	}
	if err := checkPolicy(policy); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), l.lb, pendingUpdate).CreatePolicy(policy, v.number("position", lastPosition))
	return policy, nil
}

func updatePolicy(r *request, policy *l7policy, v values) error {
	changed := *policy
	if err := r.changePolicy(&changed, v); err != nil {
		return err
	}
	lb := policy.listener.lb
	if err := checkMutable(lb); err != nil {
		return err
	}
	if err := checkTarget(&changed); err != nil {
		return err
	}
	r.State.Begin(r.Context(), lb, pendingUpdate).UpdatePolicy(policy, changed, v.number("position", 0))
	return nil
}

func deletePolicy(r *request, policy *l7policy) error {
	lb := policy.listener.lb
	if err := checkMutable(lb); err != nil {
		return err
	}
	r.State.Begin(r.Context(), lb, pendingUpdate).DeletePolicy(policy)
	return nil
}
