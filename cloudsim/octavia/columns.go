// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

// The columns of each resource: what its list can be filtered and sorted by.
// A column that the real service does not have in this resource is refused,
// such as loadbalancer_id with health monitors.

func objectColumn(o *object, name string) cell {
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

func loadBalancerColumn(lb *loadBalancer, name string) cell {
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
	return objectColumn(&lb.object, name)
}

func listenerColumn(l *listener, name string) cell {
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
	return objectColumn(&l.object, name)
}

func poolColumn(p *pool, name string) cell {
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
	return objectColumn(&p.object, name)
}

func memberColumn(m *member, name string) cell {
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
	return objectColumn(&m.object, name)
}

func monitorColumn(m *monitor, name string) cell {
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
	return objectColumn(&m.object, name)
}

func ruleColumn(rule *l7rule, name string) cell {
	switch name {
	case "project_id", "tenant_id":
		return textCell(rule.policy.listener.lb.project)
	case "l7policy_id":
		return idCell(rule.policy.id)
	case "type":
		return textCell(rule.kind)
	case "compare_type":
		return textCell(rule.compare)
	case "key":
		return textCell(rule.key)
	case "value":
		return textCell(rule.value)
	case "invert":
		return flagCell(rule.invert)
	case "admin_state_up", "enabled":
		return flagCell(rule.adminUp)
	}
	return objectColumn(&rule.object, name)
}

func policyColumn(policy *l7policy, name string) cell {
	switch name {
	case "name":
		return textCell(policy.name)
	case "description":
		return textCell(policy.description)
	case "project_id", "tenant_id":
		return textCell(policy.listener.lb.project)
	case "listener_id":
		return idCell(policy.listener.id)
	case "action":
		return textCell(policy.action)
	case "redirect_pool_id":
		if policy.pool == nil {
			return textCell("")
		}
		return idCell(policy.pool.id)
	case "redirect_url":
		return textCell(policy.url)
	case "redirect_prefix":
		return textCell(policy.prefix)
	case "redirect_http_code":
		return numberCell(policy.code)
	case "position":
		return numberCell(policy.position())
	case "admin_state_up", "enabled":
		return flagCell(policy.adminUp)
	}
	return objectColumn(&policy.object, name)
}
