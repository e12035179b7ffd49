// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "slices"

// The actions of L7 policies.
const (
	reject           = "REJECT"
	redirectToURL    = "REDIRECT_TO_URL"
	redirectToPool   = "REDIRECT_TO_POOL"
	redirectToPrefix = "REDIRECT_PREFIX"
)

// l7policy says what a listener does with requests that fit its rules. The data
// plane does not follow it.
type l7policy struct {
	object
	listener          *listener
	name, description string
	target
	adminUp bool
	rules   []*l7rule
}

// target is where a policy sends requests.
type target struct {
	action      string
	pool        *pool
	url, prefix string
	code        int // of a redirection, 0 is none
}

// placePolicy puts a policy among those of its listener: at a position, counted
// from 1, or at the end. Policies are always numbered without gaps.
func (l *listener) placePolicy(policy *l7policy, position int) {
	at := min(max(position-1, 0), len(l.policies))
	l.policies = slices.Insert(l.policies, at, policy)
}

func (l *listener) removePolicy(policy *l7policy) {
	l.policies = slices.DeleteFunc(l.policies, func(other *l7policy) bool { return other == policy })
}

func (policy *l7policy) position() int { return slices.Index(policy.listener.policies, policy) + 1 }

// l7rule is one condition of a policy.
type l7rule struct {
	object
	policy *l7policy
	condition
	adminUp bool
}

// condition is what an L7 rule asks of a request.
type condition struct {
	kind, compare, key, value string
	invert                    bool
}

// usesKey reports whether the type of rule has a key, such as a header's name.
func (c *condition) usesKey() bool {
	return c.kind != "HOST_NAME" && c.kind != "PATH" && c.kind != "FILE_TYPE"
}
