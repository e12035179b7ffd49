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
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

var listenerResource = &resource[*model.Listener]{
	kind: view.Listeners, path: "/listeners", item: "/listeners/{id}",
	root: "listener_", attributes: schema.ListenerCreate, changes: schema.ListenerUpdate,
	known:  func(s *state.State) state.Index[*model.Listener] { return s.Listeners },
	find:   byID((*request).listener),
	rows:   parts(func(lb *model.LoadBalancer) []*model.Listener { return lb.Listeners }),
	create: createListener, update: updateListener, remove: deleteListener,
}

func createListener(r *request, v schema.Values) (*model.Listener, error) {
	lb, err := r.loadBalancer(v.Text("loadbalancer_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if err := r.state.Quotas.Check(lb.Project, model.ListenerQuota, 1); err != nil {
		return nil, err
	}
	p, err := r.checks.DefaultPool(lb, v, v.Text("protocol"))
	if err != nil {
		return nil, err
	}
	if err := validate.CheckMutable(lb); err != nil {
		return nil, err
	}
	l, err := r.checks.NewListener(lb, v, p)
	if err != nil {
		return nil, err
	}
	if v.Object("default_pool") != nil || len(v.Objects("l7policies")) > 0 {
		return nil, fault.ErrNestedCreate
	}
	if err := provider.CheckListener(l); err != nil {
		return nil, err
	}
	if r.release == release.Epoxy && l.Pool != nil && sharesPort(l) {
		return nil, fault.ErrSharedPort
	}
	r.state.Begin(r.Context(), lb, model.PendingUpdate).CreateListener(l)
	return l, nil
}

// sharesPort reports whether the load balancer has another listener on the port of a new one, with another transport
// protocol. Octavia 16 (2025.1) fails then if the new one has a default pool; Octavia 11 and 19 do not.
func sharesPort(l *model.Listener) bool {
	return slices.ContainsFunc(l.LB.Listeners, func(other *model.Listener) bool { return other.Port == l.Port })
}

func listenerStats(r *request) (answer, error) {
	r.state.RLock()
	defer r.state.RUnlock()
	if _, err := r.listener(r.PathValue("id"), r.mayRead); err != nil {
		return answer{}, err
	}
	return answer{http.StatusOK, view.Stats(r.document())}, nil
}

func updateListener(r *request, l *model.Listener, v schema.Values) error {
	changed := *l
	if err := r.checks.ChangeListener(&changed, v); err != nil {
		return err
	}
	if err := validate.CheckMutable(l.LB); err != nil {
		return err
	}
	if err := provider.CheckListener(&changed); err != nil {
		return err
	}
	r.state.Begin(r.Context(), l.LB, model.PendingUpdate).UpdateListener(l, changed)
	return nil
}

func deleteListener(r *request, l *model.Listener) error {
	if err := validate.CheckMutable(l.LB); err != nil {
		return err
	}
	r.state.Begin(r.Context(), l.LB, model.PendingUpdate).DeleteListener(l)
	return nil
}
