// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloud gives the bench a cloud, simulated or real: what the controller connects
// with, a count of the controller's calls, the state of its load balancers, and the limits
// of the cloud. Reads of the bench itself are not counted.
package cloud

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

// Cloud is a cloud that controllers are measured on.
type Cloud struct {
	// Conf is the cloud.conf for the controller.
	Conf string
	// PollInterval is how often the bench may look at the cloud.
	PollInterval time.Duration
	// SettleTime without a call means that the controller waits for nothing.
	SettleTime time.Duration
	// Faults disturb the controller's calls.
	Faults *wire.Faults

	recorder *wire.Recorder
	user     openstack.Requester
	subnet   netip.Prefix
	sim      *cloudsim.Cloud // nil for a real cloud
	limits   func(ctx context.Context, n, ports int) (Limits, error)
	close    func() error

	mu       sync.Mutex
	finished map[string]time.Time // when each load balancer last left a PENDING state
	changes  map[string]int       // how often each did
	seen     map[string]LoadBalancer
	held     string // the load balancer that Hold keeps PENDING, or empty
}

// LoadBalancer is the state of one.
type LoadBalancer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Status  string `json:"provisioning_status"`
	Updated string `json:"updated_at"`
}

const balancers = "/v2.0/lbaas/loadbalancers"

// Close ends the cloud, or the connection to it.
func (c *Cloud) Close() error { return c.close() }

// Limits are those of n load balancers with the given number of ports that change together.
// On a real cloud they are measured with n load balancers of the bench.
func (c *Cloud) Limits(ctx context.Context, n, ports int) (Limits, error) {
	return c.limits(ctx, n, ports)
}

// NodeAddress is an address for the node with the number. No such server exists: load
// balancers without packets do not need it.
func (c *Cloud) NodeAddress(number int) netip.Addr {
	address := c.subnet.Addr()
	for range 11 + number {
		address = address.Next()
	}
	return address
}

// Calls are the calls that the controller made.
type Calls struct {
	Total, Writes int
	// Connect are those of Total that log in, or ask for versions and extensions.
	Connect int
	// Routes has them by "METHOD route".
	Routes map[string]int
}

// Reset forgets calls and times.
func (c *Cloud) Reset() {
	c.recorder.Reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished, c.changes = map[string]time.Time{}, map[string]int{}
}

// Calls are those since Reset.
func (c *Cloud) Calls() Calls { return count(c.recorder.Counts()) }

// Throttled are when the controller made the calls since Reset that were answered with 429.
func (c *Cloud) Throttled() []time.Time {
	var times []time.Time
	for _, call := range c.recorder.Calls() {
		if call.Status == http.StatusTooManyRequests {
			times = append(times, call.At)
		}
	}
	return times
}

// CallTimes are when the controller made calls since Reset: the latest 100,000.
func (c *Cloud) CallTimes() []time.Time {
	var times []time.Time
	for _, call := range c.recorder.Calls() {
		times = append(times, call.At)
	}
	return times
}

func count(routes map[string]int) Calls {
	calls := Calls{Routes: maps.Clone(routes)}
	for operation, n := range routes {
		calls.Total += n
		method, route, _ := strings.Cut(operation, " ")
		if strings.HasPrefix(route, "/v3") || strings.Count(route, "/") < 2 || strings.HasSuffix(route, "/extensions") {
			calls.Connect += n
		}
		if method != http.MethodGet && method != http.MethodHead && !strings.HasPrefix(route, "/v3/auth/") {
			calls.Writes += n
		}
	}
	return calls
}

// LoadBalancers lists those of the project.
func (c *Cloud) LoadBalancers(ctx context.Context) ([]LoadBalancer, error) {
	all, err := list(ctx, c.user)
	if err == nil {
		c.note(all)
	}
	return all, err
}

func list(ctx context.Context, user openstack.Requester) ([]LoadBalancer, error) {
	var all []LoadBalancer
	path := balancers + "?fields=id&fields=name&fields=provisioning_status&fields=updated_at&limit=1000"
	for path != "" {
		var page struct {
			LoadBalancers []LoadBalancer `json:"loadbalancers"`
			Links         []struct{ Rel, Href string }
		}
		if err := openstack.Call(ctx, user, cloudsim.LoadBalancer, http.MethodGet, path, nil, &page); err != nil {
			return nil, err
		}
		all, path = append(all, page.LoadBalancers...), ""
		if len(page.LoadBalancers) == 1000 {
			path = balancers + "?fields=id&fields=name&fields=provisioning_status&fields=updated_at&limit=1000&marker=" + all[len(all)-1].ID
		}
	}
	return all, nil
}

