// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"context"
	"net/http"
	"regexp"
	"slices"
)

// newPool makes a pool without members, without putting it into the state.
func (s *Service) newPool(lb *loadBalancer, v values) (*pool, error) {
	tags, err := newTags(v)
	if err != nil {
		return nil, err
	}
	p := &pool{
		object: newObject(s.now(), tags), lb: lb, name: v.text("name"), description: v.text("description"),
		protocol: v.text("protocol"), algorithm: v.text("lb_algorithm"),
		adminUp:     v.flag("admin_state_up", true),
		persistence: newPersistence(v.object("session_persistence"), nil),
	}
	return p, nil
}

// newPersistence makes a session persistence, or changes the one there was.
func newPersistence(v values, old *persistence) *persistence {
	if len(v) == 0 {
		return nil
	}
	sp := persistence{}
	if old != nil {
		sp = *old
	}
	if v.text("type") != "" {
		sp.kind = v.text("type")
	}
	// The rest has defaults, so what is not given is reset.
	sp.cookie = v.text("cookie_name")
	sp.timeout = v.number("persistence_timeout", 0)
	sp.granularity = v.text("persistence_granularity")
	return &sp
}

// badCookieName finds characters that no cookie's name has.
var badCookieName = regexp.MustCompile(`[\x00-\x20"(),/:;<=>?@[\\\]{}\x7f]`)

// checkPersistence refuses what a pool cannot have. who is how Octavia calls
// the pools that may have a timeout, which differs from create to update.
func (p *pool) checkPersistence(who string) error {
	sp := p.persistence
	if sp == nil {
		return nil
	}
	if !p.usesUDP() && (sp.timeout != 0 || sp.granularity != "") {
		return invalid("persistence_timeout and persistence_granularity is only for %s pools.", who)
	}
	if p.usesUDP() {
		switch {
		case sp.kind == "SOURCE_IP" && sp.cookie != "":
			return invalid("session_persistence SOURCE_IP type for UDP and SCTP protocols only accepts: type, persistence_timeout, persistence_granularity.")
		case sp.cookie != "":
			return invalid("Cookie names are not supported for UDP/SCTP pools.")
		case sp.kind != "SOURCE_IP":
			return invalid("Session persistence of type %s is not supported for UDP/SCTP protocol pools.", sp.kind)
		}
	}
	switch {
	case sp.kind == "":
		return invalid("Invalid session_persistence provided.")
	case sp.cookie != "" && sp.kind != "APP_COOKIE":
		return invalid(`Field "cookie_name" can only be specified with session persistence of type "APP_COOKIE".`)
	case badCookieName.MatchString(sp.cookie):
		return invalid(`Supplied "cookie_name" is invalid.`)
	case sp.cookie == "" && sp.kind == "APP_COOKIE":
		return invalid(`Field "cookie_name" must be specified when using the "APP_COOKIE" session persistence type.`)
	}
	return nil
}

// registerPool puts a pool and what is in it into the state.
func (s *Service) registerPool(p *pool) {
	u := s.used(p.lb.project)
	s.pools[p.id] = p
	u.pools++
	for _, m := range p.members {
		s.members[m.id] = m
	}
	u.members += len(p.members)
	if p.monitor != nil {
		s.monitors[p.monitor.id] = p.monitor
		u.monitors++
	}
}

func (s *Service) createPool(r *request) (answer, error) {
	v, err := s.parse(r.body, "pool_", "pool", poolCreate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	lb, l, err := s.poolParents(r, v)
	if err != nil {
		return answer{}, err
	}
	p, err := s.newPool(lb, v)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkNewPool(p, l, v.text("loadbalancer_id") == ""); err != nil {
		return answer{}, err
	}
	if lb.prov != active {
		return answer{}, immutable("Load Balancer", lb.id.String())
	}
	if err := s.setPoolTLS(r.Context(), p, v); err != nil {
		return answer{}, err
	}
	if len(v.objects("members")) > 0 || v.object("healthmonitor") != nil {
		return answer{}, errNestedCreate
	}
	if err := providers[lb.provider].pool(p); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), lb, pendingUpdate)
	lb.pools = append(lb.pools, p)
	s.registerPool(p)
	s.add(c, &p.object)
	if l != nil {
		l.pool = p
		s.touch(c, &l.object, pendingUpdate)
	}
	s.start(c)
	return s.one(r, http.StatusCreated, "pool", func(d *document) { renderPool(d, p, false) }), nil
}

