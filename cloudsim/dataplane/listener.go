// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// Octavia's defaults for a listener's timeouts.
const (
	defaultClientTimeout  = 50 * time.Second
	defaultMemberTimeout  = 50 * time.Second
	defaultConnectTimeout = 5 * time.Second
)

// listener is one open port on every address of its load balancer.
type listener struct {
	balancer *balancer
	plane    *Plane
	id       string
	protocol string
	port     int
	gate     *gate

	// conf and pool serve new connections.
	conf atomic.Pointer[Listener]
	pool atomic.Pointer[pool]
	// web serves the connections of an HTTP listener; nil for other protocols.
	web atomic.Pointer[webServer]
	// tls is the TLS configuration of new connections; nil for a listener without TLS.
	tls atomic.Pointer[tls.Config]

	// sockets is guarded by the plane's mutex.
	sockets map[netip.Addr]socket
}

// socket is a listener's socket on one address.
type socket interface {
	// close stops listening and releases the port before it returns.
	close()
}

func newListener(b *balancer, conf Listener) (*listener, error) {
	switch conf.Protocol {
	case "TCP", "UDP", "HTTP", "HTTPS", "TERMINATED_HTTPS", "PROMETHEUS":
	default:
		return nil, fmt.Errorf("protocol %s is not forwarded by the simulator: it knows TCP, UDP, HTTP, HTTPS, TERMINATED_HTTPS and PROMETHEUS", conf.Protocol)
	}
	if conf.Port < 1 || conf.Port > 65535 {
		return nil, errors.New("the port is not in 1..65535")
	}
	return &listener{
		balancer: b, plane: b.plane,
		id: conf.ID, protocol: conf.Protocol, port: conf.Port,
		gate:    newGate(conf.ConnectionLimit),
		sockets: map[netip.Addr]socket{},
	}, nil
}

// update changes how new connections are served, without touching the sockets. If TLS cannot be
// terminated as described, nothing changes.
func (l *listener) update(conf Listener, p *pool) error {
	terminate, err := conf.terminate()
	if err != nil {
		return err
	}
	l.tls.Store(terminate)
	conf.ClientTimeout = orDefault(conf.ClientTimeout, defaultClientTimeout)
	conf.MemberTimeout = orDefault(conf.MemberTimeout, defaultMemberTimeout)
	conf.ConnectTimeout = orDefault(conf.ConnectTimeout, defaultConnectTimeout)
	l.conf.Store(&conf)
	l.pool.Store(p)
	l.gate.setLimit(conf.ConnectionLimit)
	if !l.speaksHTTP() {
		return nil
	}
	if old := l.web.Load(); old == nil || old.clientTimeout != conf.ClientTimeout {
		l.web.Store(newWebServer(l, conf.ClientTimeout))
		old.retire()
	}
	return nil
}

// terminate returns the TLS configuration of the listener, or nil if it does not terminate TLS.
func (conf Listener) terminate() (*tls.Config, error) {
	switch {
	case conf.TLS != nil:
		return conf.TLS.config()
	case conf.Protocol == "TERMINATED_HTTPS":
		return nil, errors.New("there is no certificate")
	}
	return nil, nil
}

func (l *listener) speaksHTTP() bool {
	return l.protocol == "HTTP" || l.protocol == "TERMINATED_HTTPS" || l.protocol == "PROMETHEUS"
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return otherwise
}

// open listens on those of addrs on which the listener does not listen yet.
func (l *listener) open(addrs []netip.Addr) error {
	var errs []error
	for _, a := range addrs {
		if l.sockets[a] != nil || l.takes(a) {
			continue
		}
		s, err := l.listen(netip.AddrPortFrom(a, uint16(l.port)))
		if err != nil {
			errs = append(errs, fmt.Errorf("cannot listen on %s: %w%s", a, err, bindAdvice(err)))
			continue
		}
		l.sockets[a] = s
	}
	return errors.Join(errs...)
}

func (l *listener) listen(at netip.AddrPort) (socket, error) {
	if l.protocol == "UDP" {
		return listenUDP(l, at)
	}
	return listenTCP(l, at)
}

// bindAdvice explains why a port cannot be bound.
func bindAdvice(err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return " (another process or listener has this port)"
	case errors.Is(err, syscall.EACCES):
		return " (ports below sysctl net.ipv4.ip_unprivileged_port_start need root: choose a higher port or lower it)"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return " (the address is not on this machine's loopback interface)"
	}
	return ""
}

