// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// The actions of L7 policies.
const (
	Reject           = "REJECT"
	RedirectToURL    = "REDIRECT_TO_URL"
	RedirectToPool   = "REDIRECT_TO_POOL"
	RedirectToPrefix = "REDIRECT_PREFIX"
)

// L7Policy determines what a listener does with requests that match its rules. The data plane
// ignores it.
type L7Policy struct {
	Object
	Listener          *Listener
	Name, Description string
	Target
	AdminUp bool
	Rules   []*L7Rule
}

// Tree returns the load balancer.
func (policy *L7Policy) Tree() *LoadBalancer { return policy.Listener.LB }

// Target is the destination to which a policy sends requests.
type Target struct {
	Action      string
	Pool        *Pool
	URL, Prefix string
	Code        int // of a redirection; 0 means none
}

// PlacePolicy inserts a policy into those of its listener: at a position, counted from 1, or at the
// end. Positions have no gaps.
func (l *Listener) PlacePolicy(policy *L7Policy, position int) {
	at := min(max(position-1, 0), len(l.Policies))
	l.Policies = slices.Insert(l.Policies, at, policy)
}

// RemovePolicy removes a policy from its listener.
func (l *Listener) RemovePolicy(policy *L7Policy) {
	l.Policies = slices.DeleteFunc(l.Policies, func(other *L7Policy) bool { return other == policy })
}

// Position returns the position of the policy in its listener, counted from 1.
func (policy *L7Policy) Position() int { return slices.Index(policy.Listener.Policies, policy) + 1 }

// L7Rule is one condition of a policy.
type L7Rule struct {
	Object
	Policy *L7Policy
	Condition
	AdminUp bool
}

// Tree returns the load balancer.
func (rule *L7Rule) Tree() *LoadBalancer { return rule.Policy.Tree() }

// Condition is what an L7 rule requires of a request.
type Condition struct {
	Kind, Compare, Key, Value string
	Invert                    bool
}

// UsesKey reports whether the type of rule has a key, such as a header's name.
func (c *Condition) UsesKey() bool {
	return c.Kind != "HOST_NAME" && c.Kind != "PATH" && c.Kind != "FILE_TYPE"
}
