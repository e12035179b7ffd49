// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"

	"github.com/pires/go-proxyproto"
)

var (
	// errNoMember means that no member can take the connection.
	errNoMember = errors.New("no member is available")
	errLimit    = errors.New("the listener's connection limit is reached")
)

// isRefused reports whether the connection was refused because the port is closed.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }

// dial connects to a member on behalf of the client, which reached the listener at via. If a member
// cannot be reached, the next one is tried, as with haproxy's redispatch. Closing the connection
// releases the member.
func (l *listener) dial(ctx context.Context, client, via netip.AddrPort) (*conn, error) {
	p := l.pool.Load()
	if p == nil {
		return nil, errNoMember
	}
	tried := map[*member]bool{}
	lastErr := errNoMember
	for {
		m := p.pick(client, tried)
		if m == nil {
			return nil, lastErr
		}
		tried[m] = true
		c, err := l.dialMember(ctx, m, p.protocol(), client, via)
		if err == nil {
			c.onClose = func() { p.release(m) }
			return c, nil
		}
		p.release(m)
		lastErr = fmt.Errorf("member %s: %w", m.id, err)
		l.plane.logger.V(1).Info("Member not reached", "listener", l.id, "member", m.id, "reason", err.Error())
		if ctx.Err() != nil {
			return nil, lastErr
		}
	}
}

// dialMember connects to one member, and sends the client's address if the pool uses the PROXY
// protocol.
func (l *listener) dialMember(ctx context.Context, m *member, protocol string, client, via netip.AddrPort) (*conn, error) {
	conf := l.conf.Load()
	ctx, cancel := context.WithTimeout(ctx, conf.ConnectTimeout)
	defer cancel()
	raw, err := l.balancer.connect(ctx, "tcp", client, via, m)
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, idle: conf.MemberTimeout}
	c.touch()
	if err := sendProxyHeader(c, protocol, client, via); err != nil {
		_ = c.Close()
		return nil, err
	}
	return c, nil
}

// connect opens a socket to the member.
func (b *balancer) connect(ctx context.Context, network string, client, via netip.AddrPort, m *member) (c net.Conn, err error) {
	src := b.source.Load()
	err = src.back.do(func() (err error) {
		c, err = src.dialer(network, client, via).DialContext(ctx, network, m.endpoint.String())
		return err
	})
	return c, err
}

// dialer returns a dialer that dials from the load balancer's VIP or, if the load balancer
// preserves the source, from the client's address.
func (src *source) dialer(network string, client, via netip.AddrPort) *net.Dialer {
	from := src.vip
	switch {
	case src.preserve:
		from = client.Addr()
	case !from.IsValid() || from.Is4() != via.Addr().Is4():
		from = via.Addr()
	}
	d := &net.Dialer{Control: portAtConnect}
	if network == "udp" {
		d.LocalAddr = &net.UDPAddr{IP: from.AsSlice()}
	} else {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	return d
}

// portAtConnect makes the kernel choose the source port only when it knows the destination, so that
// one VIP can use all ports with each member.
func portAtConnect(_, _ string, c syscall.RawConn) error {
	const ipBindAddressNoPort = 24 // IP_BIND_ADDRESS_NO_PORT, which package syscall does not define
	var setErr error
	err := c.Control(func(fd uintptr) {
		setErr = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_IP, ipBindAddressNoPort, 1)
	})
	return errors.Join(err, setErr)
}

// sendProxyHeader writes the header that the pool's protocol requires.
func sendProxyHeader(c net.Conn, protocol string, client, via netip.AddrPort) error {
	version := proxyVersion(protocol)
	if version == 0 {
		return nil
	}
	h := proxyproto.HeaderProxyFromAddrs(version, net.TCPAddrFromAddrPort(client), net.TCPAddrFromAddrPort(via))
	if _, err := h.WriteTo(c); err != nil {
		return fmt.Errorf("sending the PROXY header: %w", err)
	}
	return nil
}

// proxyVersion returns the version of the PROXY protocol that a pool of this protocol speaks; zero
// is none.
func proxyVersion(poolProtocol string) byte {
	switch poolProtocol {
	case "PROXY":
		return 1
	case "PROXYV2":
		return 2
	}
	return 0
}