// takes takes over a socket that belonged to another load balancer.
func (l *listener) takes(a netip.Addr) bool {
	at := netip.AddrPortFrom(a, uint16(l.port))
	s := l.plane.moving[at]
	if s == nil || l.protocol == "UDP" {
		return false
	}
	delete(l.plane.moving, at)
	s.listener.Store(l)
	l.sockets[a] = s
	return true
}

// keepOnly stops listening on all addresses except addrs, and closes the connections that came
// through them: a removed address carries no traffic. The sockets on addresses in moved are left to
// other load balancers.
func (l *listener) keepOnly(addrs, moved []netip.Addr) {
	for a, s := range l.sockets {
		if slices.Contains(addrs, a) {
			continue
		}
		if tcp, ok := s.(*tcpSocket); ok && slices.Contains(moved, a) {
			l.plane.moving[netip.AddrPortFrom(a, uint16(l.port))] = tcp
			delete(l.sockets, a)
			continue
		}
		s.close()
		delete(l.sockets, a)
		gone := netip.AddrPortFrom(a, uint16(l.port))
		l.balancer.conns.cut(func(c *conn) bool { return c.local() == gone })
	}
}

// close stops listening. Open TCP connections continue, HTTP connections only until their request
// is answered.
func (l *listener) close() {
	for a, s := range l.sockets {
		s.close()
		delete(l.sockets, a)
	}
	l.plane.closeMoving(func(_ netip.Addr, s *tcpSocket) bool { return s.listener.Load() == l })
	l.web.Load().stop()
}

// admits reports whether the source ranges contain the client's address.
func (l *listener) admits(client netip.Addr) bool {
	ranges := l.conf.Load().AllowedCIDRs
	return len(ranges) == 0 || slices.ContainsFunc(ranges, func(p netip.Prefix) bool { return p.Contains(client) })
}

// closeMoving closes the moving sockets for which which returns true: no listener has taken them
// over.
func (p *Plane) closeMoving(which func(netip.Addr, *tcpSocket) bool) {
	for at, s := range p.moving {
		if which(at.Addr(), s) {
			delete(p.moving, at)
			s.close()
		}
	}
}

// tcpSocket accepts connections on one address.
type tcpSocket struct {
	listener atomic.Pointer[listener]
	net      *net.TCPListener
	closed   atomic.Bool
}

func listenTCP(l *listener, at netip.AddrPort) (socket, error) {
	var ln *net.TCPListener
	err := l.balancer.front.do(func() (err error) {
		ln, err = net.ListenTCP("tcp", net.TCPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		return nil, plainBindError(err)
	}
	s := &tcpSocket{net: ln}
	s.listener.Store(l)
	l.plane.running.Go(s.accept)
	return s, nil
}

// plainBindError removes "listen tcp address:", which callers add themselves.
func plainBindError(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// accept serves connections until the socket is closed. At most one connection waits here for a
// place within the connection limit; the others wait in the kernel's backlog, as with haproxy.
func (s *tcpSocket) accept() {
	for {
		raw, err := s.net.AcceptTCP()
		if err != nil {
			if s.closed.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			l := s.listener.Load()
			l.plane.logger.Error(err, "Cannot accept", "listener", l.id)
			if !pause(l.plane.ctx, 50*time.Millisecond) {
				return
			}
			continue
		}
		s.admit(&conn{Conn: raw})
	}
}

// admit checks the source ranges and the connection limit, and serves the connection.
func (s *tcpSocket) admit(c *conn) {
	l := s.listener.Load()
	if !l.admits(c.remote().Addr()) {
		c.reset()
		return
	}
	b := l.balancer
	const waiting, served, gone = 0, 1, 2
	var state atomic.Int32
	c.onClose = func() {
		b.conns.remove(c)
		if state.Swap(gone) == served {
			l.gate.leave()
		}
	}
	if !b.conns.add(c) || !l.gate.enter(s.closed.Load) {
		_ = c.Close()
		return
	}
	if !state.CompareAndSwap(waiting, served) {
		l.gate.leave() // it was closed while it waited
		return
	}
	if s.closed.Load() {
		_ = c.Close()
		return
	}
	if l.speaksHTTP() {
		l.serveHTTP(c)
		return
	}
	l.plane.running.Go(func() { l.serveTCP(c) })
}

func (s *tcpSocket) close() {
	s.closed.Store(true)
	_ = s.net.Close()
	s.listener.Load().gate.nudge()
}

// pause waits; it returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
