// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// MostRules is the maximum number of rules of a policy.
const MostRules = 50

// TooManyRules returns the fault of one rule too many.
func TooManyRules(policy *model.L7Policy) error {
	return fault.New(http.StatusConflict, "Too many rules on L7 policy %s", policy.ID)
}

// NewRule makes and checks a rule without adding it to the state.
func (c *Checks) NewRule(policy *model.L7Policy, v schema.Values) (*model.L7Rule, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	rule := &model.L7Rule{
		Object: model.NewObject(c.State.Now(), tags), Policy: policy, AdminUp: v.Flag("admin_state_up", true),
		Condition: model.Condition{
			Kind: v.Text("type"), Compare: v.Text("compare_type"), Key: v.Text("key"),
			Value: v.Text("value"), Invert: v.Flag("invert", false),
		},
	}
	return rule, checkCondition(&rule.Condition)
}

// CheckPolicyParents refuses changes of the rules of a policy if the policy or its load balancer is
// not ACTIVE.
func CheckPolicyParents(policy *model.L7Policy) error {
	if policy.Provisioning != model.Active {
		return fault.Immutable("L7Policy", policy.ID.String())
	}
	return CheckMutable(policy.Tree())
}

// ChangeRule applies and checks an update.
func ChangeRule(rule *model.L7Rule, v schema.Values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		rule.Tags = tags
	}
	v.Set("type", &rule.Kind)
	v.Set("compare_type", &rule.Compare)
	v.Set("key", &rule.Key)
	v.Set("value", &rule.Value)
	rule.Invert = v.Flag("invert", rule.Invert)
	rule.AdminUp = v.Flag("admin_state_up", rule.AdminUp)
	if err := checkCondition(&rule.Condition); err != nil {
		return err
	}
	if !rule.UsesKey() {
		rule.Key = ""
	}
	return nil
}
