// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// CreateListener adds a listener.
func (c *change) CreateListener(l *listener) {
	l.lb.listeners = append(l.lb.listeners, l)
	c.state.registerListener(l)
	c.add(&l.object)
	c.startListener()
}

// UpdateListener makes the listener what changed says.
func (c *change) UpdateListener(l *listener, changed listener) {
	*l = changed
	c.touch(&l.object, pendingUpdate)
	c.startListener()
}

// startListener starts a change of source ranges, which may not fit.
func (c *change) startListener() {
	c.fail = c.fail || !rulesFit(c.lb)
	c.Start()
}

// DeleteListener removes the listener with its policies.
func (c *change) DeleteListener(l *listener) {
	c.touch(&l.object, pendingDelete)
	c.remove = func() {
		l.lb.listeners = slices.DeleteFunc(l.lb.listeners, func(other *listener) bool { return other == l })
		c.state.dropListener(l)
	}
	c.Start()
}

func (s *State) registerListener(l *listener) {
	s.Listeners.Add(l)
	s.Quotas.used(l.lb.project).listeners++
	for _, policy := range l.policies {
		s.registerPolicy(policy)
	}
}

// dropListener takes a listener and its policies out of the state, but not out of
// its load balancer's list.
func (s *State) dropListener(l *listener) {
	for _, policy := range l.policies {
		s.dropPolicy(policy)
	}
	s.Listeners.Remove(l)
	s.Quotas.used(l.lb.project).listeners--
}

// CreatePolicy adds a policy to its listener, at a position.
func (c *change) CreatePolicy(policy *l7policy, position int) {
	c.touch(&policy.listener.object, pendingUpdate)
	policy.listener.placePolicy(policy, position)
	c.state.registerPolicy(policy)
	c.add(&policy.object)
	c.Start()
}

// UpdatePolicy makes the policy what changed says, and moves it if the position is
// not 0.
func (c *change) UpdatePolicy(policy *l7policy, changed l7policy, position int) {
	*policy = changed
	if position > 0 {
		policy.listener.removePolicy(policy)
		policy.listener.placePolicy(policy, position)
	}
	c.touchPolicy(policy)
	c.Start()
}

// DeletePolicy removes the policy with its rules.
func (c *change) DeletePolicy(policy *l7policy) {
	c.touch(&policy.listener.object, pendingUpdate)
	c.touch(&policy.object, pendingDelete)
	c.remove = func() {
		policy.listener.removePolicy(policy)
		c.state.dropPolicy(policy)
	}
	c.Start()
}

// registerPolicy puts a policy and its rules into the state.
func (s *State) registerPolicy(policy *l7policy) {
	u := s.Quotas.used(policy.listener.lb.project)
	s.Policies.Add(policy)
	u.policies++
	for _, rule := range policy.rules {
		s.Rules.Add(rule)
	}
	u.rules += len(policy.rules)
}

// dropPolicy takes a policy and its rules out of the state, but not out of its
// listener's list.
func (s *State) dropPolicy(policy *l7policy) {
	u := s.Quotas.used(policy.listener.lb.project)
	for _, rule := range policy.rules {
		s.Rules.Remove(rule)
	}
	u.rules -= len(policy.rules)
	s.Policies.Remove(policy)
	u.policies--
}

// CreateRule adds a rule to its policy.
func (c *change) CreateRule(rule *l7rule) {
	rule.policy.rules = append(rule.policy.rules, rule)
	c.state.Rules.Add(rule)
	c.state.Quotas.used(c.lb.project).rules++
	c.touchPolicy(rule.policy)
	c.add(&rule.object)
	c.Start()
}

// UpdateRule makes the rule what changed says. policy is the one that the request
// names, which need not be the rule's.
func (c *change) UpdateRule(policy *l7policy, rule *l7rule, changed l7rule) {
	*rule = changed
	c.touchPolicy(policy)
	c.touch(&rule.object, pendingUpdate)
	c.Start()
}

// DeleteRule removes the rule; policy is as with UpdateRule.
func (c *change) DeleteRule(policy *l7policy, rule *l7rule) {
	c.touchPolicy(policy)
	c.touch(&rule.object, pendingDelete)
	c.remove = func() {
		own := rule.policy
		own.rules = slices.DeleteFunc(own.rules, func(other *l7rule) bool { return other == rule })
		c.state.Rules.Remove(rule)
		c.state.Quotas.used(own.listener.lb.project).rules--
	}
	c.Start()
}
