// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package validate

import (
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/fault"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/provider"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/schema"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// BuildTree makes the children of a fully populated create. Listeners can share pools by name: one
// of them, or the top level, defines the pool.
func (c *Checks) BuildTree(lb *model.LoadBalancer, v schema.Values) error {
	specs, err := poolSpecs(v)
	if err != nil {
		return err
	}
	if err := c.State.Quotas.Check(lb.Project, model.PoolQuota, len(specs)); err != nil {
		return err
	}
	byName := map[string]*model.Pool{}
	members, monitors := 0, 0
	for _, spec := range specs {
		p, err := c.buildPool(lb, spec)
		if err != nil {
			return err
		}
		lb.Pools = append(lb.Pools, p)
		byName[p.Name] = p
		members += len(p.Members)
		if p.Monitor != nil {
			monitors++
		}
	}
	listeners := v.Objects("listeners")
	if err := c.checkTreeQuota(lb.Project, members, monitors, len(listeners)); err != nil {
		return err
	}
	for _, spec := range listeners {
		if err := c.buildListener(lb, spec, byName); err != nil {
			return err
		}
	}
	return provider.CheckTree(lb, c.Release >= release.Newest)
}

func (c *Checks) checkTreeQuota(project string, members, monitors, listeners int) error {
	if err := c.State.Quotas.Check(project, model.MonitorQuota, monitors); err != nil {
		return err
	}
	if err := c.State.Quotas.Check(project, model.MemberQuota, members); err != nil {
		return err
	}
	return c.State.Quotas.Check(project, model.ListenerQuota, listeners)
}

// poolSpecs collects the pools that the request defines: first at the top level, then in listeners.
func poolSpecs(v schema.Values) ([]schema.Values, error) {
	specs := append([]schema.Values(nil), v.Objects("pools")...)
	var referenced []string
	for _, p := range poolsOf(v.Objects("listeners")) {
		if p.Text("name") == "" {
			return nil, fault.Invalid("Pools must be named when creating a fully populated loadbalancer.")
		}
		if isReference(p) {
			referenced = append(referenced, p.Text("name"))
		} else {
			specs = append(specs, p)
		}
	}
	names := map[string]bool{}
	for _, p := range specs {
		if names[p.Text("name")] {
			return nil, fault.Invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		names[p.Text("name")] = true
	}
	for _, name := range referenced {
		if !names[name] {
			return nil, fault.Invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}
	return specs, nil
}

// poolsOf returns the pools that listeners and their policies define or refer to.
func poolsOf(listeners []schema.Values) []schema.Values {
	var all []schema.Values
	for _, l := range listeners {
		if p := l.Object("default_pool"); p != nil {
			all = append(all, p)
		}
		for _, policy := range l.Objects("l7policies") {
			if p := policy.Object("redirect_pool"); p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// isReference reports whether a pool is only a reference by name, not a definition. Attributes that
// have a default do not make it a definition.
func isReference(p schema.Values) bool {
	for name := range p {
		if name != "name" && name != "admin_state_up" && name != "tls_enabled" {
			return false
		}
	}
	return true
}

func (c *Checks) buildPool(lb *model.LoadBalancer, spec schema.Values) (*model.Pool, error) {
	for _, name := range []string{"protocol", "lb_algorithm"} {
		if spec.Text(name) == "" {
			return nil, fault.Invalid("Pool definition for '%s' missing required attribute: %s", spec.Text("name"), name)
		}
	}
	p, err := c.NewPool(lb, spec)
	if err != nil {
		return nil, err
	}
	if err := c.SetPoolTLS(p, spec); err != nil {
		return nil, err
	}
	if hm := spec.Object("healthmonitor"); hm != nil {
		p.Monitor, err = c.NewMonitor(p, hm)
		if err != nil {
			return nil, err
		}
		if err := CheckMonitorFitsPool(p.Monitor.Kind, p.Monitor.Delay, p); err != nil {
			return nil, err
		}
	}
	type place struct {
		address model.Text
		port    uint16
	}
	taken := make(map[place]bool, len(spec.Objects("members")))
	for _, mv := range spec.Objects("members") {
		m, err := c.NewMember(p, mv)
		if err != nil {
			return nil, err
		}
		if taken[place{m.Address, m.Port}] {
			return nil, DuplicateMember(m)
		}
		taken[place{m.Address, m.Port}] = true
		p.Members = append(p.Members, m)
	}
	return p, nil
}

func (c *Checks) buildListener(lb *model.LoadBalancer, spec schema.Values, byName map[string]*model.Pool) error {
	var p *model.Pool
	if given := spec.Object("default_pool"); given != nil {
		p = byName[given.Text("name")]
	} else if id := spec.Text("default_pool_id"); id != "" {
		return fault.NotFound("Pool", id) // none exists yet
	}
	l, err := c.NewListener(lb, spec, p)
	if err != nil {
		return err
	}
	if c.Release >= release.Epoxy {
		l.Updated = 0 // it is written only once
	}
	lb.Listeners = append(lb.Listeners, l)
	for _, given := range spec.Objects("l7policies") {
		if l.Protocol == "PROMETHEUS" {
			return fault.ErrNoChildren
		}
		var redirect *model.Pool
		if named := given.Object("redirect_pool"); named != nil {
			redirect = byName[named.Text("name")]
		}
		policy, err := c.NewPolicy(l, given, redirect)
		if err != nil {
			return err
		}
		l.PlacePolicy(policy, given.Number("position", schema.LastPosition))
	}
	return nil
}
