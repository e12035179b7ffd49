// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// The columns of each resource: what its list can be filtered and sorted by.
// A column that the real service does not have in this resource is refused,
// such as loadbalancer_id with health monitors.

func (o *object) cell(name string) cell {
	switch name {
	case "id":
		return idCell(o.id)
	case "provisioning_status":
		return textCell(o.prov.String())
	case "operating_status":
		return textCell(o.oper.String())
	case "created_at":
		return timeCell(o.created)
	case "updated_at":
		return timeCell(o.updated)
	}
	return cell{is: isUnknown}
}

func (lb *loadBalancer) tagList() []string { return lb.tags }

func (lb *loadBalancer) column(name string) cell {
	switch name {
	case "name":
		return textCell(lb.name)
	case "description":
		return textCell(lb.description)
	case "project_id", "tenant_id":
		return textCell(lb.project)
	case "admin_state_up", "enabled":
		return flagCell(lb.adminUp)
	case "vip_address":
		return textCell(lb.address)
	case "vip_subnet_id":
		return textCell(lb.subnet)
	case "vip_network_id":
		return textCell(lb.network)
	case "vip_port_id":
		return textCell(lb.port)
	case "provider":
		return textCell(lb.provider)
	case "flavor_id":
		return textCell(lb.flavor)
	case "availability_zone":
		return textCell(lb.zone)
	}
	return lb.cell(name)
}

func (l *listener) tagList() []string { return l.tags }

func (l *listener) column(name string) cell {
	switch name {
	case "name":
		return textCell(l.name)
	case "description":
		return textCell(l.description)
	case "project_id", "tenant_id":
		return textCell(l.lb.project)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(l.lb.id)
	case "default_pool_id":
		if l.pool == nil {
			return textCell("")
		}
		return idCell(l.pool.id)
	case "admin_state_up", "enabled":
		return flagCell(l.adminUp)
	case "protocol":
		return textCell(l.protocol)
	case "protocol_port":
		return numberCell(l.port)
	case "connection_limit":
		return numberCell(l.limit)
	case "timeout_client_data":
		return numberCell(l.timeouts.clientData)
	case "timeout_member_connect":
		return numberCell(l.timeouts.memberConnect)
	case "timeout_member_data":
		return numberCell(l.timeouts.memberData)
	case "timeout_tcp_inspect":
		return numberCell(l.timeouts.tcpInspect)
	}
	return l.cell(name)
}

func (p *pool) tagList() []string { return p.tags }

func (p *pool) column(name string) cell {
	switch name {
	case "name":
		return textCell(p.name)
	case "description":
		return textCell(p.description)
	case "project_id", "tenant_id":
		return textCell(p.lb.project)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(p.lb.id)
	case "healthmonitor_id":
		if p.monitor == nil {
			return textCell("")
		}
		return idCell(p.monitor.id)
	case "admin_state_up", "enabled":
		return flagCell(p.adminUp)
	case "protocol":
		return textCell(p.protocol)
	case "lb_algorithm":
		return textCell(p.algorithm)
	}
	return p.cell(name)
}

func (m *member) tagList() []string { return m.tags }

func (m *member) column(name string) cell {
	switch name {
	case "name":
		return textCell(m.name.Value())
	case "project_id", "tenant_id":
		return textCell(m.pool.lb.project)
	case "pool_id":
		return idCell(m.pool.id)
	case "address", "ip_address":
		return textCell(m.address.Value())
	case "subnet_id":
		return textCell(m.subnet.Value())
	case "monitor_address":
		return textCell(m.monitorAddress.Value())
	case "protocol_port":
		return numberCell(int(m.port))
	case "monitor_port":
		return numberCell(int(m.monitorPort))
	case "weight":
		return numberCell(int(m.weight))
	case "backup":
		return flagCell(m.backup)
	case "admin_state_up", "enabled":
		return flagCell(m.adminUp)
	}
	return m.cell(name)
}

func (m *monitor) tagList() []string { return m.tags }

func (m *monitor) column(name string) cell {
	switch name {
	case "name":
		return textCell(m.name)
	case "project_id", "tenant_id":
		return textCell(m.pool.lb.project)
	case "pool_id":
		return idCell(m.pool.id)
	case "type":
		return textCell(m.kind)
	case "delay":
		return numberCell(m.delay)
	case "timeout":
		return numberCell(m.timeout)
	case "max_retries":
		return numberCell(m.retries)
	case "max_retries_down":
		return numberCell(m.retriesDown)
	case "http_method":
		return textCell(m.method)
	case "url_path":
		return textCell(m.path)
	case "expected_codes":
		return textCell(m.codes)
	case "admin_state_up", "enabled":
		return flagCell(m.adminUp)
	case "domain_name":
		return textCell(m.domain)
	}
	return m.cell(name)
}
