// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package state

import (
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
)

// CreateListener adds a listener.
func (c *Change) CreateListener(l *model.Listener) {
	l.LB.Listeners = append(l.LB.Listeners, l)
	c.state.registerListener(l)
	c.add(&l.Object)
	c.aboutListener(l)
	c.startListener()
}

// UpdateListener changes the listener to changed.
func (c *Change) UpdateListener(l *model.Listener, changed model.Listener) {
	*l = changed
	c.touch(&l.Object, model.PendingUpdate)
	c.aboutListener(l)
	c.startListener()
}

// startListener starts the change of a listener. Source ranges that do not match all VIPs make it
// fail.
func (c *Change) startListener() {
	c.fail = c.fail || !c.state.securityGroupFits(c.lb)
	c.admits = true
	c.Start()
}

// securityGroupFits reports whether Octavia can create the rules of the VIP's security group.
func (s *State) securityGroupFits(lb *model.LoadBalancer) bool {
	return s.options.RangesOfOneFamily || provider.SecurityGroupFits(lb)
}

// DeleteListener removes the listener with its policies.
func (c *Change) DeleteListener(l *model.Listener) {
	c.touch(&l.Object, model.PendingDelete)
	c.about(&l.Object)
	c.admits = true
	c.remove = func() {
		l.LB.Listeners = slices.DeleteFunc(l.LB.Listeners, func(other *model.Listener) bool { return other == l })
		c.state.dropListener(l)
	}
	c.Start()
}

func (s *State) registerListener(l *model.Listener) {
	s.Listeners.Add(l)
	s.Quotas.used(l.LB.Project)[model.ListenerQuota]++
	for _, policy := range l.Policies {
		s.registerPolicy(policy)
	}
}

// dropListener removes a listener and its policies from the state, but not from its load balancer's
// list.
func (s *State) dropListener(l *model.Listener) {
	for _, policy := range l.Policies {
		s.dropPolicy(policy)
	}
	s.Listeners.Remove(l)
	s.Quotas.used(l.LB.Project)[model.ListenerQuota]--
}

// CreatePolicy adds a policy to its listener, at a position.
func (c *Change) CreatePolicy(policy *model.L7Policy, position int) {
	c.touch(&policy.Listener.Object, model.PendingUpdate)
	policy.Listener.PlacePolicy(policy, position)
	c.state.registerPolicy(policy)
	c.add(&policy.Object)
	c.about(&policy.Object)
	c.Start()
}

// UpdatePolicy changes the policy to changed, and moves it if the position is not 0.
func (c *Change) UpdatePolicy(policy *model.L7Policy, changed model.L7Policy, position int) {
	*policy = changed
	if position > 0 {
		policy.Listener.RemovePolicy(policy)
		policy.Listener.PlacePolicy(policy, position)
	}
	c.touchPolicy(policy)
	c.about(&policy.Object)
	c.Start()
}

// DeletePolicy removes the policy with its rules.
func (c *Change) DeletePolicy(policy *model.L7Policy) {
	c.touch(&policy.Listener.Object, model.PendingUpdate)
	c.touch(&policy.Object, model.PendingDelete)
	c.about(&policy.Object)
	c.remove = func() {
		policy.Listener.RemovePolicy(policy)
		c.state.dropPolicy(policy)
	}
	c.Start()
}

// registerPolicy adds a policy and its rules to the state.
func (s *State) registerPolicy(policy *model.L7Policy) {
	u := s.Quotas.used(policy.Tree().Project)
	s.Policies.Add(policy)
	u[model.PolicyQuota]++
	for _, rule := range policy.Rules {
		s.Rules.Add(rule)
	}
	u[model.RuleQuota] += len(policy.Rules)
}

// dropPolicy removes a policy and its rules from the state, but not from its listener's list.
func (s *State) dropPolicy(policy *model.L7Policy) {
	u := s.Quotas.used(policy.Tree().Project)
	for _, rule := range policy.Rules {
		s.Rules.Remove(rule)
	}
	u[model.RuleQuota] -= len(policy.Rules)
	s.Policies.Remove(policy)
	u[model.PolicyQuota]--
}

// CreateRule adds a rule to its policy.
func (c *Change) CreateRule(rule *model.L7Rule) {
	rule.Policy.Rules = append(rule.Policy.Rules, rule)
	c.state.Rules.Add(rule)
	c.state.Quotas.used(c.lb.Project)[model.RuleQuota]++
	c.touchPolicy(rule.Policy)
	c.add(&rule.Object)
	c.about(&rule.Object)
	c.Start()
}

// UpdateRule changes the rule to changed. policy is the one that the request names, which may be
// another than the rule's.
func (c *Change) UpdateRule(policy *model.L7Policy, rule *model.L7Rule, changed model.L7Rule) {
	*rule = changed
	c.touchPolicy(policy)
	c.touch(&rule.Object, model.PendingUpdate)
	c.about(&rule.Object)
	c.Start()
}

// DeleteRule removes the rule; policy is as with UpdateRule.
func (c *Change) DeleteRule(policy *model.L7Policy, rule *model.L7Rule) {
	c.touchPolicy(policy)
	c.touch(&rule.Object, model.PendingDelete)
	c.about(&rule.Object)
	c.remove = func() {
		own := rule.Policy
		own.Rules = slices.DeleteFunc(own.Rules, func(other *model.L7Rule) bool { return other == rule })
		c.state.Rules.Remove(rule)
		c.state.Quotas.used(own.Listener.LB.Project)[model.RuleQuota]--
	}
	c.Start()
}
