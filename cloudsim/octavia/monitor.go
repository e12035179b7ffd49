// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

var monitorResource = &resource[*monitor]{
	kind: monitorsView, path: "/healthmonitors", item: "/healthmonitors/{id}",
	root: "health_monitor_", attributes: monitorCreate, changes: monitorUpdate,
	known: func(s *State) index[*monitor] { return s.Monitors },
	find:  func(r *request, write bool) (*monitor, error) { return r.monitor(r.PathValue("id"), r.may(write)) },
	rows: parts(func(lb *loadBalancer) []*monitor {
		var all []*monitor
		for _, p := range lb.pools {
			if p.monitor != nil {
				all = append(all, p.monitor)
			}
		}
		return all
	}),
	create: createMonitor, update: updateMonitor, remove: deleteMonitor,
}

func createMonitor(r *request, v values) (*monitor, error) {
	p, err := r.pool(v.text("pool_id"), r.mayWrite)
	if err != nil {
		return nil, err
	}
	if err := r.checkUDPMonitorTypes(v.text("type"), p); err != nil {
		return nil, err
	}
	if err := checkMonitorFitsPool(v.text("type"), v.number("delay", 0), p); err != nil {
		return nil, err
	}
	if err := r.State.Quotas.Check(p.lb.project, monitorQuota, 1); err != nil {
		return nil, err
	}
	if err := p.checkParents(); err != nil {
		return nil, err
	}
	m, err := r.newMonitor(p, v)
	if err != nil {
		return nil, err
	}
	if p.monitor != nil {
		return nil, errSecondMonitor
	}
	if err := checkMonitor(m); err != nil {
		return nil, err
	}
	r.State.Begin(r.Context(), p.lb, pendingUpdate).CreateMonitor(m)
	return m, nil
}

func updateMonitor(r *request, m *monitor, v values) error {
	changed := *m
	if err := changed.change(v); err != nil {
		return err
	}
	if m.kind == "UDP-CONNECT" && !v.has("delay") {
		return errNoDelay
	}
	if err := checkMonitorFitsPool(m.kind, changed.delay, m.pool); err != nil {
		return err
	}
	if err := m.pool.checkParents(); err != nil {
		return err
	}
	r.State.Begin(r.Context(), m.pool.lb, pendingUpdate).UpdateMonitor(m, changed)
	return nil
}

func deleteMonitor(r *request, m *monitor) error {
	if err := m.pool.checkParents(); err != nil {
		return err
	}
	r.State.Begin(r.Context(), m.pool.lb, pendingUpdate).DeleteMonitor(m)
	return nil
}
