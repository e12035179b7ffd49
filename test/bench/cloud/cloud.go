// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cloud gives the bench a cloud, simulated or real: what the controller connects
// with, a count of the controller's calls, the state of its load balancers, and the limits
// of the cloud. Reads of the bench itself are not counted.
package cloud

import (
	"context"
	"fmt"
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
	// PollInterval is the shortest time between two reads of the cloud by the bench.
	PollInterval time.Duration
	// SettleTime is the time without a call after which the controller is idle.
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

// Limits returns those of n load balancers with the given number of ports that change together. On
// a real cloud they are measured with n load balancers of the bench.
func (c *Cloud) Limits(ctx context.Context, n, ports int) (Limits, error) {
	return c.limits(ctx, n, ports)
}

// NodeAddress returns an address for the node with the number. No such server exists: load
// balancers without packets do not need it.
func (c *Cloud) NodeAddress(number int) netip.Addr {
	address := c.subnet.Addr()
	for range 11 + number {
		address = address.Next()
	}
	return address
}

// AddServer adds a server to a simulated cloud.
func (c *Cloud) AddServer(name string) error {
	if c.sim == nil {
		return ErrSimulatedOnly
	}
	_, err := c.sim.AddServer(name)
	return err
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

// Pending reports whether Octavia is changing it.
func (l LoadBalancer) Pending() bool { return strings.HasPrefix(l.Status, "PENDING_") }

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

// Simulated reports whether the cloud ends with the bench.
func (c *Cloud) Simulated() bool { return c.sim != nil }
