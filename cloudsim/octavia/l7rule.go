// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

// mostRules is how many rules a policy may have.
const mostRules = 50

func tooManyRules(policy *l7policy) error {
	return faultf(http.StatusConflict, "Too many rules on L7 policy %s", policy.id)
}

// newRule makes and checks a rule without putting it into the state.
func (s *Service) newRule(policy *l7policy, v values) (*l7rule, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	rule := &l7rule{
		object: newObject(s.now(), tags), policy: policy, adminUp: v.flag("admin_state_up", true),
		condition: condition{
			kind: v.text("type"), compare: v.text("compare_type"), key: v.text("key"),
			value: v.text("value"), invert: v.flag("invert", false),
		},
	}
	return rule, rule.check()
}

// checkParents refuses changes in a policy that is not ACTIVE itself, or whose
// load balancer is not.
func (policy *l7policy) checkParents() error {
	if policy.prov != active {
		return immutable("L7Policy", policy.id.String())
	}
	if lb := policy.listener.lb; lb.prov != active {
		return immutable("Load Balancer", lb.id.String())
	}
	return nil
}

// touchPolicy marks a policy and its listener, as every change in it does.
func (s *Service) touchPolicy(c *change, policy *l7policy) {
	s.touch(c, &policy.listener.object, pendingUpdate)
	s.touch(c, &policy.object, pendingUpdate)
}

// policyInPath finds the policy whose rules the path names.
func (s *Service) policyInPath(r *request, may func(string) error) (*l7policy, error) {
	id := r.PathValue("id")
	if s.policies[parseID(id)] == nil {
		return nil, outsideFault(http.StatusNotFound, "L7Policy %s not found.", id)
	}
	return s.policy(id, may)
}

// rule finds a rule and the policy that the path names. Nobody asks whether the
// rule is that policy's.
func (s *Service) rule(r *request, may func(string) error) (*l7policy, *l7rule, error) {
	policy, err := s.policyInPath(r, may)
	if err != nil {
		return nil, nil, err
	}
	id := r.PathValue("rule")
	found, ok := s.rules[parseID(id)]
	rule, err := access(found, ok, "L7 Rule", id, func(rule *l7rule) string { return rule.policy.listener.lb.project }, may)
	return policy, rule, err
}

func (s *Service) createRule(r *request) (answer, error) {
	v, err := s.parse(r.body, "rule_", "rule", ruleCreate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, err := s.policyInPath(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	rule, err := s.newRule(policy, v)
	if err != nil {
		return answer{}, err
	}
	if len(policy.rules) >= mostRules {
		return answer{}, tooManyRules(policy)
	}
	lb := policy.listener.lb
	if err := s.checkQuota(lb.project, ruleQuota, 1); err != nil {
		return answer{}, err
	}
	if err := policy.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), lb, pendingUpdate)
	policy.rules = append(policy.rules, rule)
	s.rules[rule.id] = rule
	s.used(lb.project).rules++
	s.touchPolicy(c, policy)
	s.add(c, &rule.object)
	s.start(c)
	return s.one(r, http.StatusCreated, "rule", func(d *document) { renderRule(d, rule) }), nil
}

func (s *Service) listRules(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	policy, err := s.policyInPath(r, r.mayRead)
	if err != nil {
		return answer{}, err
	}
	l := listing[*l7rule]{
		key: "rules", known: s.rules, rows: slices.Clone(policy.rules), column: ruleColumn, sample: &l7rule{policy: policy},
		render: renderRule,
	}
	return list(s, r, l)
}

func (s *Service) showRule(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, rule, err := s.rule(r, r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "rule", func(d *document) { renderRule(d, rule) }), nil
}

func (s *Service) updateRule(r *request) (answer, error) {
	v, err := s.parse(r.body, "l7rule_", "rule", ruleUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, rule, err := s.rule(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *rule
	if err := changed.change(v); err != nil {
		return answer{}, err
	}
	if err := policy.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), policy.listener.lb, pendingUpdate)
	*rule = changed
	s.touchPolicy(c, policy)
	s.touch(c, &rule.object, pendingUpdate)
	s.start(c)
	return s.one(r, http.StatusOK, "rule", func(d *document) { renderRule(d, rule) }), nil
}

// change applies and checks an update.
func (rule *l7rule) change(v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		rule.tags = tags
	}
	setText(&rule.kind, v, "type")
	setText(&rule.compare, v, "compare_type")
	setText(&rule.key, v, "key")
	setText(&rule.value, v, "value")
	rule.invert = v.flag("invert", rule.invert)
	rule.adminUp = v.flag("admin_state_up", rule.adminUp)
	if err := rule.check(); err != nil {
		return err
	}
	if !rule.usesKey() {
		rule.key = ""
	}
	return nil
}

func (s *Service) deleteRule(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, rule, err := s.rule(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := policy.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), policy.listener.lb, pendingUpdate)
	s.touchPolicy(c, policy)
	s.touch(c, &rule.object, pendingDelete)
	c.remove = func() {
		own := rule.policy
		own.rules = slices.DeleteFunc(own.rules, func(other *l7rule) bool { return other == rule })
		delete(s.rules, rule.id)
		s.used(own.listener.lb.project).rules--
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}
