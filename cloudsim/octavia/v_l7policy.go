// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

// redirectCode is the status of a redirection that names none.
const redirectCode = 302

func badPolicy(problem string) error {
	return faultf(http.StatusBadRequest, "Invalid L7 Policy arguments: %s", problem)
}

// aim gives a policy its target as a request says it, given where it sent
// requests before. Attributes of another action than the one named are dropped,
// or, some of them, change the action.
func (t *target) aim(v values, p *pool) error {
	url, prefix := v.text("redirect_url"), v.text("redirect_prefix")
	named := v.text("action")
	switch {
	case v.has("action") && named == "":
		return faultf(http.StatusBadRequest, "Invalid L7 Policy action specified: None")
	case named == reject:
		url, p = "", nil
	case named == redirectToURL && url == "":
		return badPolicy("redirect_url must not be None")
	case named == redirectToURL:
		p = nil
	case named == redirectToPool && p == nil:
		return badPolicy("redirect_pool_id or redirect_pool must not be None")
	case named == redirectToPool:
		url = ""
	case named == redirectToPrefix && prefix == "":
		return badPolicy("redirect_prefix must not be None")
	}
	if p != nil && (url != "" || prefix != "") {
		return badPolicy("Cannot specify redirect_pool_id and redirect_url or redirect_prefix at the same time")
	}
	code := v.number("redirect_http_code", 0)
	switch {
	case p != nil:
		*t = target{action: redirectToPool, pool: p}
	case url != "":
		*t = target{action: redirectToURL, url: url, code: orCode(code)}
	case prefix != "":
		*t = target{action: redirectToPrefix, prefix: prefix, code: orCode(code)}
	case named == reject:
		*t = target{action: reject, code: code}
	default:
		t.clear(v)
	}
	return nil
}

func orCode(code int) int {
	if code == 0 {
		return redirectCode
	}
	return code
}

// clear takes what a request gives as null, and the status; the action stays.
func (t *target) clear(v values) {
	if v.has("redirect_pool_id") {
		t.pool = nil
	}
	v.set("redirect_url", &t.url)
	v.set("redirect_prefix", &t.prefix)
	if v.has("redirect_http_code") {
		t.code = v.number("redirect_http_code", 0)
	}
}

// newPolicy makes a policy with the rules that the request has, without putting
// it into the state.
func (c *Checks) newPolicy(l *listener, v values, p *pool) (*l7policy, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	policy := &l7policy{
		object: newObject(c.State.Now(), tags), listener: l, name: v.text("name"), description: v.text("description"),
		adminUp: v.flag("admin_state_up", true),
	}
	if err := policy.aim(v, p); err != nil {
		return nil, err
	}
	rules := v.objects("rules")
	if len(rules) > mostRules {
		return nil, tooManyRules(policy)
	}
	for _, spec := range rules {
		rule, err := c.newRule(policy, spec)
		if err != nil {
			return nil, err
		}
		policy.rules = append(policy.rules, rule)
	}
	return policy, nil
}

// redirectPool finds the pool that a policy's request names; nil is none. That it
// is the load balancer's own is checked only later.
func (c *Checks) redirectPool(l *listener, v values) (*pool, error) {
	id := v.text("redirect_pool_id")
	if id == "" {
		return nil, nil
	}
	p, ok := c.State.Pools.Find(id)
	if !ok {
		return nil, notFound("Pool", id)
	}
	return p, checkProtocols(l.protocol, p.protocol)
}

// checkTarget refuses pools of other load balancers.
func checkTarget(policy *l7policy) error {
	if p := policy.pool; p != nil && p.lb != policy.listener.lb {
		return notFound("Pool", p.id.String())
	}
	return nil
}

// changePolicy applies and checks an update.
func (c *Checks) changePolicy(policy *l7policy, v values) error {
	if len(v) == 0 {
		return badPolicy("Invalid update options")
	}
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	p, err := c.redirectPool(policy.listener, v)
	if err != nil {
		return err
	}
	if err := policy.aim(v, p); err != nil {
		return err
	}
	v.set("name", &policy.name)
	v.set("description", &policy.description)
	policy.adminUp = v.flag("admin_state_up", policy.adminUp)
	if tags != nil {
		policy.tags = tags
	}
	if policy.action == reject {
		policy.code = 0
	}
	return nil
}
