// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

// reservedAddress is the metadata service's, which no member may have.
const reservedAddress = "169.254.169.254"

// newMember makes a member without putting it into the state.
func (s *Service) newMember(p *pool, v values) (*member, error) {
	tags, err := newTags(v)
	m := &member{
		object: newObject(s.now(), tags), pool: p,
		name: share(v.text("name")), address: share(v.text("address")),
		port: uint16(v.number("protocol_port", 0)), subnet: share(v.text("subnet_id")),
	}
	if err != nil {
		return nil, duplicateMember(m) // Octavia takes one duplicate for another
	}
	m.oper = noMonitor
	if p.monitor != nil {
		m.oper = offline
	}
	m.setCommon(v)
	if v.text("address") == reservedAddress {
		return nil, invalidOption(reservedAddress, "member address")
	}
	return m, nil
}

// setCommon sets what has a default: what is not given is reset.
func (m *member) setCommon(v values) {
	m.adminUp = v.flag("admin_state_up", true)
	m.weight = uint16(v.number("weight", 1))
	m.backup = v.flag("backup", false)
	m.monitorAddress = share(v.text("monitor_address"))
	m.monitorPort = uint16(v.number("monitor_port", 0))
}

func duplicateMember(m *member) error {
	return faultf(http.StatusConflict, "Another member on this pool is already using ip %s on protocol_port %d", m.address.Value(), m.port)
}

// checkParents refuses changes in a pool that is not ACTIVE itself, or whose
// load balancer is not.
func (p *pool) checkParents() error {
	if p.prov != active {
		return immutable("Pool", p.id.String())
	}
	if p.lb.prov != active {
		return immutable("Load Balancer", p.lb.id.String())
	}
	return nil
}

// checkMemberSubnets checks the subnets that new members name, which must be done
// before the lock is taken.
func (s *Service) checkMemberSubnets(r *request, ids []string) error {
	s.mu.RLock()
	_, err := s.poolInPath(r, r.mayWrite)
	s.mu.RUnlock()
	if err != nil {
		return err
	}
	if id := s.missingSubnet(r, ids); id != "" {
		return badSubresource("Subnet", id)
	}
	return nil
}

func (s *Service) createMember(r *request) (answer, error) {
	v, err := s.parse(r.body, "member_", "member", memberCreate, false)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkMemberSubnets(r, []string{v.text("subnet_id")}); err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	p, err := s.poolInPath(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	m, err := s.newMember(p, v)
	if err != nil {
		return answer{}, err
	}
	if err := s.checkQuota(p.lb.project, memberQuota, 1); err != nil {
		return answer{}, err
	}
	if err := p.checkParents(); err != nil {
		return answer{}, err
	}
	same := func(other *member) bool { return other.address == m.address && other.port == m.port }
	if slices.ContainsFunc(p.members, same) {
		return answer{}, duplicateMember(m)
	}
	if err := providers[p.lb.provider].member(m); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), p.lb, pendingUpdate)
	s.touchPool(c, p, pendingUpdate)
	s.addMember(c, m)
	s.start(c)
	return s.one(r, http.StatusCreated, "member", func(d *document) { renderMember(d, m) }), nil
}

func (s *Service) addMember(c *change, m *member) {
	m.pool.members = append(m.pool.members, m)
	s.members[m.id] = m
	s.used(m.pool.lb.project).members++
	s.add(c, &m.object)
}

func (s *Service) listMembers(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p, err := s.poolInPath(r, r.mayRead)
	if err != nil {
		return answer{}, err
	}
	l := listing[*member]{
		key: "members", known: s.members, rows: p.members,
		column: memberColumn, sample: &member{pool: p, name: share(""), address: share(""), subnet: share(""), monitorAddress: share("")},
		render: renderMember,
	}
	return list(s, r, l)
}

func (s *Service) showMember(r *request) (answer, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	m, err := s.member(r, r.mayRead)
	if err != nil {
		return answer{}, err
	}
	return s.one(r, http.StatusOK, "member", func(d *document) { renderMember(d, m) }), nil
}

func (s *Service) updateMember(r *request) (answer, error) {
	v, err := s.parse(r.body, "member_", "member", memberUpdate, false)
	if err != nil {
		return answer{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	changed := *m
	if err := changed.change(v); err != nil {
		return answer{}, err
	}
	if err := m.pool.checkParents(); err != nil {
		return answer{}, err
	}
	if err := providers[m.pool.lb.provider].member(&changed); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), m.pool.lb, pendingUpdate)
	*m = changed
	s.touchPool(c, m.pool, pendingUpdate)
	s.touch(c, &m.object, pendingUpdate)
	s.start(c)
	return s.one(r, http.StatusOK, "member", func(d *document) { renderMember(d, m) }), nil
}

// change applies an update.
func (m *member) change(v values) error {
	tags, err := newTags(v)
	if err != nil {
		return err
	}
	if tags != nil {
		m.tags = tags
	}
	if v.has("name") {
		m.name = share(v.text("name"))
	}
	m.adminUp = v.flag("admin_state_up", m.adminUp)
	m.backup = v.flag("backup", m.backup)
	if v.has("weight") {
		m.weight = uint16(v.number("weight", 1))
	}
	if v.has("monitor_address") {
		m.monitorAddress = share(v.text("monitor_address"))
	}
	if v.has("monitor_port") {
		m.monitorPort = uint16(v.number("monitor_port", 0))
	}
	return nil
}

func (s *Service) deleteMember(r *request) (answer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.member(r, r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := m.pool.checkParents(); err != nil {
		return answer{}, err
	}
	c := s.lock(r.Context(), m.pool.lb, pendingUpdate)
	s.touchPool(c, m.pool, pendingUpdate)
	s.touch(c, &m.object, pendingDelete)
	c.remove = func() { s.removeMembers(m.pool, func(other *member) bool { return other == m }) }
	s.start(c)
	return answer{status: http.StatusNoContent}, nil
}

// removeMembers takes members out of the state.
func (s *Service) removeMembers(p *pool, gone func(*member) bool) {
	u := s.used(p.lb.project)
	p.members = slices.DeleteFunc(p.members, func(m *member) bool {
		if !gone(m) {
			return false
		}
		delete(s.members, m.id)
		u.members--
		return true
	})
}
