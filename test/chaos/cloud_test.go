// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// cloud is the OpenStack of an environment. Requests of a case itself are neither recorded
// nor do they fail.
type cloud struct {
	backend
	// observer is called after each change of a simulated load balancer.
	observer atomic.Pointer[func()]
}

// observe has f called after each change from now on; nil ends that.
func (c *cloud) observe(f func()) { c.observer.Store(&f) }

func (c *cloud) changed(string) {
	if f := c.observer.Load(); f != nil && *f != nil {
		(*f)()
	}
}

// backend is what the simulator and a real OpenStack do in different ways.
type backend interface {
	// CloudConf is the controller's cloud.conf.
	CloudConf() string
	// Recorder has the controller's calls, and Faults make them fail.
	Recorder() *wire.Recorder
	Faults() *wire.Faults
	// user makes the case's requests, as the controller's user.
	user() openstack.Requester
	// subnet is where VIPs are, publicNetwork where floating IPs are.
	subnet() string
	publicNetwork() string
	close() error
}

// octavia makes a request to Octavia; the answer is decoded unless it is nil.
func (c *cloud) octavia(method, path string, body, answer any) error {
	return c.call(cloudsim.LoadBalancer, method, "/v2.0/lbaas/"+path, body, answer)
}

// neutron makes a request to Neutron.
func (c *cloud) neutron(method, path string, body, answer any) error {
	return c.call(cloudsim.Network, method, "/v2.0/"+path, body, answer)
}

// barbican makes a request to Barbican.
func (c *cloud) barbican(method, path string, body, answer any) error {
	return c.call(cloudsim.KeyManager, method, "/v1/"+path, body, answer)
}

func (c *cloud) call(service, method, path string, body, answer any) error {
	return openstack.Call(context.Background(), c.user(), service, method, path, body, answer)
}

// flavorName is the name of a flavor of load balancers that every cloud has.
const flavorName = "test"

// flavor is its id.
func (c *cloud) flavor() (id string, err error) {
	var answer struct{ Flavors []struct{ ID string } }
	if err := c.octavia(http.MethodGet, "flavors?name="+flavorName, nil, &answer); err != nil {
		return "", err
	}
	if len(answer.Flavors) != 1 {
		return "", fmt.Errorf("there are %d flavors named %s", len(answer.Flavors), flavorName)
	}
	return answer.Flavors[0].ID, nil
}

// Objects of the cloud, with the fields that cases read.
type (
	balancer struct {
		ID, Name, Description string
		Status                string `json:"provisioning_status"`
		Address               string `json:"vip_address"`
		Port                  string `json:"vip_port_id"`
		Subnet                string `json:"vip_subnet_id"`
		Flavor                string `json:"flavor_id"`
		UpdatedAt             string `json:"updated_at"`
		Tags                  []string
		Listeners             []listener `json:"-"`
		// Unused are the pools that are no listener's.
		Unused []pool `json:"-"`
	}
	listener struct {
		ID, Name, Protocol string
		Port               int      `json:"protocol_port"`
		Limit              int      `json:"connection_limit"`
		ClientData         int      `json:"timeout_client_data"`
		Sources            []string `json:"allowed_cidrs"`
		PoolID             string   `json:"default_pool_id"`
		Certificate        string   `json:"default_tls_container_ref"`
		Status             string   `json:"provisioning_status"`
		Tags               []string
		Pool               *pool `json:"-"`
	}
	pool struct {
		ID, Name, Protocol string
		Algorithm          string                 `json:"lb_algorithm"`
		Persistence        *struct{ Type string } `json:"session_persistence"`
		MonitorID          string                 `json:"healthmonitor_id"`
		Status             string                 `json:"provisioning_status"`
		Tags               []string
		Members            []member `json:"-"`
	}
	member struct {
		ID, Name, Address string
		Port              int    `json:"protocol_port"`
		Weight            int    `json:"weight"`
		Status            string `json:"provisioning_status"`
	}
	floatingIP struct {
		ID          string
		Address     string `json:"floating_ip_address"`
		Port        string `json:"port_id"`
		Description string
	}
	port struct {
		ID       string
		DeviceID string `json:"device_id"`
	}
	certificate struct {
		Name string
		Ref  string `json:"secret_ref"`
	}
)

