// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import "github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"

// The columns of each resource: what its list can be filtered and sorted by.
// A column that the real service does not have in this resource is refused,
// such as loadbalancer_id with health monitors.

func objectColumn(o *model.Object, name string) cell {
	switch name {
	case "id":
		return idCell(o.ID)
	case "provisioning_status":
		return textCell(o.Provisioning.String())
	case "operating_status":
		return textCell(o.Operating.String())
	case "created_at":
		return timeCell(o.Created)
	case "updated_at":
		return timeCell(o.Updated)
	}
	return cell{is: isUnknown}
}

func loadBalancerColumn(lb *model.LoadBalancer, name string) cell {
	switch name {
	case "name":
		return textCell(lb.Name)
	case "description":
		return textCell(lb.Description)
	case "project_id", "tenant_id":
		return textCell(lb.Project)
	case "admin_state_up", "enabled":
		return flagCell(lb.AdminUp)
	case "vip_address":
		return textCell(lb.Address)
	case "vip_subnet_id":
		return textCell(lb.Subnet)
	case "vip_network_id":
		return textCell(lb.Network)
	case "vip_port_id":
		return textCell(lb.Port)
	case "provider":
		return textCell(lb.Provider)
	case "flavor_id":
		return textCell(lb.Flavor)
	case "availability_zone":
		return textCell(lb.Zone)
	}
	return objectColumn(&lb.Object, name)
}

func listenerColumn(l *model.Listener, name string) cell {
	switch name {
	case "name":
		return textCell(l.Name)
	case "description":
		return textCell(l.Description)
	case "project_id", "tenant_id":
		return textCell(l.LB.Project)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(l.LB.ID)
	case "default_pool_id":
		if l.Pool == nil {
			return textCell("")
		}
		return idCell(l.Pool.ID)
	case "admin_state_up", "enabled":
		return flagCell(l.AdminUp)
	case "protocol":
		return textCell(l.Protocol)
	case "protocol_port":
		return numberCell(l.Port)
	case "connection_limit":
		return numberCell(l.Limit)
	case "timeout_client_data":
		return numberCell(l.Timeouts.ClientData)
	case "timeout_member_connect":
		return numberCell(l.Timeouts.MemberConnect)
	case "timeout_member_data":
		return numberCell(l.Timeouts.MemberData)
	case "timeout_tcp_inspect":
		return numberCell(l.Timeouts.TcpInspect)
	}
	return objectColumn(&l.Object, name)
}

func poolColumn(p *model.Pool, name string) cell {
	switch name {
	case "name":
		return textCell(p.Name)
	case "description":
		return textCell(p.Description)
	case "project_id", "tenant_id":
		return textCell(p.LB.Project)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(p.LB.ID)
	case "healthmonitor_id":
		if p.Monitor == nil {
			return textCell("")
		}
		return idCell(p.Monitor.ID)
	case "admin_state_up", "enabled":
		return flagCell(p.AdminUp)
	case "protocol":
		return textCell(p.Protocol)
	case "lb_algorithm":
		return textCell(p.Algorithm)
	}
	return objectColumn(&p.Object, name)
}

func memberColumn(m *model.Member, name string) cell {
	switch name {
	case "name":
		return textCell(m.Name.Value())
	case "project_id", "tenant_id":
		return textCell(m.Pool.LB.Project)
	case "pool_id":
		return idCell(m.Pool.ID)
	case "address", "ip_address":
		return textCell(m.Address.Value())
	case "subnet_id":
		return textCell(m.Subnet.Value())
	case "monitor_address":
		return textCell(m.MonitorAddress.Value())
	case "protocol_port":
		return numberCell(int(m.Port))
	case "monitor_port":
		return numberCell(int(m.MonitorPort))
	case "weight":
		return numberCell(int(m.Weight))
	case "backup":
		return flagCell(m.Backup)
	case "admin_state_up", "enabled":
		return flagCell(m.AdminUp)
	}
	return objectColumn(&m.Object, name)
}

func monitorColumn(m *model.Monitor, name string) cell {
	switch name {
	case "name":
		return textCell(m.Name)
	case "project_id", "tenant_id":
		return textCell(m.Pool.LB.Project)
	case "pool_id":
		return idCell(m.Pool.ID)
	case "type":
		return textCell(m.Kind)
	case "delay":
		return numberCell(m.Delay)
	case "timeout":
		return numberCell(m.Timeout)
	case "max_retries":
		return numberCell(m.Retries)
	case "max_retries_down":
		return numberCell(m.RetriesDown)
	case "http_method":
		return textCell(m.Method)
	case "url_path":
		return textCell(m.Path)
	case "expected_codes":
		return textCell(m.Codes)
	case "admin_state_up", "enabled":
		return flagCell(m.AdminUp)
	case "domain_name":
		return textCell(m.Domain)
	}
	return objectColumn(&m.Object, name)
}

func ruleColumn(rule *model.L7Rule, name string) cell {
	switch name {
	case "project_id", "tenant_id":
		return textCell(rule.Policy.Listener.LB.Project)
	case "l7policy_id":
		return idCell(rule.Policy.ID)
	case "type":
		return textCell(rule.Kind)
	case "compare_type":
		return textCell(rule.Compare)
	case "key":
		return textCell(rule.Key)
	case "value":
		return textCell(rule.Value)
	case "invert":
		return flagCell(rule.Invert)
	case "admin_state_up", "enabled":
		return flagCell(rule.AdminUp)
	}
	return objectColumn(&rule.Object, name)
}

func policyColumn(policy *model.L7Policy, name string) cell {
	switch name {
	case "name":
		return textCell(policy.Name)
	case "description":
		return textCell(policy.Description)
	case "project_id", "tenant_id":
		return textCell(policy.Listener.LB.Project)
	case "listener_id":
		return idCell(policy.Listener.ID)
	case "action":
		return textCell(policy.Action)
	case "redirect_pool_id":
		if policy.Pool == nil {
			return textCell("")
		}
		return idCell(policy.Pool.ID)
	case "redirect_url":
		return textCell(policy.URL)
	case "redirect_prefix":
		return textCell(policy.Prefix)
	case "redirect_http_code":
		return numberCell(policy.Code)
	case "position":
		return numberCell(policy.Position())
	case "admin_state_up", "enabled":
		return flagCell(policy.AdminUp)
	}
	return objectColumn(&policy.Object, name)
}
