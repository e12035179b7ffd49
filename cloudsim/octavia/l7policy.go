// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
)

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
	setText(&t.url, v, "redirect_url")
	setText(&t.prefix, v, "redirect_prefix")
	if v.has("redirect_http_code") {
		t.code = v.number("redirect_http_code", 0)
	}
}

// newPolicy makes a policy with the rules that the request has, without putting
// it into the state.
func (s *Service) newPolicy(l *listener, v values, p *pool) (*l7policy, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	policy := &l7policy{
		object: newObject(s.now(), tags), listener: l, name: v.text("name"), description: v.text("description"),
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
		rule, err := s.newRule(policy, spec)
		if err != nil {
			return nil, err
		}
		policy.rules = append(policy.rules, rule)
	}
	return policy, nil
}

// registerPolicy puts a policy and its rules into the state.
func (s *Service) registerPolicy(policy *l7policy) {
	u := s.used(policy.listener.lb.project)
	s.policies[policy.id] = policy
	u.policies++
	for _, rule := range policy.rules {
		s.rules[rule.id] = rule
	}
	u.rules += len(policy.rules)
}

// dropPolicy takes a policy and its rules out of the state, but not out of its
// listener's list.
func (s *Service) dropPolicy(policy *l7policy) {
	u := s.used(policy.listener.lb.project)
	for _, rule := range policy.rules {
		delete(s.rules, rule.id)
	}
	u.rules -= len(policy.rules)
	delete(s.policies, policy.id)
	u.policies--
}

func (s *Service) createPolicy(r *request) (answer, error) {
	v, err := s.parse(r.body, "l7policy_", "l7policy", policyCreate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := s.listener(v.text("listener_id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if l.protocol == "PROMETHEUS" {
		return answer{}, errNoChildren
	}
	p, err := s.redirectPool(l, v)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkQuota(l.lb.project, policyQuota, 1); err != nil {
		return answer{}, err
	}
	policy, err := s.newPolicy(l, v, p)
	if err != nil {
		return answer{}, err
	}
	if l.lb.prov != active {
		return answer{}, immutable("Load Balancer", l.lb.id.String())
	}
	if err := checkTarget(policy); err != nil {
		return answer{}, err
	}
	if len(policy.rules) > 0 {
		return answer{}, errNestedCreate
	}
	if err := providers[l.lb.provider].policy(policy); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), l.lb, pendingUpdate)
	s.touch(c, &l.object, pendingUpdate)
	l.placePolicy(policy, v.number("position", lastPosition))
	s.registerPolicy(policy)
	s.add(c, &policy.object)
	s.start(c)
	return s.one(r, http.StatusCreated, "l7policy", func(d *document) { renderPolicy(d, policy, false) }), nil
}

// redirectPool finds the pool that a policy's request names; nil is none. That it
// is the load balancer's own is checked only later.
func (s *Service) redirectPool(l *listener, v values) (*pool, error) {
	id := v.text("redirect_pool_id")
	if id == "" {
		return nil, nil
	}
	p := s.pools[parseID(id)]
	if p == nil {
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

func (s *Service) listPolicies(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*l7policy]{
		key: "l7policies", known: s.policies, column: policyColumn, sample: &l7policy{listener: &listener{lb: &loadBalancer{}}},
		render: func(d *document, policy *l7policy) { renderPolicy(d, policy, false) },
	}
	err := s.visible(r, func(lb *loadBalancer) {
		for _, listener := range lb.listeners {
			l.rows = append(l.rows, listener.policies...)
		}
	})
	if err != nil {
		return answer{}, err
	}
	return list(s, r, l)
}

func (s *Service) showPolicy(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	policy, err := s.policy(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "l7policy", func(d *document) { renderPolicy(d, policy, false) }), nil
}

func (s *Service) updatePolicy(r *request) (answer, error) {
	v, err := s.parse(r.body, "l7policy_", "l7policy", policyUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, err := s.policy(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *policy
	if err := s.changePolicy(&changed, v); err != nil {
		return answer{}, err
	}
	l := policy.listener
	if l.lb.prov != active {
		return answer{}, immutable("Load Balancer", l.lb.id.String())
	}
	if err := checkTarget(&changed); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), l.lb, pendingUpdate)
	*policy = changed
	if position := v.number("position", 0); position > 0 {
		l.removePolicy(policy)
		l.placePolicy(policy, position)
	}
	s.touch(c, &l.object, pendingUpdate)
	s.touch(c, &policy.object, pendingUpdate)
	s.start(c)
	return s.one(r, http.StatusOK, "l7policy", func(d *document) { renderPolicy(d, policy, false) }), nil
}

// changePolicy applies and checks an update.
func (s *Service) changePolicy(policy *l7policy, v values) error {
	if len(v) == 0 {
		return badPolicy("Invalid update options")
	}
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	p, err := s.redirectPool(policy.listener, v)
	if err != nil {
		return err
	}
	if err := policy.aim(v, p); err != nil {
		return err
	}
	setText(&policy.name, v, "name")
	setText(&policy.description, v, "description")
	policy.adminUp = v.flag("admin_state_up", policy.adminUp)
	if tags != nil {
		policy.tags = tags
	}
	if policy.action == reject {
		policy.code = 0
	}
	return nil
}

func (s *Service) deletePolicy(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	policy, err := s.policy(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	l := policy.listener
	c := s.lock(r.Context(), l.lb, pendingUpdate)
	if c == nil {
		return answer{}, immutable("Load Balancer", l.lb.id.String())
	}
	s.touch(c, &l.object, pendingUpdate)
	s.touch(c, &policy.object, pendingDelete)
	c.remove = func() {
		l.removePolicy(policy)
		s.dropPolicy(policy)
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}