// state is everything the controller's project has in the cloud.
type state struct {
	Balancers   []balancer
	FloatingIPs []floatingIP
	// VIPPorts are the ports of VIPs.
	VIPPorts []port
	// Monitors are counted only.
	Monitors int
	// Certificates are all secrets in Barbican.
	Certificates []certificate
}

// state reads everything.
func (c *cloud) state() (state, error) {
	var s state
	var balancers struct{ LoadBalancers []balancer }
	var listeners struct {
		Listeners []struct {
			listener
			Balancers []struct{ ID string } `json:"loadbalancers"`
		}
	}
	var pools struct {
		Pools []struct {
			pool
			Balancers []struct{ ID string } `json:"loadbalancers"`
		}
	}
	var monitors struct{ HealthMonitors []struct{ ID string } }
	var floating struct{ FloatingIPs []floatingIP }
	var ports struct{ Ports []port }
	var secrets struct{ Secrets []certificate }
	for _, read := range []struct {
		read   func(method, path string, body, answer any) error
		path   string
		answer any
	}{
		{c.octavia, "loadbalancers", &balancers}, {c.octavia, "listeners", &listeners}, {c.octavia, "pools", &pools},
		{c.octavia, "healthmonitors", &monitors}, {c.neutron, "floatingips", &floating}, {c.neutron, "ports?device_owner=Octavia", &ports},
		{c.barbican, "secrets", &secrets},
	} {
		if err := read.read(http.MethodGet, read.path, nil, read.answer); err != nil {
			return s, err
		}
	}
	s.Balancers, s.FloatingIPs, s.VIPPorts, s.Monitors = balancers.LoadBalancers, floating.FloatingIPs, ports.Ports, len(monitors.HealthMonitors)
	s.Certificates = secrets.Secrets
	s.VIPPorts = slices.DeleteFunc(s.VIPPorts, func(p port) bool { return !strings.HasPrefix(p.DeviceID, "lb-") }) // those of amphorae
	for i := range s.Balancers {
		b := &s.Balancers[i]
		own := map[string]*pool{}
		used := map[string]bool{}
		for j := range pools.Pools {
			if p := &pools.Pools[j]; len(p.Balancers) == 1 && p.Balancers[0].ID == b.ID {
				p.Members = c.members(p.ID)
				own[p.ID] = &p.pool
			}
		}
		for _, l := range listeners.Listeners {
			if len(l.Balancers) == 1 && l.Balancers[0].ID == b.ID {
				l.Pool = own[l.PoolID]
				used[l.PoolID] = true
				b.Listeners = append(b.Listeners, l.listener)
			}
		}
		for id, p := range own {
			if !used[id] {
				b.Unused = append(b.Unused, *p)
			}
		}
	}
	return s, nil
}

// members returns those of a pool, none when it has gone meanwhile.
func (c *cloud) members(poolID string) []member {
	var answer struct{ Members []member }
	if c.octavia(http.MethodGet, "pools/"+poolID+"/members", nil, &answer) != nil {
		return nil
	}
	return answer.Members
}

// checkEmpty returns an error if the project still has something.
func (s state) checkEmpty() error {
	if n := len(s.Balancers); n > 0 {
		return fmt.Errorf("load balancer %s (%s) is left, of %d", s.Balancers[0].ID, s.Balancers[0].Status, n)
	}
	if len(s.FloatingIPs) > 0 {
		return fmt.Errorf("floating IP %s (%q) is left", s.FloatingIPs[0].Address, s.FloatingIPs[0].Description)
	}
	if len(s.VIPPorts) > 0 {
		return fmt.Errorf("port %s of %s is left", s.VIPPorts[0].ID, s.VIPPorts[0].DeviceID)
	}
	return nil
}
