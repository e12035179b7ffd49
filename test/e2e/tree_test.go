// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// tree is a load balancer with all below it, as Octavia's API shows it.
type tree struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Status      string `json:"provisioning_status"`
	UpdatedAt   string `json:"updated_at"`
	Provider    string `json:"provider"`
	VIP         string `json:"vip_address"`
	VIPPort     string `json:"vip_port_id"`
	Subnet      string `json:"vip_subnet_id"`
	Flavor      string `json:"flavor_id"`
	Zone        string `json:"availability_zone"`
	Additional  []struct {
		Subnet  string `json:"subnet_id"`
		Address string `json:"ip_address"`
	} `json:"additional_vips"`
	Tags      []string
	Listeners []listener `json:"-"`
	// Unused are the pools that are no listener's.
	Unused []pool `json:"-"`
}

// listener is a listener as the API of Octavia shows it, with its pool.
type listener struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Protocol string `json:"protocol"`
	Port     int    `json:"protocol_port"`
	Limit    int    `json:"connection_limit"`
	Timeouts
	Sources     []string          `json:"allowed_cidrs"`
	Headers     map[string]string `json:"insert_headers"`
	Certificate string            `json:"default_tls_container_ref"`
	SNI         []string          `json:"sni_container_refs"`
	PoolID      string            `json:"default_pool_id"`
	Status      string            `json:"provisioning_status"`
	Tags        []string
	Pool        *pool `json:"-"`
}

// Timeouts are a listener's, in milliseconds.
type Timeouts struct {
	ClientData    int `json:"timeout_client_data"`
	MemberConnect int `json:"timeout_member_connect"`
	MemberData    int `json:"timeout_member_data"`
	TCPInspect    int `json:"timeout_tcp_inspect"`
}

// pool is a pool, with its members and its health monitor.
type pool struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Protocol    string `json:"protocol"`
	Algorithm   string `json:"lb_algorithm"`
	Persistence *struct {
		Type    string `json:"type"`
		Timeout int    `json:"persistence_timeout"`
	} `json:"session_persistence"`
	MonitorID string `json:"healthmonitor_id"`
	Tags      []string
	Members   []poolMember `json:"-"`
	Monitor   *monitor     `json:"-"`
}

// poolMember is a member of a pool.
type poolMember struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Address     string `json:"address"`
	Port        int    `json:"protocol_port"`
	MonitorPort int    `json:"monitor_port"`
	Weight      int    `json:"weight"`
	Subnet      string `json:"subnet_id"`
	Status      string `json:"provisioning_status"`
	Operating   string `json:"operating_status"`
}

// monitor is a health monitor.
type monitor struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Type     string `json:"type"`
	Delay    int    `json:"delay"`
	Timeout  int    `json:"timeout"`
	Retries  int    `json:"max_retries"`
	Down     int    `json:"max_retries_down"`
	Path     string `json:"url_path"`
	Expected string `json:"expected_codes"`
	Tags     []string
}

// trees returns the load balancers with the name. While one is being deleted parts of it may be
// missing.
func (c *cloud) trees(name string) []tree {
	c.t.Helper()
	balancers := c.balancers(name)
	for i := range balancers {
		c.fill(&balancers[i])
	}
	return balancers
}

// balancers returns the load balancers with the name, without what is below them. The tags of all objects are sorted
// here: they are a set, which each release of Octavia shows in an order of its own.
func (c *cloud) balancers(name string) []tree {
	c.t.Helper()
	var answer struct{ LoadBalancers []tree }
	c.octavia(http.MethodGet, "loadbalancers?name="+url.QueryEscape(name), nil, &answer)
	for _, l := range answer.LoadBalancers {
		slices.Sort(l.Tags)
	}
	return answer.LoadBalancers
}

// fill reads what is below the load balancer.
func (c *cloud) fill(t *tree) {
	c.t.Helper()
	var listeners struct{ Listeners []listener }
	var pools struct{ Pools []pool }
	c.octavia(http.MethodGet, "listeners?loadbalancer_id="+t.ID, nil, &listeners)
	c.octavia(http.MethodGet, "pools?loadbalancer_id="+t.ID, nil, &pools)
	t.Listeners = listeners.Listeners
	for _, l := range t.Listeners {
		slices.Sort(l.Tags)
	}
	used := map[string]bool{}
	for i := range pools.Pools {
		p := &pools.Pools[i]
		slices.Sort(p.Tags)
		p.Members, p.Monitor = c.members(p.ID), c.monitor(p.MonitorID)
		for j := range t.Listeners {
			if t.Listeners[j].PoolID == p.ID {
				t.Listeners[j].Pool, used[p.ID] = p, true
			}
		}
		if !used[p.ID] {
			t.Unused = append(t.Unused, *p)
		}
	}
	slices.SortFunc(t.Listeners, func(a, b listener) int {
		return strings.Compare(a.key(), b.key())
	})
}

