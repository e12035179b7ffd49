// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package network is a network in memory. Tests with virtual time (testing/synctest) need one: a goroutine that waits for a
// connection of the real network keeps the time from passing.
package network

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync"
	"syscall"
)

// Network connects those who listen on it with those who dial. Its zero value is ready to use, and it is safe for concurrent use.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	last      int // the port that was chosen last
}

// firstPort is the first of the ports that Listen chooses.
const firstPort = 20000

// Listen is like net.Listen, for TCP.
func (n *Network) Listen(network, address string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if port == "0" {
		n.last++
		port = strconv.Itoa(firstPort + n.last)
	}
	l := &listener{network: n, address: addr{network, net.JoinHostPort(host, port)}, accept: make(chan net.Conn), closed: make(chan struct{})}
	if n.listeners[l.address.text] != nil {
		return nil, &net.OpError{Op: "listen", Net: network, Addr: l.address, Err: syscall.EADDRINUSE}
	}
	if n.listeners == nil {
		n.listeners = map[string]*listener{}
	}
	n.listeners[l.address.text] = l
	return l, nil
}

func (n *Network) dial(ctx context.Context, network, address string) (net.Conn, error) {
	refused := &net.OpError{Op: "dial", Net: network, Addr: addr{network, address}, Err: syscall.ECONNREFUSED}
	n.mu.Lock()
	l := n.listeners[address]
	n.mu.Unlock()
	if l == nil {
		return nil, refused
	}
	ours, theirs := net.Pipe()
	select {
	case l.accept <- theirs:
		return ours, nil
	case <-l.closed:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener implements net.Listener.
type listener struct {
	network *Network
	address addr
	accept  chan net.Conn
	once    sync.Once
	closed  chan struct{}
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accept:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() {
		l.network.mu.Lock()
		defer l.network.mu.Unlock()
		delete(l.network.listeners, l.address.text)
		close(l.closed)
	})
	return nil
}

func (l *listener) Addr() net.Addr { return l.address }

// addr implements net.Addr.
type addr struct{ network, text string }

func (a addr) Network() string { return a.network }
func (a addr) String() string  { return a.text }

// Host is a machine of the network, from which a process dials.
type Host struct {
	network *Network

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]bool
}

// Host adds a machine.
func (n *Network) Host() *Host { return &Host{network: n, conns: map[net.Conn]bool{}} }

var errCut = errors.New("this machine is cut off from the network")

// Dial is like net.Dialer.DialContext.
func (h *Host) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := h.network.dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cut {
		return nil, errors.Join(errCut, conn.Close())
	}
	c := &hostConn{Conn: conn, host: h}
	h.conns[c] = true
	return c, nil
}

// Cut closes all connections and refuses to dial new ones: no other machine sees what a process on this machine still does,
// as if the process were killed.
func (h *Host) Cut() {
	h.mu.Lock()
	h.cut = true
	conns := h.conns
	h.conns = map[net.Conn]bool{}
	h.mu.Unlock()
	for c := range conns {
		_ = c.Close() // the other end notices
	}
}

// hostConn is a connection that Cut closes.
type hostConn struct {
	net.Conn
	host *Host
}

func (c *hostConn) Close() error {
	c.host.mu.Lock()
	delete(c.host.conns, c)
	c.host.mu.Unlock()
	return c.Conn.Close()
}
