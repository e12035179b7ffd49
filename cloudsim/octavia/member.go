// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"
)

var memberResource = &resource[*member]{
	kind: membersView, path: "/pools/{id}/members", item: "/pools/{id}/members/{member}",
	root: "member_", attributes: memberCreate, changes: memberUpdate,
	known: func(s *State) index[*member] { return s.Members },
	find:  func(r *request, write bool) (*member, error) { return r.member(r.may(write)) },
	rows: func(r *request) ([]*member, error) {
		p, err := r.poolInPath(r.mayRead)
		if err != nil {
			return nil, err
		}
		return p.members, nil
	},
	admit:  func(r *request, v values) error { return admitMembers(r, []string{v.text("subnet_id")}) },
	create: createMember, update: updateMember, remove: deleteMember,
}

// admitMembers checks the subnets that new members name, which must be done
// before the lock is taken.
func admitMembers(r *request, subnetIDs []string) error {
	r.State.RLock()
	_, err := r.poolInPath(r.mayWrite)
	r.State.RUnlock()
	if err != nil {
		return err
	}
	return r.checkSubnets(subnetIDs)
}

func createMember(r *request, v values) (*member, error) {
	p, err := r.poolInPath(r.mayWrite)
	if err != nil {
		return nil, err
	}
	m, err := r.newMember(p, v)
	if err != nil {
		return nil, err
	}
	if err := r.State.Quotas.Check(p.lb.project, memberQuota, 1); err != nil {
		return nil, err
	}
	if err := p.checkParents(); err != nil {
		return nil, err
	}
	same := func(other *member) bool { return other.address == m.address && other.port == m.port }
	if slices.ContainsFunc(p.members, same) {
		return nil, duplicateMember(m)
	}
	if err := checkMember(m); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), p.lb, pendingUpdate).CreateMember(m)
	return m, nil
}

func updateMember(r *request, m *member, v values) error {
	changed := *m
	if err := changed.change(v); err != nil {
		return err
	}
	if err := m.pool.checkParents(); err != nil {
		return err
	}
	if err := checkMember(&changed); err != nil {
		return err
	}
	r.State.Begin(r.Context(), m.pool.lb, pendingUpdate).UpdateMember(m, changed)
	return nil
}

func deleteMember(r *request, m *member) error {
	if err := m.pool.checkParents(); err != nil {
		return err
	}
	r.State.Begin(r.Context(), m.pool.lb, pendingUpdate).DeleteMember(m)
	return nil
}

// replaceMembers makes a pool's members the given ones.
func replaceMembers(r *request) (answer, error) {
	if r.Minor < 11 && r.query.Has("additive_only") {
		return answer{}, faultf(http.StatusBadRequest, `Unknown argument: "additive_only"`)
	}
	if len(r.body) == 0 {
		return answer{}, faultf(http.StatusInternalServerError, "'NoneType' object has no attribute 'members'")
	}
	v, err := parseBody(r.Minor, r.body, "members_", "members", memberCreate, true)
	if err != nil {
		return answer{}, err
	}
	if err := admitMembers(r, memberSubnets(v)); err != nil {
		return answer{}, err
	}
	r.State.Lock()
	defer r.State.Unlock()
	p, err := r.poolInPath(r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := p.checkParents(); err != nil {
		return answer{}, err
	}
	b, err := r.newBatch(p, v.objects("members"), r.flag("additive_only"))
	if err == nil && b != nil {
		r.State.Begin(r.Context(), p.lb, pendingUpdate).ReplaceMembers(p, *b)
	}
	return answer{status: http.StatusAccepted}, err
}
