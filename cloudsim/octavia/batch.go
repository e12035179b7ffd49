// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

// batch is a PUT of a pool's whole set of members, sorted out.
type batch struct {
	fresh   []*member
	updated []update
	gone    []*member
	// twice says that a member that is there was named twice. Octavia takes that,
	// and its worker for amphorae then gives up with the load balancer locked.
	twice bool
}

type update struct {
	member *member
	values values
}

// replaceMembers makes a pool's members the given ones. They are matched by
// address (as a text) and port; with additive_only nothing is removed. Members
// that are matched are written whether they differ or not.
func (s *Service) replaceMembers(r *request) (answer, error) {
	if s.version() < 11 && r.query.Has("additive_only") {
		return answer{}, faultf(http.StatusBadRequest, `Unknown argument: "additive_only"`)
	}
	if len(r.body) == 0 {
		return answer{}, faultf(http.StatusInternalServerError, "'NoneType' object has no attribute 'members'")
	}
	v, err := s.parse(r.body, "members_", "members", memberCreate, true)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkMemberSubnets(r, memberSubnets(v)); err != nil {
		return answer{}, err
	}
	additive := r.flag("additive_only")
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.poolInPath(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := p.checkParents(); err != nil {
		return answer{}, err
	}
	b, err := s.sortOut(p, v.objects("members"))
	if err != nil {
		return answer{}, err
	}
	if len(b.fresh)+len(b.updated)+len(b.gone) == 0 {
		return answer{status: http.StatusAccepted}, nil
	}
	if err := s.checkBatch(p, b, additive); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), p.lb, pendingUpdate)
	c.stuck = b.twice && givesUpOnTwins(p.lb)
	s.touchPool(c, p, pendingUpdate)
	for _, u := range b.updated {
		u.apply()
		s.touch(c, &u.member.object, pendingUpdate)
	}
	for _, m := range b.fresh {
		s.addMember(c, m)
	}
	if !additive {
		for _, m := range b.gone {
			s.touch(c, &m.object, pendingDelete)
		}
		c.remove = func() { s.removeGone(p, b.gone) }
	}
	s.start(c)
	return answer{status: http.StatusAccepted}, nil
}

func (s *Service) sortOut(p *pool, given []values) (batch, error) {
	type place struct {
		address string
		port    int
	}
	old := make(map[place]*member, len(p.members))
	for _, m := range p.members {
		old[place{m.address.Value(), int(m.port)}] = m
	}
	var b batch
	seen := make(map[place]bool, len(given))
	for _, v := range given {
		at := place{v.text("address"), v.number("protocol_port", 0)}
		if m := old[at]; m != nil {
			b.twice = b.twice || seen[at]
			seen[at] = true
			b.updated = append(b.updated, update{m, v})
			continue
		}
		m, err := s.newMember(p, v)
		if err != nil {
			return b, err
		}
		if seen[at] {
			return b, duplicateMember(m)
		}
		seen[at] = true
		b.fresh = append(b.fresh, m)
	}
	for at, m := range old {
		if !seen[at] {
			b.gone = append(b.gone, m)
		}
	}
	return b, nil
}

func (s *Service) checkBatch(p *pool, b batch, additive bool) error {
	more := len(b.fresh)
	if !additive {
		more -= len(b.gone)
	}
	if more > 0 {
		if err := s.checkQuota(p.lb.project, memberQuota, more); err != nil {
			return err
		}
	}
	check := providers[p.lb.provider].member
	for _, m := range b.fresh {
		if err := check(m); err != nil {
			return err
		}
	}
	for _, u := range b.updated {
		if _, err := newTags(u.values); err != nil {
			return err
		}
		changed := *u.member
		update{&changed, u.values}.apply()
		if err := check(&changed); err != nil {
			return err
		}
	}
	return nil
}

// apply writes the values over the member. Unlike with a PUT of one member,
// what has a default is reset when it is not given.
func (u update) apply() {
	m, v := u.member, u.values
	m.setCommon(v)
	if v.has("name") {
		m.name = share(v.text("name"))
	}
	if v.has("subnet_id") {
		m.subnet = share(v.text("subnet_id"))
	}
	if v.texts("tags") != nil {
		m.tags = sorted(v.texts("tags"))
	}
}

func (s *Service) removeGone(p *pool, gone []*member) {
	set := make(map[*member]bool, len(gone))
	for _, m := range gone {
		set[m] = true
	}
	s.removeMembers(p, func(m *member) bool { return set[m] })
}
