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

// tampering is a change that another client, or the cloud itself, makes to the objects of a
// Service in the cloud.
type tampering struct {
	name string
	// interrupts is whether unchanged ports may be interrupted until it is repaired.
	interrupts bool
	// whilePending is whether it is possible while Octavia changes the load balancer.
	whilePending bool
	do           func(r *run, b balancer) error
}

// tamperings are all kinds.
var tamperings = []tampering{
	{name: "error", interrupts: true, whilePending: true, do: func(r *run, b balancer) error {
		if !r.env.cloud.sim().Octavia().SetError(b.ID) {
			return fmt.Errorf("load balancer %s does not fail", b.ID)
		}
		return nil
	}},
	{name: "pending-for-long", do: func(r *run, b balancer) error {
		r.env.cloud.sim().Octavia().HoldPending(b.ID)
		if err := r.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"description": b.Description}); err != nil {
			return err
		}
		time.AfterFunc(time.Second, func() { r.env.cloud.sim().Octavia().Release(b.ID) })
		return nil
	}},
	{name: "balancer-deleted", interrupts: true, do: func(r *run, b balancer) error {
		return r.octavia(http.MethodDelete, "loadbalancers/"+b.ID+"?cascade=true", "", nil)
	}},
	{name: "balancer-renamed", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"name": "by hand"})
	}},
	{name: "tags-taken-away", do: func(r *run, b balancer) error {
		r.ignoreAddress() // it leads to the load balancer that had the tags
		return r.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"tags": []string{}})
	}},
	{name: "tag-added", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPut, "loadbalancers/"+b.ID, "loadbalancer", map[string]any{"tags": append(slices.Clone(b.Tags), "by-hand")})
	}},
	{name: "listener-deleted", interrupts: true, do: func(r *run, b balancer) error {
		return r.octavia(http.MethodDelete, "listeners/"+b.Listeners[0].ID, "", nil)
	}},
	{name: "listener-added", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPost, "listeners", "listener", map[string]any{
			"loadbalancer_id": b.ID, "protocol": "TCP", "protocol_port": 9999, "name": "by hand"})
	}},
	{name: "source-ranges-changed", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPut, "listeners/"+b.Listeners[0].ID, "listener", map[string]any{"allowed_cidrs": []string{"203.0.113.0/24"}})
	}},
	{name: "pool-deleted", interrupts: true, do: func(r *run, b balancer) error {
		return r.octavia(http.MethodDelete, "pools/"+b.Listeners[0].PoolID, "", nil)
	}},
	{name: "pool-added", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPost, "pools", "pool", map[string]any{
			"loadbalancer_id": b.ID, "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "name": "by hand", "tags": b.Tags})
	}},
	{name: "pool-changed", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPut, "pools/"+b.Listeners[0].PoolID, "pool", map[string]any{"lb_algorithm": "LEAST_CONNECTIONS",
			"session_persistence": map[string]any{"type": "SOURCE_IP"}})
	}},
	{name: "member-deleted", do: func(r *run, b balancer) error {
		pool := b.Listeners[0].Pool
		return r.octavia(http.MethodDelete, "pools/"+pool.ID+"/members/"+pool.Members[0].ID, "", nil)
	}},
	{name: "member-added", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPost, "pools/"+b.Listeners[0].PoolID+"/members", "member", map[string]any{"address": "10.250.0.99", "protocol_port": 9999})
	}},
	{name: "members-emptied", interrupts: true, do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPut, "pools/"+b.Listeners[0].PoolID+"/members", "members", []any{})
	}},
	{name: "monitor-added", do: func(r *run, b balancer) error {
		return r.octavia(http.MethodPost, "healthmonitors", "healthmonitor", map[string]any{
			"pool_id": b.Listeners[0].PoolID, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1})
	}},
	{name: "floating-ip-deleted", do: onFloatingIP(func(r *run, f floatingIP) error {
		if f.ID == r.given.ID {
			return errNotApplicable // it cannot be created again
		}
		r.ignoreAddress()
		return r.env.cloud.neutron(http.MethodDelete, "floatingips/"+f.ID, nil, nil)
	}), whilePending: true},
	{name: "floating-ip-detached", do: onFloatingIP(func(r *run, f floatingIP) error {
		r.ignoreAddress()
		return r.env.cloud.neutron(http.MethodPut, "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"port_id": nil}}, nil)
	}), whilePending: true},
	{name: "floating-ip-described", do: onFloatingIP(func(r *run, f floatingIP) error {
		return r.env.cloud.neutron(http.MethodPut, "floatingips/"+f.ID, map[string]any{"floatingip": map[string]any{"description": f.Description + "!"}}, nil)
	}), whilePending: true},
}

