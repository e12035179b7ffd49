// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
)

// redirectCode is the default status of a redirection.
const redirectCode = 302

func badPolicy(problem string) error {
	return fault.New(http.StatusBadRequest, "Invalid L7 Policy arguments: %s", problem)
}

// setTarget applies a request to the target of a policy. Attributes of an action other than the
// named one are dropped; some of them change the action instead.
func setTarget(t *model.Target, v schema.Values, p *model.Pool) error {
	url, prefix := v.Text("redirect_url"), v.Text("redirect_prefix")
	named := v.Text("action")
	switch {
	case v.Has("action") && named == "":
		return fault.New(http.StatusBadRequest, "Invalid L7 Policy action specified: None")
	case named == model.Reject:
		url, p = "", nil
	case named == model.RedirectToURL && url == "":
		return badPolicy("redirect_url must not be None")
	case named == model.RedirectToURL:
		p = nil
	case named == model.RedirectToPool && p == nil:
		return badPolicy("redirect_pool_id or redirect_pool must not be None")
	case named == model.RedirectToPool:
		url = ""
	case named == model.RedirectToPrefix && prefix == "":
		return badPolicy("redirect_prefix must not be None")
	}
	if p != nil && (url != "" || prefix != "") {
		return badPolicy("Cannot specify redirect_pool_id and redirect_url or redirect_prefix at the same time")
	}
	code := v.Number("redirect_http_code", 0)
	switch {
	case p != nil:
		*t = model.Target{Action: model.RedirectToPool, Pool: p}
	case url != "":
		*t = model.Target{Action: model.RedirectToURL, URL: url, Code: orCode(code)}
	case prefix != "":
		*t = model.Target{Action: model.RedirectToPrefix, Prefix: prefix, Code: orCode(code)}
	case named == model.Reject:
		*t = model.Target{Action: model.Reject, Code: code}
	default:
		clearTarget(t, v)
	}
	return nil
}

func orCode(code int) int {
	if code == 0 {
		return redirectCode
	}
	return code
}

// clearTarget clears what a request sets to null, and the status; the action stays.
func clearTarget(t *model.Target, v schema.Values) {
	if v.Has("redirect_pool_id") {
		t.Pool = nil
	}
	v.Set("redirect_url", &t.URL)
	v.Set("redirect_prefix", &t.Prefix)
	if v.Has("redirect_http_code") {
		t.Code = v.Number("redirect_http_code", 0)
	}
}

// NewPolicy makes a policy with the rules of the request, without adding it to the state.
func (c *Checks) NewPolicy(l *model.Listener, v schema.Values, p *model.Pool) (*model.L7Policy, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	policy := &model.L7Policy{
		Object: model.NewObject(c.State.Now(), tags), Listener: l, Name: v.Text("name"), Description: v.Text("description"),
		AdminUp: v.Flag("admin_state_up", true),
	}
	if err := setTarget(&policy.Target, v, p); err != nil {
		return nil, err
	}
	rules := v.Objects("rules")
	if len(rules) > MostRules {
		return nil, TooManyRules(policy)
	}
	for _, spec := range rules {
		rule, err := c.NewRule(policy, spec)
		if err != nil {
			return nil, err
		}
		policy.Rules = append(policy.Rules, rule)
	}
	return policy, nil
}

// RedirectPool finds the pool that a policy's request names, or nil. CheckTarget checks later that
// it belongs to the load balancer.
func (c *Checks) RedirectPool(l *model.Listener, v schema.Values) (*model.Pool, error) {
	id := v.Text("redirect_pool_id")
	if id == "" {
		return nil, nil
	}
	p, ok := c.State.Pools.Find(id)
	if !ok {
		return nil, fault.NotFound("Pool", id)
	}
	return p, checkProtocols(l.Protocol, p.Protocol)
}

// CheckTarget refuses pools of other load balancers.
func CheckTarget(policy *model.L7Policy) error {
	if p := policy.Pool; p != nil && p.LB != policy.Tree() {
		return fault.NotFound("Pool", p.ID.String())
	}
	return nil
}

// ChangePolicy applies and checks an update.
func (c *Checks) ChangePolicy(policy *model.L7Policy, v schema.Values) error {
	if len(v) == 0 {
		return badPolicy("Invalid update options")
	}
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	p, err := c.RedirectPool(policy.Listener, v)
	if err != nil {
		return err
	}
	if err := setTarget(&policy.Target, v, p); err != nil {
		return err
	}
	v.Set("name", &policy.Name)
	v.Set("description", &policy.Description)
	policy.AdminUp = v.Flag("admin_state_up", policy.AdminUp)
	if tags != nil {
		policy.Tags = tags
	}
	if policy.Action == model.Reject {
		policy.Code = 0
	}
	return nil
}
