// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/state"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/validate"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/view"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

var monitorResource = &resource[*model.Monitor]{
	kind: view.Monitors, path: "/healthmonitors", item: "/healthmonitors/{id}",
	root: "health_monitor_", attributes: schema.MonitorCreate, changes: schema.MonitorUpdate,
	known: func(s *state.State) state.Index[*model.Monitor] { return s.Monitors },
	find:  byID((*request).monitor),
	rows: parts(func(lb *model.LoadBalancer) []*model.Monitor {
		var all []*model.Monitor
		for _, p := range lb.Pools {
			if p.Monitor != nil {
				all = append(all, p.Monitor)
			}
		}
		return all
	}),
	create: createMonitor, update: updateMonitor, remove: deleteMonitor,
}

func createMonitor(r *request, v schema.Values) (*model.Monitor, error) {
	p, err := r.pool(v.Text("pool_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if err := r.checks.CheckUDPMonitorTypes(v.Text("type"), p); err != nil {
		return nil, err
	}
	if err := validate.CheckMonitorFitsPool(v.Text("type"), v.Number("delay", 0), p); err != nil {
		return nil, err
	}
	if err := r.state.Quotas.Check(p.LB.Project, model.MonitorQuota, 1); err != nil {
		return nil, err
	}
	if err := validate.CheckPoolParents(p); err != nil {
		return nil, err
	}
	m, err := r.checks.NewMonitor(p, v)
	if err != nil {
		return nil, err
	}
	if p.Monitor != nil {
		return nil, fault.ErrSecondMonitor
	}
	if err := provider.CheckMonitor(m); err != nil {
		return nil, err
	}
	r.state.Begin(r.Context(), p.LB, model.PendingUpdate).CreateMonitor(m)
	return m, nil
}

func updateMonitor(r *request, m *model.Monitor, v schema.Values) error {
	changed := *m
	if err := validate.ChangeMonitor(&changed, v); err != nil {
		return err
	}
	if m.Kind == "UDP-CONNECT" && !v.Has("delay") && r.release < release.Epoxy {
		return fault.ErrNoDelay // Octavia 16 uses the current delay of the monitor
	}
	if err := validate.CheckMonitorFitsPool(m.Kind, changed.Delay, m.Pool); err != nil {
		return err
	}
	if err := validate.CheckPoolParents(m.Pool); err != nil {
		return err
	}
	r.state.Begin(r.Context(), m.Tree(), model.PendingUpdate).UpdateMonitor(m, changed)
	return nil
}

func deleteMonitor(r *request, m *model.Monitor) error {
	if err := validate.CheckPoolParents(m.Pool); err != nil {
		return err
	}
	r.state.Begin(r.Context(), m.Tree(), model.PendingUpdate).DeleteMonitor(m)
	return nil
}
