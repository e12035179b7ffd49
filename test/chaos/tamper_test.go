// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// tampering is what somebody else does to what a Service has in the cloud, or what
// becomes of it there by itself.
type tampering struct {
	name string
	// harms is whether ports that are to stay may suffer until it is repaired.
	harms bool
	// anyTime is whether it can be done while Octavia is at work.
	anyTime bool
	do      func(p *play, b balancer) error
}

// tamperings are all that there are.
var tamperings = []tampering{
	{name: "error", harms: true, anyTime: true, do: func(p *play, b balancer) error {
		if !p.world.cloud.sim().Octavia().SetError(b.ID) {
			return fmt.Errorf("load balancer %s does not fail", b.ID)
		}
		return nil
	}},
	{name: "pending-for-long", do: func(p *play, b balancer) error {
		p.world.cloud.sim().Octavia().HoldPending(b.ID)
		if err := p.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"description": b.Description}); err != nil {
			return err
		}
		time.AfterFunc(time.Second, func() { p.world.cloud.sim().Octavia().Release(b.ID) })
		return nil
	}},
	{name: "balancer-deleted", harms: true, do: func(p *play, b balancer) error {
		return p.octavia(http.MethodDelete, "loadbalancers/"+b.ID+"?cascade=true", "", nil)
	}},
	{name: "balancer-renamed", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"name": "by hand"})
	}},
	{name: "tags-taken-away", do: func(p *play, b balancer) error {
		p.keepsNoAddress() // it leads to what bears the tags
		return p.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"tags": []string{}})
	}},
	{name: "tag-added", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"tags": append(slices.Clone(b.Tags), "by-hand")})
	}},
	{name: "listener-deleted", harms: true, do: func(p *play, b balancer) error {
		return p.octavia(http.MethodDelete, "listeners/"+b.Listeners[0].ID, "", nil)
	}},
	{name: "listener-added", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPost, "listeners", "listener", map[string]any{
			"loadbalancer_id": b.ID, "protocol": "TCP", "protocol_port": 9999, "name": "by hand"})
	}},
	{name: "source-ranges-changed", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPut, "listeners/"+b.Listeners[0].ID, "listener", map[string]any{"allowed_cidrs": []string{"203.0.113.0/24"}})
	}},
	{name: "pool-deleted", harms: true, do: func(p *play, b balancer) error {
		return p.octavia(http.MethodDelete, "pools/"+b.Listeners[0].PoolID, "", nil)
	}},
	{name: "pool-added", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPost, "pools", "pool", map[string]any{
			"loadbalancer_id": b.ID, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "name": "by hand", "tags": b.Tags})
	}},
	{name: "pool-changed", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPut, "pools/"+b.Listeners[0].PoolID, "pool", map[string]any{"lb_algorithm": "LEAST_CONNECTIONS",
			"session_persistence": map[string]any{"type": "SOURCE_IP"}})
	}},
	{name: "member-deleted", do: func(p *play, b balancer) error {
		pool := b.Listeners[0].Pool
		return p.octavia(http.MethodDelete, "pools/"+pool.ID+"/members/"+pool.Members[0].ID, "", nil)
	}},
	{name: "member-added", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPost, "pools/"+b.Listeners[0].PoolID+"/members", "member", map[string]any{"address": "10.250.0.99", "protocol_port": 9999})
	}},
	{name: "members-emptied", harms: true, do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPut, "pools/"+b.Listeners[0].PoolID+"/members", "members", []any{})
	}},
	{name: "monitor-added", do: func(p *play, b balancer) error {
		return p.octavia(http.MethodPost, "healthmonitors", "healthmonitor", map[string]any{
			"pool_id": b.Listeners[0].PoolID, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1})
	}},
	{name: "floating-ip-deleted", do: onFloatingIP(func(p *play, f floatingIP) error {
		if f.ID == p.given.ID {
			return errUnfit // it could not be got back
		}
		p.keepsNoAddress()
		return p.world.cloud.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil)
	}), anyTime: true},
	{name: "floating-ip-detached", do: onFloatingIP(func(p *play, f floatingIP) error {
		p.keepsNoAddress()
		return p.world.cloud.neutron(http.MethodPut, "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"port_id": nil}}, nil)
	}), anyTime: true},
	{name: "floating-ip-described", do: onFloatingIP(func(p *play, f floatingIP) error {
		return p.world.cloud.neutron(http.MethodPut, "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"description": f.Description + "!"}}, nil)
	}), anyTime: true},
}

// errUnfit says that a tampering makes no sense where it was tried.
var errUnfit = errors.New("that cannot be done here")

// octavia makes a request as a person would; key is what a body is wrapped in.
func (p *play) octavia(method, path, key string, body any) error {
	if key == "" {
		return p.world.cloud.octavia(method, path, nil, nil)
	}
	return p.world.cloud.octavia(method, path, map[string]any{key: body}, nil)
}

// keepsNoAddress leaves the rule alone that the floating IP stays: somebody takes it away, or
// the marks of where it leads to.
func (p *play) keepsNoAddress() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.kept = ""
}