// note finds out which load balancers have finished a change since the last look. The
// simulator reports that itself.
func (c *Cloud) note(all []LoadBalancer) {
	if c.sim != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now, seen := time.Now(), map[string]LoadBalancer{}
	for _, l := range all {
		before, known := c.seen[l.ID]
		if !l.Pending() && (!known || before.Pending() || before.Updated != l.Updated) {
			c.finished[l.ID] = now
			c.changes[l.ID]++
		}
		seen[l.ID] = l
	}
	for id := range c.seen {
		if _, there := seen[id]; !there {
			c.finished[id] = now
		}
	}
	c.seen = seen
}

// Pending reports whether Octavia is changing it.
func (l LoadBalancer) Pending() bool { return strings.HasPrefix(l.Status, "PENDING_") }

// Finished is when each load balancer finished its last change since Reset, by id.
func (c *Cloud) Finished() map[string]time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.finished)
}

func (c *Cloud) finish(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished[id] = time.Now()
	c.changes[id]++
}

// Changes is how many changes of each load balancer have finished since Reset, by id. On a
// real cloud that is only how many the bench has seen.
func (c *Cloud) Changes() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.changes)
}

// CheckIdle returns an error while a load balancer is PENDING, other than one that is held.
func (c *Cloud) CheckIdle(ctx context.Context) error {
	all, err := c.LoadBalancers(ctx)
	if err != nil {
		return err
	}
	pending := 0
	for _, l := range all {
		if l.Pending() && l.ID != c.held {
			pending++
		}
	}
	if pending > 0 {
		return fmt.Errorf("%d of %d load balancers are PENDING", pending, len(all))
	}
	return nil
}

// Members counts the members of all pools of the project.
func (c *Cloud) Members(ctx context.Context) (int, error) {
	if c.sim != nil {
		return c.sim.State()[cloudsim.LoadBalancer]["members"], nil
	}
	var page struct {
		Pools []struct{ Members []struct{ ID string } }
	}
	err := openstack.Call(ctx, c.user, cloudsim.LoadBalancer, http.MethodGet, "/v2.0/lbaas/pools?fields=members", nil, &page)
	n := 0
	for _, p := range page.Pools {
		n += len(p.Members)
	}
	return n, err
}

// Inventory is what the project has.
type Inventory struct{ LoadBalancers, FloatingIPs, VIPPorts int }

// Inventory counts it.
func (c *Cloud) Inventory(ctx context.Context) (Inventory, error) {
	var h Inventory
	all, err := c.LoadBalancers(ctx)
	if err != nil {
		return h, err
	}
	var networks struct {
		FloatingIPs []struct{ ID string }
		Ports       []struct {
			DeviceID string `json:"device_id"`
		}
	}
	for _, path := range []string{"/v2.0/floatingips?fields=id", "/v2.0/ports?fields=device_id"} {
		if err := openstack.Call(ctx, c.user, cloudsim.Network, http.MethodGet, path, nil, &networks); err != nil {
			return h, err
		}
	}
	h.LoadBalancers, h.FloatingIPs = len(all), len(networks.FloatingIPs)
	for _, p := range networks.Ports {
		if strings.HasPrefix(p.DeviceID, "lb-") {
			h.VIPPorts++
		}
	}
	return h, nil
}

// EmptyPool removes all members of one pool of the load balancer, as another client would.
func (c *Cloud) EmptyPool(ctx context.Context, loadBalancer string) error {
	pools, err := poolsOf(ctx, c.user)
	if err != nil {
		return err
	}
	if len(pools[loadBalancer]) == 0 {
		return fmt.Errorf("the load balancer %s has no pool", loadBalancer)
	}
	return putMembers(ctx, c.user, pools[loadBalancer][0], nil)
}

// Hold keeps a load balancer PENDING once it is changed, until release is called. Only the
// simulator can.
func (c *Cloud) Hold(loadBalancer string) (release func(), err error) {
	if c.sim == nil {
		return nil, ErrSimulatedOnly
	}
	c.held = loadBalancer
	c.sim.Octavia().HoldPending(loadBalancer)
	return func() {
		c.held = ""
		c.sim.Octavia().Release(loadBalancer)
	}, nil
}

// Simulated reports whether the cloud ends with the bench.
func (c *Cloud) Simulated() bool { return c.sim != nil }
