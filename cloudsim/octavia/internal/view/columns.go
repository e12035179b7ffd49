// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package view

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/kube-octavia/kube-octavia/cloudsim/octavia/internal/model"
)

// cell is the value of a column, by which lists are filtered and sorted.
type cell struct {
	text   string
	number int64
	is     cellKind
}

type cellKind uint8

const (
	isText cellKind = iota
	isNumber
	isFlag
	isUnknown
)

func textCell(s string) cell   { return cell{text: s} }
func idCell(id uuid.UUID) cell { return cell{text: id.String()} }
func numberCell(n int) cell    { return cell{number: int64(n), is: isNumber} }
func timeCell(n int64) cell    { return cell{number: n, is: isNumber} }
func flagCell(b bool) cell {
	c := cell{is: isFlag}
	if b {
		c.number = 1
	}
	return c
}

func (c cell) matches(value string) bool {
	switch c.is {
	case isNumber:
		n, err := strconv.ParseInt(value, 10, 64)
		return err == nil && n == c.number
	case isFlag:
		truth := slices.Contains([]string{"1", "t", "true", "on", "y", "yes"}, strings.ToLower(value))
		return truth == (c.number == 1)
	}
	return folded(c.text) == folded(value)
}

func compareCells(a, b cell) int {
	return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(folded(a.text), folded(b.text)))
}

// folded returns a text as the real service's database compares it: it ignores case and trailing
// spaces.
func folded(text string) string { return strings.ToLower(strings.TrimRight(text, " ")) }

// The columns of each resource, by which its list can be filtered and sorted. Columns that the real
// service does not have for a resource are refused, such as loadbalancer_id for health monitors.

// partColumn has the columns of all resources in a load balancer's tree.
func partColumn(p model.Part, adminUp bool, name string) cell {
	o := p.Base()
	switch name {
	case "project_id", "tenant_id":
		return textCell(p.Tree().Project)
	case "admin_state_up", "enabled":
		return flagCell(adminUp)
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
	return partColumn(lb, lb.AdminUp, name)
}

func listenerColumn(l *model.Listener, name string) cell {
	switch name {
	case "name":
		return textCell(l.Name)
	case "description":
		return textCell(l.Description)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(l.LB.ID)
	case "default_pool_id":
		if l.Pool == nil {
			return textCell("")
		}
		return idCell(l.Pool.ID)
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
		return numberCell(l.Timeouts.TCPInspect)
	}
	return partColumn(l, l.AdminUp, name)
}

func poolColumn(p *model.Pool, name string) cell {
	switch name {
	case "name":
		return textCell(p.Name)
	case "description":
		return textCell(p.Description)
	case "loadbalancer_id", "load_balancer_id":
		return idCell(p.LB.ID)
	case "healthmonitor_id":
		if p.Monitor == nil {
			return textCell("")
		}
		return idCell(p.Monitor.ID)
	case "protocol":
		return textCell(p.Protocol)
	case "lb_algorithm":
		return textCell(p.Algorithm)
	}
	return partColumn(p, p.AdminUp, name)
}

func memberColumn(m *model.Member, name string) cell {
	switch name {
	case "name":
		return textCell(m.Name.Value())
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
	}
	return partColumn(m, m.AdminUp, name)
}

func monitorColumn(m *model.Monitor, name string) cell {
	switch name {
	case "name":
		return textCell(m.Name)
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
	case "domain_name":
		return textCell(m.Domain)
	}
	return partColumn(m, m.AdminUp, name)
}

func ruleColumn(rule *model.L7Rule, name string) cell {
	switch name {
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
	}
	return partColumn(rule, rule.AdminUp, name)
}

func policyColumn(policy *model.L7Policy, name string) cell {
	switch name {
	case "name":
		return textCell(policy.Name)
	case "description":
		return textCell(policy.Description)
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
	}
	return partColumn(policy, policy.AdminUp, name)
}