// onFloatingIP does it to the floating IP of the load balancer.
func onFloatingIP(do func(*play, floatingIP) error) func(*play, balancer) error {
	return func(p *play, b balancer) error {
		s, err := p.state()
		if err != nil {
			return err
		}
		for _, f := range s.FloatingIPs {
			if f.Port == b.Port {
				return do(p, f)
			}
		}
		return errUnfit
	}
}

// TestTampering plays each scenario, and when all is done, or in the middle of it,
// somebody tampers with what it made.
func TestTampering(t *testing.T) {
	if *stateDir != "" {
		t.Skip("it takes a cloud that can be made to wait and to fail")
	}
	for _, s := range scenarios {
		for _, by := range tamperings {
			if s.inherits && by.name == "floating-ip-described" {
				continue // by its description alone it is known to be the Service's; without that it is a person's, and stays
			}
			if !s.ends && played(s.name, place{}, "after-"+by.name) {
				t.Run(s.name+"/after-"+by.name, func(t *testing.T) {
					t.Parallel()
					afterwards(t, s, by)
				})
			}
			if by.anyTime && !s.inherits && played(s.name, place{}, "amid-"+by.name) {
				t.Run(s.name+"/amid-"+by.name, func(t *testing.T) {
					t.Parallel()
					amid(t, s, by)
				})
			}
		}
	}
}

// afterwards tampers when the scenario has come to its end.
func afterwards(t *testing.T, s scenario, by tampering) {
	totals.add(t)
	p := begin(t, s)
	p.check(s.change(p))
	p.check(p.eventually(p.converged))
	p.tampered(by)
	p.check(p.end())
}

// amid tampers while Octavia is at work for the scenario, or has just been.
func amid(t *testing.T, s scenario, by tampering) {
	totals.add(t)
	p := begin(t, s)
	octavia := p.world.cloud.sim().Octavia()
	octavia.HoldPending("")
	defer octavia.Release("")
	p.check(s.change(p))
	p.check(p.poll(func() error {
		s, err := p.state()
		if err == nil && slices.ContainsFunc(s.Balancers, func(b balancer) bool { return b.Status != "ACTIVE" }) || p.converged() == nil {
			return nil
		}
		return errors.New("Octavia is not at work")
	}))
	p.tampered(by)
	octavia.Release("")
	p.check(p.end())
}

// tampered lets somebody tamper with the Service's load balancer.
func (p *play) tampered(by tampering) {
	p.t.Helper()
	p.mu.Lock()
	p.candid, p.lenient = true, by.harms
	p.mu.Unlock()
	b, err := p.balancer()
	if err == nil {
		err = by.do(p, b)
	} else {
		err = errUnfit
	}
	if failed := new(openstack.StatusError); errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		err = errUnfit // the controller was faster
	}
	if errors.Is(err, errUnfit) {
		p.world.cloud.sim().Octavia().Release("")
		p.check(p.end()) // the world is to be used again
		p.t.Skip(err)
	}
	p.check(err)
}
