// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

var poolResource = &resource[*model.Pool]{
	kind: view.Pools, path: "/pools", item: "/pools/{id}",
	root: "pool_", attributes: schema.PoolCreate, changes: schema.PoolUpdate,
	known:  func(s *state.State) state.Index[*model.Pool] { return s.Pools },
	find:   byID((*request).pool),
	rows:   parts(func(lb *model.LoadBalancer) []*model.Pool { return lb.Pools }),
	create: createPool, update: updatePool, remove: deletePool,
}

func createPool(r *request, v schema.Values) (*model.Pool, error) {
	lb, l, err := poolParents(r, v)
	if err != nil {
		return nil, err
	}
	p, err := r.checks.NewPool(lb, v)
	if err != nil {
		return nil, err
	}
	if err := r.checks.CheckNewPool(p, l, v.Text("loadbalancer_id") == ""); err != nil {
		return nil, err
	}
	if err := validate.CheckMutable(lb); err != nil {
		return nil, err
	}
	if err := r.checks.SetPoolTLS(p, v); err != nil {
		return nil, err
	}
	if len(v.Objects("members")) > 0 || v.Object("healthmonitor") != nil {
		return nil, fault.ErrNestedCreate
	}
	if err := provider.CheckPool(p, r.checks.Release >= release.Newest); err != nil {
		return nil, err
	}
	r.state.Begin(r.Context(), lb, model.PendingUpdate).CreatePool(p, l)
	return p, nil
}

// poolParents finds the parents of a new pool: a load balancer, or one of its listeners, whose
// default pool it becomes.
func poolParents(r *request, v schema.Values) (*model.LoadBalancer, *model.Listener, error) {
	l, found := r.state.Listeners.Find(v.Text("listener_id"))
	if id := v.Text("loadbalancer_id"); id != "" {
		lb, err := r.loadBalancer(id, r.mayWrite)
		if found && l.LB != lb {
			l = nil
		}
		return lb, l, err
	}
	switch {
	case v.Text("listener_id") == "":
		return nil, nil, fault.Invalid("Must provide at least one of: loadbalancer_id, listener_id")
	case !found:
		return nil, nil, fault.New(http.StatusInternalServerError, "'NoneType' object has no attribute 'load_balancer_id'")
	}
	return l.LB, l, r.mayWrite(l.LB.Project)
}

func updatePool(r *request, p *model.Pool, v schema.Values) error {
	changed := *p
	if err := r.checks.ChangePool(&changed, v); err != nil {
		return err
	}
	if err := validate.CheckMutable(p.LB); err != nil {
		return err
	}
	if err := provider.CheckPool(&changed, r.checks.Release >= release.Newest); err != nil {
		return err
	}
	r.state.Begin(r.Context(), p.LB, model.PendingUpdate).UpdatePool(p, changed)
	return nil
}

func deletePool(r *request, p *model.Pool) error {
	if users := p.Policies(); len(users) > 0 {
		return fault.New(http.StatusConflict, "Pool %s is in use by L7 policy %s", p.ID, users[0].ID)
	}
	if err := validate.CheckMutable(p.LB); err != nil {
		return err
	}
	r.state.Begin(r.Context(), p.LB, model.PendingUpdate).DeletePool(p)
	return nil
}