// members returns those of a pool, by address; none when the pool is gone.
func (c *cloud) members(poolID string) []poolMember {
	var answer struct{ Members []poolMember }
	if c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools/"+poolID+"/members", nil, &answer) != nil {
		return nil
	}
	slices.SortFunc(answer.Members, func(a, b poolMember) int { return strings.Compare(a.Address, b.Address) })
	return answer.Members
}

// monitor returns the health monitor with the id; nil when there is none.
func (c *cloud) monitor(id string) *monitor {
	var answer struct{ HealthMonitor *monitor }
	if id == "" || c.call(asUser, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/healthmonitors/"+id, nil, &answer) != nil {
		return nil
	}
	slices.Sort(answer.HealthMonitor.Tags)
	return answer.HealthMonitor
}

// key returns the listener's port as tests write it: TCP/8080.
func (l listener) key() string {
	transport := "TCP"
	if l.Protocol == "UDP" || l.Protocol == "SCTP" {
		transport = l.Protocol
	}
	return fmt.Sprintf("%s/%d", transport, testPort(l.Port))
}

// listener returns the one with the port, such as TCP/8080; its ID is empty when there is none.
func (t tree) listener(key string) listener {
	for _, l := range t.Listeners {
		if l.key() == key {
			return l
		}
	}
	return listener{}
}

// ports checks that the load balancer has exactly these, each with a pool, and
// no pool besides.
func ports(want ...string) func(tree) error {
	want = slices.Sorted(slices.Values(want))
	return func(t tree) error {
		var have []string
		for _, l := range t.Listeners {
			have = append(have, l.key())
			if l.Pool == nil {
				return fmt.Errorf("listener %s has no pool", l.key())
			}
		}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Errorf("ports (-want +have): %s", d)
		}
		if len(t.Unused) > 0 {
			return fmt.Errorf("pool %s serves no listener", t.Unused[0].Name)
		}
		return nil
	}
}

// membersAt checks that each pool has members with exactly these addresses.
func membersAt(want ...string) func(tree) error {
	want = slices.Sorted(slices.Values(want))
	return eachPool(func(p pool) error {
		var have []string
		for _, m := range p.Members {
			have = append(have, m.Address)
		}
		if d := cmp.Diff(want, slices.Sorted(slices.Values(have))); d != "" {
			return fmt.Errorf("members (-want +have): %s", d)
		}
		return nil
	})
}

// sources checks who may connect to each listener.
func sources(want ...string) func(tree) error {
	want = slices.Sorted(slices.Values(want))
	return func(t tree) error {
		for _, l := range t.Listeners {
			have := slices.Sorted(slices.Values(l.Sources)) // Octavia does not promise an order
			if d := cmp.Diff(want, have); d != "" {
				return fmt.Errorf("allowed sources of %s (-want +have): %s", l.key(), d)
			}
		}
		return nil
	}
}

// eachPool checks the pool of each listener.
func eachPool(check func(pool) error) func(tree) error {
	return func(t tree) error {
		var errs []error
		for _, l := range t.Listeners {
			if l.Pool == nil {
				errs = append(errs, fmt.Errorf("listener %s has no pool", l.key()))
			} else if err := check(*l.Pool); err != nil {
				errs = append(errs, fmt.Errorf("pool of %s: %w", l.key(), err))
			}
		}
		return errors.Join(errs...)
	}
}

// monitored checks the health monitor of each pool; nil means that there is
// none. Names, ids and tags are not compared.
func monitored(want *monitor) func(tree) error {
	return eachPool(func(p pool) error {
		have := p.Monitor
		if have != nil {
			have = &monitor{Type: have.Type, Delay: have.Delay, Timeout: have.Timeout, Retries: have.Retries,
				Down: have.Down, Path: have.Path, Expected: have.Expected}
		}
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Errorf("monitor (-want +have): %s", d)
		}
		return nil
	})
}

// pending names a load balancer, no earlier one, that Octavia is working on.
func (c *cloud) pending() error {
	c.t.Helper()
	var answer struct{ LoadBalancers []tree }
	c.octavia(http.MethodGet, "loadbalancers", nil, &answer)
	for _, l := range answer.LoadBalancers {
		if strings.HasPrefix(l.Status, "PENDING_") && !c.earlier[l.ID] {
			return fmt.Errorf("load balancer %s is %s", l.ID, l.Status)
		}
	}
	return nil
}

// errLeft says that something is still there that is to go.
var errLeft = errors.New("a load balancer is left")

// is checks the provisioning status of the Service's load balancer.
func (s *stage) is(status string, v *service) error {
	trees := s.cloud.balancers(v.lbName())
	switch {
	case len(trees) == 0:
		return fmt.Errorf("Service %s has no load balancer", v.name)
	case trees[0].Status != status:
		return fmt.Errorf("load balancer %s is %s, not %s", trees[0].ID, trees[0].Status, status)
	}
	return nil
}