// poolParents finds where a new pool belongs: on a load balancer, or on one of
// its listeners as the default pool.
func (s *Service) poolParents(r *request, v values) (*loadBalancer, *listener, error) {
	l := s.listeners[parseID(v.text("listener_id"))]
	if id := v.text("loadbalancer_id"); id != "" {
		lb, err := s.loadBalancer(id, r.mayWrite)
		if l != nil && l.lb != lb {
			l = nil
		}
		return lb, l, err
	}
	switch {
	case v.text("listener_id") == "":
		return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
	case l == nil:
		return nil, nil, faultf(http.StatusInternalServerError, "'NoneType' object has no attribute 'load_balancer_id'")
	}
	return l.lb, l, r.mayWrite(l.lb.project)
}

// checkNewPool checks the pool against its listener, nil for none. Octavia looks
// at the listener's protocol only if the request named no load balancer.
func (s *Service) checkNewPool(p *pool, l *listener, byListener bool) error {
	if byListener {
		if err := checkDefaultPool(l, p); err != nil {
			return err
		}
	}
	if err := p.checkPersistence("UDP and SCTP protocol"); err != nil {
		return err
	}
	if err := s.checkQuota(p.lb.project, poolQuota, 1); err != nil {
		return err
	}
	if l != nil && l.pool != nil {
		return faultf(http.StatusConflict, "This listener already has a default pool")
	}
	return nil
}

func (s *Service) listPools(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	l := listing[*pool]{
		key: "pools", known: s.pools, column: poolColumn, sample: &pool{lb: &loadBalancer{}},
		render: func(d *document, p *pool) { renderPool(d, p, false) },
	}
	err := s.visible(r, func(lb *loadBalancer) { l.rows = append(l.rows, lb.pools...) })
	if err != nil {
		return answer{}, err
	}
	return list(s, r, l)
}

func (s *Service) showPool(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, err := s.pool(r.PathValue("id"), r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "pool", func(d *document) { renderPool(d, p, false) }), nil
}

func (s *Service) updatePool(r *request) (answer, error) {
	v, err := s.parse(r.body, "pool_", "pool", poolUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.pool(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *p
	if err := s.changePool(r.Context(), &changed, v); err != nil {
		return answer{}, err
	}
	if p.lb.prov != active {
		return answer{}, immutable("Load Balancer", p.lb.id.String())
	}
	if err := providers[p.lb.provider].pool(&changed); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), p.lb, pendingUpdate)
	*p = changed
	s.touchPool(c, p, pendingUpdate)
	s.start(c)
	return s.one(r, http.StatusOK, "pool", func(d *document) { renderPool(d, p, false) }), nil
}

// changePool applies and checks an update.
func (s *Service) changePool(ctx context.Context, p *pool, v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	setText(&p.name, v, "name")
	setText(&p.description, v, "description")
	p.adminUp = v.flag("admin_state_up", p.adminUp)
	if v.text("lb_algorithm") != "" {
		p.algorithm = v.text("lb_algorithm")
	}
	if tags != nil {
		p.tags = tags
	}
	if v.has("session_persistence") {
		p.persistence = newPersistence(v.object("session_persistence"), p.persistence)
		if err := p.checkPersistence("UDP protocol"); err != nil {
			return err
		}
	}
	return s.changePoolTLS(ctx, p, v)
}

func (s *Service) deletePool(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.pool(r.PathValue("id"), r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if users := p.policies(); len(users) > 0 {
		return answer{}, faultf(http.StatusConflict, "Pool %s is in use by L7 policy %s", p.id, users[0].id)
	}
	c := s.lock(r.Context(), p.lb, pendingUpdate)
	if c == nil {
		return answer{}, immutable("Load Balancer", p.lb.id.String())
	}
	s.touchPool(c, p, pendingDelete)
	c.remove = func() {
		for _, l := range p.lb.listeners {
			if l.pool == p {
				l.pool = nil
			}
		}
		p.lb.pools = slices.DeleteFunc(p.lb.pools, func(other *pool) bool { return other == p })
		s.dropPool(p)
	}
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}
