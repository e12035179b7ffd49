// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
)

// balancer is one running load balancer. Its fields are guarded by the plane's mutex unless they
// are atomic.
type balancer struct {
	plane     *Plane
	id        string
	listeners map[string]*listener
	pools     map[string]*pool
	conns     connSet
	// front is where listeners listen.
	front Place
	// source determines the address from which members are dialled.
	source atomic.Pointer[source]
}

// source is the address that members see as the peer.
type source struct {
	// preserve means that members are dialled from the client's address.
	preserve bool
	// vip is the first address of the load balancer.
	vip netip.Addr
	// back is where members are dialled.
	back Place
}

// ListenerError means that a listener does not accept connections, or not on all addresses.
type ListenerError struct {
	ID, Protocol string
	Port         int
	Err          error
}

func (e *ListenerError) Error() string {
	return fmt.Sprintf("listener %s (%s port %d): %v", e.ID, e.Protocol, e.Port, e.Err)
}

// Unwrap returns the underlying error of the socket.
func (e *ListenerError) Unwrap() error { return e.Err }

func newBalancer(p *Plane, id string) *balancer {
	b := &balancer{plane: p, id: id, listeners: map[string]*listener{}, pools: map[string]*pool{}}
	b.source.Store(&source{})
	return b
}

// set applies lb to the balancer. Unneeded sockets are closed before any is opened, because a port
// may move from one listener to another.
func (b *balancer) set(lb LoadBalancer) error {
	var errs []error
	addrs := lb.Addresses
	if lb.Front == nil {
		var err error
		addrs, err = loopbackOnly(lb.Addresses)
		errs = append(errs, err)
	}

	b.front = lb.Front
	src := source{preserve: lb.PreserveSource, back: lb.Back}
	if len(addrs) > 0 {
		src.vip = addrs[0]
	}
	b.source.Store(&src)

	errs = append(errs, b.setPools(lb.Listeners, lb.Back)...)

	wanted := map[string]bool{}
	for _, l := range lb.Listeners {
		wanted[l.ID] = true
		if old, ok := b.listeners[l.ID]; ok && (old.protocol != l.Protocol || old.port != l.Port) {
			old.close()
			delete(b.listeners, l.ID)
		}
	}
	for id, l := range b.listeners {
		if !wanted[id] {
			l.close()
			delete(b.listeners, id)
			continue
		}
		l.keepOnly(addrs, lb.Moved)
	}
	if len(lb.Listeners) == 0 {
		b.conns.cut(nil)
	}
	for _, conf := range lb.Listeners {
		if err := b.setListener(conf, addrs); err != nil {
			errs = append(errs, &ListenerError{ID: conf.ID, Protocol: conf.Protocol, Port: conf.Port, Err: err})
		}
	}
	// Close moving sockets that no listener has taken over.
	b.plane.closeMoving(func(a netip.Addr, s *tcpSocket) bool {
		return slices.Contains(addrs, a) || s.listener.Load().balancer == b && !slices.Contains(lb.Moved, a)
	})
	b.dropUnusedPools(lb.Listeners)
	return errors.Join(errs...)
}

// setPools creates or updates the pool of each listener. A pool that serves several listeners
// exists only once, so that its members are checked only once.
func (b *balancer) setPools(listeners []Listener, back Place) []error {
	var errs []error
	seen := map[string]bool{}
	for _, l := range listeners {
		if l.Pool == nil || seen[l.Pool.ID] {
			continue
		}
		seen[l.Pool.ID] = true
		p, ok := b.pools[l.Pool.ID]
		if !ok {
			p = newPool(b.plane)
			b.pools[l.Pool.ID] = p
		}
		if err := p.set(*l.Pool, back != nil); err != nil {
			errs = append(errs, fmt.Errorf("pool %s: %w", l.Pool.ID, err))
		}
	}
	return errs
}

// dropUnusedPools removes the pools that no listener uses any more, and stops their monitors.
func (b *balancer) dropUnusedPools(listeners []Listener) {
	used := map[string]bool{}
	for _, l := range listeners {
		if l.Pool != nil {
			used[l.Pool.ID] = true
		}
	}
	for id, p := range b.pools {
		if !used[id] {
			p.close()
			delete(b.pools, id)
		}
	}
}

// setListener creates or updates one listener.
func (b *balancer) setListener(conf Listener, addrs []netip.Addr) error {
	l, ok := b.listeners[conf.ID]
	if !ok {
		var err error
		l, err = newListener(b, conf)
		if err != nil {
			return err
		}
		b.listeners[conf.ID] = l
	}
	var p *pool
	if conf.Pool != nil {
		p = b.pools[conf.Pool.ID]
	}
	if err := l.update(conf, p); err != nil {
		return err
	}
	return l.open(slices.DeleteFunc(slices.Clone(addrs), func(a netip.Addr) bool { return slices.Contains(conf.Lacks, a) }))
}

// close stops everything and closes every connection.
func (b *balancer) close() {
	for _, l := range b.listeners {
		l.close()
	}
	for _, p := range b.pools {
		p.close()
	}
	b.conns.close()
}

// loopbackOnly returns the loopback addresses among addrs, and an error that
// names the others.
func loopbackOnly(addrs []netip.Addr) ([]netip.Addr, error) {
	var (
		kept []netip.Addr
		errs []error
	)
	for _, a := range addrs {
		a = a.Unmap()
		if a.IsLoopback() {
			kept = append(kept, a)
			continue
		}
		errs = append(errs, fmt.Errorf("address %s is not a loopback address: the simulator listens on 127.0.0.0/8 and ::1 only", a))
	}
	return kept, errors.Join(errs...)
}