// errNotApplicable means that a tampering is not possible here.
var errNotApplicable = errors.New("not possible here")

// octavia makes a request to Octavia; key is the name of the object in the body.
func (r *run) octavia(method, path, key string, body any) error {
	if key == "" {
		return r.env.cloud.octavia(method, path, nil, nil)
	}
	return r.env.cloud.octavia(method, path, map[string]any{key: body}, nil)
}

// ignoreAddress leaves out the check that the floating IP does not change.
func (r *run) ignoreAddress() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keptAddress = ""
}

// onFloatingIP applies it to the floating IP of the load balancer.
func onFloatingIP(do func(*run, floatingIP) error) func(*run, balancer) error {
	return func(r *run, b balancer) error {
		s, err := r.state()
		if err != nil {
			return err
		}
		for _, f := range s.FloatingIPs {
			if f.Port == b.Port {
				return do(r, f)
			}
		}
		return errNotApplicable
	}
}

// TestObjectsChangedByOtherClients runs each scenario, and tampers at the end or in the middle of it.
func TestObjectsChangedByOtherClients(t *testing.T) {
	if *stateDir != "" {
		t.Skip("it needs a cloud that can be made to wait and to fail")
	}
	for _, s := range scenarios {
		for _, by := range tamperings {
			if s.fromOCCM && by.name == "floating-ip-described" {
				continue // only its description shows that it is the Service's; without that it stays
			}
			if !s.leavesNothing && selected(s.name, target{}, "after-"+by.name) {
				t.Run(s.name+"/after-"+by.name, func(t *testing.T) {
					t.Parallel()
					tamperAfter(t, s, by)
				})
			}
			if by.whilePending && !s.fromOCCM && selected(s.name, target{}, "during-"+by.name) {
				t.Run(s.name+"/during-"+by.name, func(t *testing.T) {
					t.Parallel()
					tamperDuring(t, s, by)
				})
			}
		}
	}
}

// tamperAfter tampers at the end of the scenario.
func tamperAfter(t *testing.T, s scenario, by tampering) {
	totals.record(t)
	r := startRun(t, s)
	r.requireNoError(s.change(r))
	r.requireNoError(r.pollStable(r.checkConverged))
	r.tamper(by)
	r.requireNoError(r.finish())
}

// tamperDuring tampers while Octavia makes the changes of the scenario, or just after.
func tamperDuring(t *testing.T, s scenario, by tampering) {
	totals.record(t)
	r := startRun(t, s)
	octavia := r.env.cloud.sim().Octavia()
	octavia.HoldPending("")
	defer octavia.Release("")
	r.requireNoError(s.change(r))
	r.requireNoError(r.poll(func() error {
		s, err := r.state()
		if err == nil && slices.ContainsFunc(s.Balancers, func(b balancer) bool { return b.Status != "ACTIVE" }) || r.checkConverged() == nil {
			return nil
		}
		return errors.New("Octavia changes nothing")
	}))
	r.tamper(by)
	octavia.Release("")
	r.requireNoError(r.finish())
}

// tamper tampers with the Service's load balancer.
func (r *run) tamper(by tampering) {
	r.t.Helper()
	r.mu.Lock()
	r.ignoreConditions, r.ignorePorts = true, by.interrupts
	r.mu.Unlock()
	b, err := r.balancer()
	if err == nil {
		err = by.do(r, b)
	} else {
		err = errNotApplicable
	}
	if failed := new(openstack.StatusError); errors.As(err, &failed) && failed.Status == http.StatusNotFound {
		err = errNotApplicable // the controller was faster
	}
	if errors.Is(err, errNotApplicable) {
		r.env.cloud.sim().Octavia().Release("")
		r.requireNoError(r.finish()) // the next case uses the environment
		r.t.Skip(err)
	}
	r.requireNoError(err)
}
