// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import "net/http"

var listenerResource = &resource[*listener]{
	kind: listenersView, path: "/listeners", item: "/listeners/{id}",
	root: "listener_", attributes: listenerCreate, changes: listenerUpdate,
	known:  func(s *State) index[*listener] { return s.Listeners },
	find:   func(r *request, write bool) (*listener, error) { return r.listener(r.PathValue("id"), r.may(write)) },
	rows:   parts(func(lb *loadBalancer) []*listener { return lb.listeners }),
	create: createListener, update: updateListener, remove: deleteListener,
}

func createListener(r *request, v values) (*listener, error) {
	lb, err := r.loadBalancer(v.text("loadbalancer_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if err := r.State.Quotas.Check(lb.project, listenerQuota, 1); err != nil {
		return nil, err
	}
	p, err := r.defaultPool(lb, v, v.text("protocol"))
	if err != nil {
		return nil, err
	}
	if err := checkMutable(lb); err != nil {
		return nil, err
	}
	l, err := r.newListener(lb, v, p)
	if err != nil {
		return nil, err
	}
	if v.object("default_pool") != nil || len(v.objects("l7policies")) > 0 {
		return nil, errNestedCreate
	}
	if err := checkListener(l); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), lb, pendingUpdate).CreateListener(l)
	return l, nil
}

func listenerStats(r *request) (answer, error) {
	r.State.RLock()
	defer r.State.RUnlock()
	if _, err := r.listener(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, stats(r.document())}, nil
}

func updateListener(r *request, l *listener, v values) error {
	changed := *l
	if err := r.changeListener(&changed, v); err != nil {
		return err
	}
	if err := checkMutable(l.lb); err != nil {
		return err
	}
	if err := checkListener(&changed); err != nil {
		return err
	}
	r.State.Begin(r.Context(), l.lb, pendingUpdate).UpdateListener(l, changed)
	return nil
}

func deleteListener(r *request, l *listener) error {
	if err := checkMutable(l.lb); err != nil {
		return err
	}
	r.State.Begin(r.Context(), l.lb, pendingUpdate).DeleteListener(l)
	return nil
}
