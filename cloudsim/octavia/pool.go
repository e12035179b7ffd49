// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

var poolResource = &resource[*pool]{
	kind: poolsView, path: "/pools", item: "/pools/{id}",
	root: "pool_", attributes: poolCreate, changes: poolUpdate,
	known:  func(s *State) index[*pool] { return s.Pools },
	find:   func(r *request, write bool) (*pool, error) { return r.pool(r.PathValue("id"), r.may(write)) },
	rows:   parts(func(lb *loadBalancer) []*pool { return lb.pools }),
	create: createPool, update: updatePool, remove: deletePool,
}

func createPool(r *request, v values) (*pool, error) {
	lb, l, err := poolParents(r, v)
	if err != nil {
		return nil, err
	}
	p, err := r.newPool(lb, v)
	if err != nil {
		return nil, err
	}
	if err := r.checkNewPool(p, l, v.text("loadbalancer_id") == ""); err != nil {
		return nil, err
	}
	if err := checkMutable(lb); err != nil {
		return nil, err
	}
	if err := r.setPoolTLS(p, v); err != nil {
		return nil, err
	}
	if len(v.objects("members")) > 0 || v.object("healthmonitor") != nil {
		return nil, errNestedCreate
	}
	if err := checkPool(p); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), lb, pendingUpdate).CreatePool(p, l)
	return p, nil
}

// poolParents finds where a new pool belongs: on a load balancer, or on one of
// its listeners as the default pool.
func poolParents(r *request, v values) (*loadBalancer, *listener, error) {
	l, found := r.State.Listeners.Find(v.text("listener_id"))
	if id := v.text("loadbalancer_id"); id != "" {
		lb, err := r.loadBalancer(id, r.mayWrite)
		if found && l.lb != lb {
			l = nil
		}
		return lb, l, err
	}
	switch {
	case v.text("listener_id") == "":
		return nil, nil, invalid("Must provide at least one of: loadbalancer_id, listener_id")
	case !found:
		return nil, nil, faultf(http.StatusInternalServerError, "'NoneType' object has no attribute 'load_balancer_id'")
	}
	return l.lb, l, r.mayWrite(l.lb.project)
}

func updatePool(r *request, p *pool, v values) error {
	changed := *p
	if err := r.changePool(&changed, v); err != nil {
		return err
	}
	if err := checkMutable(p.lb); err != nil {
		return err
	}
	if err := checkPool(&changed); err != nil {
		return err
	}
	r.State.Begin(r.Context(), p.lb, pendingUpdate).UpdatePool(p, changed)
	return nil
}

func deletePool(r *request, p *pool) error {
	if users := p.policies(); len(users) > 0 {
		return faultf(http.StatusConflict, "Pool %s is in use by L7 policy %s", p.id, users[0].id)
	}
	if err := checkMutable(p.lb); err != nil {
		return err
	}
	r.State.Begin(r.Context(), p.lb, pendingUpdate).DeletePool(p)
	return nil
}
