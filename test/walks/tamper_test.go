// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package walks_test

import (
	"net/http"
	"slices"
	"strings"
)

// balancerOf is the load balancer of a Service in the cloud, with ids that tampering needs.
type balancerOf struct {
	ID, Port              string
	Listeners, Pools      []string
	pool, member, monitor string
	floatingIP            string
	named                 bool // as the load balancers of Services
}

// find finds the load balancer that has the Service's tag.
func (s *stage) find(on string) (b balancerOf, _ error) {
	v, err := s.service(on)
	if err != nil {
		return b, err
	}
	var list struct {
		LoadBalancers []struct {
			ID, Name         string
			Port             string `json:"vip_port_id"`
			Tags             []string
			Listeners, Pools []struct{ ID string }
		}
	}
	if err := s.octavia(http.MethodGet, "loadbalancers", nil, &list); err != nil {
		return b, err
	}
	for _, l := range list.LoadBalancers {
		if slices.Contains(l.Tags, "kube-octavia.service="+string(v.UID)) {
			b.ID, b.Port = l.ID, l.Port
			b.named = strings.HasPrefix(l.Name, "kube_service_")
			for _, o := range l.Listeners {
				b.Listeners = append(b.Listeners, o.ID)
			}
			for _, o := range l.Pools {
				b.Pools = append(b.Pools, o.ID)
			}
		}
	}
	if b.ID == "" {
		return b, errNotPossible
	}
	for _, id := range b.Pools {
		var p struct {
			Pool struct {
				Members []struct{ ID string }
				Monitor string `json:"healthmonitor_id"`
			}
		}
		if err := s.octavia(http.MethodGet, "pools/"+id, nil, &p); err != nil {
			return b, err
		}
		b.monitor = p.Pool.Monitor
		if len(p.Pool.Members) > 0 {
			b.pool, b.member = id, p.Pool.Members[0].ID
		}
	}
	var floating struct{ FloatingIPs []struct{ ID string } }
	if err := s.neutron(http.MethodGet, "floatingips?port_id="+b.Port, nil, &floating); err != nil {
		return b, err
	}
	if len(floating.FloatingIPs) > 0 {
		b.floatingIP = floating.FloatingIPs[0].ID
	}
	return b, nil
}

// tamperings are what other clients, or the cloud, do to the objects of a Service.
var tamperings = map[string]func(*stage, balancerOf) error{
	"error": func(s *stage, b balancerOf) error { s.cloud.Octavia().SetError(b.ID); return nil },
	"delete": func(s *stage, b balancerOf) error {
		return s.octavia(http.MethodDelete, "loadbalancers/"+b.ID+"?cascade=true", nil, nil)
	},
	"rename": func(s *stage, b balancerOf) error {
		return s.put("loadbalancers/"+b.ID, "loadbalancer", map[string]any{"name": "by hand"})
	},
	"untagged": func(s *stage, b balancerOf) error {
		if !b.named || len(b.Listeners) == 0 {
			return errNotPossible // nothing would show any more whose it is, and the Service would say NotOwned
		}
		return s.put("loadbalancers/"+b.ID, "loadbalancer", map[string]any{"tags": []string{}})
	},
	"disable": func(s *stage, b balancerOf) error {
		return s.put("loadbalancers/"+b.ID, "loadbalancer", map[string]any{"admin_state_up": false})
	},
	"listener-deleted": onOne(func(b balancerOf) []string { return b.Listeners }, func(s *stage, id string) error { return s.octavia(http.MethodDelete, "listeners/"+id, nil, nil) }),
	"listener-changed": onOne(func(b balancerOf) []string { return b.Listeners }, func(s *stage, id string) error {
		return s.put("listeners/"+id, "listener", map[string]any{"connection_limit": 7, "allowed_cidrs": []string{"198.51.100.0/24"}})
	}),
	"listener-added": func(s *stage, b balancerOf) error {
		return s.octavia(http.MethodPost, "listeners", map[string]any{"listener": map[string]any{"loadbalancer_id": b.ID, "protocol": "TCP", "protocol_port": 9999, "name": "by hand"}}, nil)
	},
	"pool-deleted": onOne(func(b balancerOf) []string { return b.Pools }, func(s *stage, id string) error { return s.octavia(http.MethodDelete, "pools/"+id, nil, nil) }),
	"pool-changed": onOne(func(b balancerOf) []string { return b.Pools }, func(s *stage, id string) error {
		return s.put("pools/"+id, "pool", map[string]any{"lb_algorithm": "LEAST_CONNECTIONS"})
	}),
	"members-emptied": onOne(func(b balancerOf) []string { return b.Pools }, func(s *stage, id string) error {
		return s.put("pools/"+id+"/members", "members", []any{})
	}),
	"member-deleted": onMember(func(s *stage, b balancerOf) error {
		return s.octavia(http.MethodDelete, "pools/"+b.pool+"/members/"+b.member, nil, nil)
	}),
	"member-weight": onMember(func(s *stage, b balancerOf) error {
		return s.put("pools/"+b.pool+"/members/"+b.member, "member", map[string]any{"weight": 0})
	}),
	"member-added": onMember(func(s *stage, b balancerOf) error {
		return s.octavia(http.MethodPost, "pools/"+b.pool+"/members", map[string]any{"member": map[string]any{"address": "10.20.0.99", "protocol_port": 9999}}, nil)
	}),
	"monitor-added": onMember(func(s *stage, b balancerOf) error {
		return s.octavia(http.MethodPost, "healthmonitors", map[string]any{"healthmonitor": map[string]any{"pool_id": b.pool, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1}}, nil)
	}),
	"monitor-deleted": func(s *stage, b balancerOf) error {
		if b.monitor == "" {
			return errNotPossible
		}
		return s.octavia(http.MethodDelete, "healthmonitors/"+b.monitor, nil, nil)
	},
	"floating-ip-deleted": onFloatingIP(func(s *stage, id string) error {
		if id == s.symbols["$given-a-id"] || id == s.symbols["$given-b-id"] {
			return errNotPossible // the same one cannot be made again
		}
		return s.neutron(http.MethodDelete, "floatingips/"+id, nil, nil)
	}),
	"floating-ip-detached": onFloatingIP(func(s *stage, id string) error {
		return s.neutron(http.MethodPut, "floatingips/"+id, map[string]any{"floatingip": map[string]any{"port_id": nil}}, nil)
	}),
}

func onOne(of func(balancerOf) []string, do func(*stage, string) error) func(*stage, balancerOf) error {
	return func(s *stage, b balancerOf) error {
		if ids := of(b); len(ids) > 0 {
			return do(s, ids[0])
		}
		return errNotPossible
	}
}

func onMember(do func(*stage, balancerOf) error) func(*stage, balancerOf) error {
	return func(s *stage, b balancerOf) error {
		if b.member == "" {
			return errNotPossible
		}
		return do(s, b)
	}
}

func onFloatingIP(do func(*stage, string) error) func(*stage, balancerOf) error {
	return func(s *stage, b balancerOf) error {
		if b.floatingIP == "" {
			return errNotPossible
		}
		return do(s, b.floatingIP)
	}
}

func (s *stage) put(path, kind string, body any) error {
	return s.octavia(http.MethodPut, path, map[string]any{kind: body}, nil)
}

// tamper changes the objects of a Service in the cloud, as another client does.
func (s *stage) tamper(a action) error {
	b, err := s.find(a.On)
	if err != nil {
		return err
	}
	if do := tamperings[a.Value]; do != nil {
		if b.floatingIP != "" {
			s.ledger.excuse(s, a)
		}
		return do(s, b)
	}
	return errNotPossible
}
