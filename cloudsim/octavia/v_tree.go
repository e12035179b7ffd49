// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// buildTree makes the children of a fully populated create. Listeners share
// pools by name: one of them, or the top level, defines the pool.
func (c *Checks) buildTree(lb *loadBalancer, v values) error {
	specs, err := poolSpecs(v)
	if err != nil {
		return err
	}
	if err := c.State.Quotas.Check(lb.project, poolQuota, len(specs)); err != nil {
		return err
	}
	byName := map[string]*pool{}
	members, monitors := 0, 0
	for _, spec := range specs {
		p, err := c.buildPool(lb, spec)
		if err != nil {
			return err
		}
		lb.pools = append(lb.pools, p)
		byName[p.name] = p
		members += len(p.members)
		if p.monitor != nil {
			monitors++
		}
	}
	listeners := v.objects("listeners")
	if err := c.checkTreeQuota(lb.project, members, monitors, len(listeners)); err != nil {
		return err
	}
	for _, spec := range listeners {
		if err := c.buildListener(lb, spec, byName); err != nil {
			return err
		}
	}
	return checkTree(lb)
}

func (c *Checks) checkTreeQuota(project string, members, monitors, listeners int) error {
	if err := c.State.Quotas.Check(project, monitorQuota, monitors); err != nil {
		return err
	}
	if err := c.State.Quotas.Check(project, memberQuota, members); err != nil {
		return err
	}
	return c.State.Quotas.Check(project, listenerQuota, listeners)
}

// poolSpecs collects the pools that are defined anywhere in the request: first
// the top level's, then the listeners'.
func poolSpecs(v values) ([]values, error) {
	specs := append([]values(nil), v.objects("pools")...)
	var referenced []string
	for _, p := range poolsOf(v.objects("listeners")) {
		if p.text("name") == "" {
			return nil, invalid("Pools must be named when creating a fully populated loadbalancer.")
		}
		if isReference(p) {
			referenced = append(referenced, p.text("name"))
		} else {
			specs = append(specs, p)
		}
	}
	names := map[string]bool{}
	for _, p := range specs {
		if names[p.text("name")] {
			return nil, invalid("Pool names must be unique when creating a fully populated loadbalancer.")
		}
		names[p.text("name")] = true
	}
	for _, name := range referenced {
		if !names[name] {
			return nil, invalid("Pool '%s' was referenced but no full definition was found.", name)
		}
	}
	return specs, nil
}

// poolsOf are the pools that listeners and their policies define or name.
func poolsOf(listeners []values) []values {
	var all []values
	for _, l := range listeners {
		if p := l.object("default_pool"); p != nil {
			all = append(all, p)
		}
		for _, policy := range l.objects("l7policies") {
			if p := policy.object("redirect_pool"); p != nil {
				all = append(all, p)
			}
		}
	}
	return all
}

// isReference tells a pool that is only named from one that is defined. What
// has a default does not make a definition.
func isReference(p values) bool {
	for name := range p {
		if name != "name" && name != "admin_state_up" && name != "tls_enabled" {
			return false
		}
	}
	return true
}

func (c *Checks) buildPool(lb *loadBalancer, spec values) (*pool, error) {
	for _, name := range []string{"protocol", "lb_algorithm"} {
		if spec.text(name) == "" {
			return nil, invalid("Pool definition for '%s' missing required attribute: %s", spec.text("name"), name)
		}
	}
	p, err := c.newPool(lb, spec)
	if err != nil {
		return nil, err
	}
	if err := c.setPoolTLS(p, spec); err != nil {
		return nil, err
	}
	if hm := spec.object("healthmonitor"); hm != nil {
		if p.monitor, err = c.newMonitor(p, hm); err != nil {
			return nil, err
		}
		if err := checkMonitorFitsPool(p.monitor.kind, p.monitor.delay, p); err != nil {
			return nil, err
		}
	}
	type place struct {
		address text
		port    uint16
	}
	taken := make(map[place]bool, len(spec.objects("members")))
	for _, mv := range spec.objects("members") {
		m, err := c.newMember(p, mv)
		if err != nil {
			return nil, err
		}
		if taken[place{m.address, m.port}] {
			return nil, duplicateMember(m)
		}
		taken[place{m.address, m.port}] = true
		p.members = append(p.members, m)
	}
	return p, nil
}

func (c *Checks) buildListener(lb *loadBalancer, spec values, byName map[string]*pool) error {
	var p *pool
	if given := spec.object("default_pool"); given != nil {
		p = byName[given.text("name")]
	} else if id := spec.text("default_pool_id"); id != "" {
		return notFound("Pool", id) // none is there yet
	}
	l, err := c.newListener(lb, spec, p)
	if err != nil {
		return err
	}
	lb.listeners = append(lb.listeners, l)
	for _, given := range spec.objects("l7policies") {
		if l.protocol == "PROMETHEUS" {
			return errNoChildren
		}
		var redirect *pool
		if named := given.object("redirect_pool"); named != nil {
			redirect = byName[named.text("name")]
		}
		policy, err := c.newPolicy(l, given, redirect)
		if err != nil {
			return err
		}
		l.placePolicy(policy, given.number("position", lastPosition))
	}
	return nil
}
