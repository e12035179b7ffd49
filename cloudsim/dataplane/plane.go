// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"sync"

	"github.com/go-logr/logr"
)

// Options configure a Plane.
type Options struct {
	// Logger receives failures of single connections at level 1. The zero value discards them.
	Logger logr.Logger
	// OnMemberStatus is called with each member's operating status when it changes: ONLINE, ERROR,
	// NO_MONITOR, DRAINING or OFFLINE. Calls come one at a time, in order, with no lock of the
	// plane held. Nil is allowed.
	OnMemberStatus func(memberID, operatingStatus string)
}

// Plane forwards traffic for any number of load balancers. It is safe for concurrent use.
type Plane struct {
	logger    logr.Logger
	statuses  *notifier
	transport *http.Transport

	// Close ends ctx; running counts all goroutines of the plane.
	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu        sync.Mutex
	balancers map[string]*balancer
	// moving are sockets on addresses that are moving to another load balancer.
	moving map[netip.AddrPort]*tcpSocket
	closed bool
}

// New returns a plane with no load balancers. Close must be called.
func New(o Options) *Plane {
	if o.Logger.GetSink() == nil {
		o.Logger = logr.Discard()
	}
	p := &Plane{
		logger:    o.Logger,
		statuses:  newNotifier(o.OnMemberStatus),
		transport: newTransport(),
		balancers: map[string]*balancer{},
		moving:    map[netip.AddrPort]*tcpSocket{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.running.Go(p.statuses.run)
	return p
}

// Set makes the load balancer forward as described. It is idempotent and touches only what differs
// from the last Set of the same id: sockets and connections of unchanged listeners stay open. As
// with a reload of haproxy, open connections stay with their member, even if the member or their
// listener is removed. They are closed when the address through which they came is removed or when
// no listener remains.
//
// The error joins one error for each part that does not work (an address that is not loopback, a
// port in use, an unknown protocol); all other parts work. The next Set tries the failed parts
// again.
func (p *Plane) Set(lb LoadBalancer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return fmt.Errorf("load balancer %s: the data plane is closed", lb.ID)
	}
	if lb.ID == "" {
		return errors.New("load balancer without an id")
	}
	b, ok := p.balancers[lb.ID]
	if !ok {
		b = newBalancer(p, lb.ID)
		p.balancers[lb.ID] = b
	}
	if err := b.set(lb); err != nil {
		return fmt.Errorf("load balancer %s: %w", lb.ID, err)
	}
	return nil
}

// Remove stops the load balancer and closes its connections. An unknown id is not an error.
func (p *Plane) Remove(loadBalancerID string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b, ok := p.balancers[loadBalancerID]; ok {
		delete(p.balancers, loadBalancerID)
		b.close()
	}
}

// Close stops every load balancer and returns when all goroutines of the plane have ended. It may
// be called more than once.
func (p *Plane) Close() {
	p.mu.Lock()
	p.closed = true
	p.cancel()
	for id, b := range p.balancers {
		delete(p.balancers, id)
		b.close()
	}
	p.mu.Unlock()
	p.statuses.close()
	p.running.Wait()
}
