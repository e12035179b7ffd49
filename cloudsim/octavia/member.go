// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
)

var memberResource = &resource[*model.Member]{
	kind: view.Members, path: "/pools/{id}/members", item: "/pools/{id}/members/{member}",
	root: "member_", attributes: schema.MemberCreate, changes: schema.MemberUpdate,
	known: func(s *state.State) state.Index[*model.Member] { return s.Members },
	find:  func(r *request, write bool) (*model.Member, error) { return r.member(r.may(write)) },
	rows: func(r *request) ([]*model.Member, error) {
		p, err := r.poolInPath(r.mayRead)
		if err != nil {
			return nil, err
		}
		return p.Members, nil
	},
	admit:  func(r *request, v schema.Values) error { return admitMembers(r, []string{v.Text("subnet_id")}) },
	create: createMember, update: updateMember, remove: deleteMember,
}

// admitMembers checks the subnets of new members, which must be done before the lock is taken.
func admitMembers(r *request, subnetIDs []string) error {
	r.state.RLock()
	_, err := r.poolInPath(r.mayWrite)
	r.state.RUnlock()
	if err != nil {
		return err
	}
	return r.checks.CheckSubnets(subnetIDs)
}

func createMember(r *request, v schema.Values) (*model.Member, error) {
	p, err := r.poolInPath(r.mayWrite)
	if err != nil {
		return nil, err
	}
	m, err := r.checks.NewMember(p, v)
	if err != nil {
		return nil, err
	}
	if err := r.state.Quotas.Check(p.LB.Project, model.MemberQuota, 1); err != nil {
		return nil, err
	}
	if err := validate.CheckPoolParents(p); err != nil {
		return nil, err
	}
	same := func(other *model.Member) bool { return other.Address == m.Address && other.Port == m.Port }
	if slices.ContainsFunc(p.Members, same) {
		return nil, validate.DuplicateMember(m)
	}
	if err := provider.CheckMember(m); err != nil {
		return nil, err
	}
	r.state.Begin(r.Context(), p.LB, model.PendingUpdate).CreateMember(m)
	return m, nil
}

func updateMember(r *request, m *model.Member, v schema.Values) error {
	changed := *m
	if err := validate.ChangeMember(&changed, v); err != nil {
		return err
	}
	if err := validate.CheckPoolParents(m.Pool); err != nil {
		return err
	}
	if err := provider.CheckMember(&changed); err != nil {
		return err
	}
	r.state.Begin(r.Context(), m.Tree(), model.PendingUpdate).UpdateMember(m, changed)
	return nil
}

func deleteMember(r *request, m *model.Member) error {
	if err := validate.CheckPoolParents(m.Pool); err != nil {
		return err
	}
	r.state.Begin(r.Context(), m.Tree(), model.PendingUpdate).DeleteMember(m)
	return nil
}

// replaceMembers replaces the members of a pool with the given ones.
func replaceMembers(r *request) (answer, error) {
	if r.checks.Minor < 11 && r.query.Has("additive_only") {
		return answer{}, fault.New(http.StatusBadRequest, `Unknown argument: "additive_only"`)
	}
	if len(r.body) == 0 {
		return answer{}, fault.New(http.StatusInternalServerError, "'NoneType' object has no attribute 'members'")
	}
	v, err := schema.Parse(r.checks.Minor, r.body, "members_", "members", schema.MemberCreate, true)
	if err != nil {
		return answer{}, err
	}
	if err := admitMembers(r, validate.MemberSubnets(v)); err != nil {
		return answer{}, err
	}
	r.state.Lock()
	defer r.state.Unlock()
	p, err := r.poolInPath(r.mayWrite)
	if err != nil {
		return answer{}, err
	}
	if err := validate.CheckPoolParents(p); err != nil {
		return answer{}, err
	}
	b, err := r.checks.NewBatch(p, v.Objects("members"), r.flag("additive_only"))
	if err == nil && b != nil {
		r.state.Begin(r.Context(), p.LB, model.PendingUpdate).ReplaceMembers(p, *b)
	}
	return answer{status: http.StatusAccepted}, err
}
