// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

// mostRules is how many rules a policy may have.
const mostRules = 50

func tooManyRules(policy *l7policy) error {
	return faultf(http.StatusConflict, "Too many rules on L7 policy %s", policy.id)
}

// newRule makes and checks a rule without putting it into the state.
func (c *Checks) newRule(policy *l7policy, v values) (*l7rule, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	rule := &l7rule{
		object: newObject(c.State.Now(), tags), policy: policy, adminUp: v.flag("admin_state_up", true),
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
	return checkMutable(policy.listener.lb)
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
	v.set("type", &rule.kind)
	v.set("compare_type", &rule.compare)
	v.set("key", &rule.key)
	v.set("value", &rule.value)
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
