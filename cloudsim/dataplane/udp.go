// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// maxDatagram is the largest payload of a UDP datagram, rounded up.
const maxDatagram = 64 << 10

// udpSocket forwards datagrams that arrive on one address. Each client address and port is a flow,
// which has one member until it is idle for too long or the member stops serving.
type udpSocket struct {
	listener *listener
	net      *net.UDPConn
	closed   atomic.Bool

	mu    sync.Mutex
	flows map[netip.AddrPort]*flow
}

// flow forwards one client's datagrams to one member and back.
type flow struct {
	socket *udpSocket
	client netip.AddrPort
	pool   *pool
	member *member
	net    *net.UDPConn
	once   sync.Once
}

func listenUDP(l *listener, at netip.AddrPort) (socket, error) {
	var c *net.UDPConn
	err := l.balancer.front.do(func() (err error) {
		c, err = net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
		return err
	})
	if err != nil {
		return nil, plainBindError(err)
	}
	s := &udpSocket{listener: l, net: c, flows: map[netip.AddrPort]*flow{}}
	l.plane.running.Go(s.read)
	return s, nil
}

// read forwards datagrams until the socket is closed.
func (s *udpSocket) read() {
	buf := make([]byte, maxDatagram)
	for {
		n, from, err := s.net.ReadFromUDPAddrPort(buf)
		if s.closed.Load() {
			return
		}
		if err != nil {
			s.listener.plane.logger.Error(err, "Cannot receive", "listener", s.listener.id)
			if !pause(s.listener.plane.ctx, 50*time.Millisecond) {
				return
			}
			continue
		}
		client := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		if !s.listener.admits(client.Addr()) {
			continue
		}
		f := s.flow(client)
		if f == nil {
			continue
		}
		f.touch()
		if _, err := f.net.Write(buf[:n]); err != nil {
			s.listener.plane.logger.V(1).Info("Datagram not forwarded", "listener", s.listener.id, "member", f.member.id, "reason", err.Error())
		}
	}
}

// flow returns the client's flow, or a new one if there is none whose member still serves. Nil
// means that the datagram is dropped.
func (s *udpSocket) flow(client netip.AddrPort) *flow {
	s.mu.Lock()
	f := s.flows[client]
	s.mu.Unlock()
	if f != nil {
		if f.pool == s.listener.pool.Load() && f.pool.serves(f.member) {
			return f
		}
		f.close()
	}
	f, err := s.open(client)
	if err != nil {
		s.listener.plane.logger.V(1).Info("Datagram dropped", "listener", s.listener.id, "client", client, "reason", err.Error())
		return nil
	}
	return f
}

// open opens a flow for the client.
func (s *udpSocket) open(client netip.AddrPort) (*flow, error) {
	l := s.listener
	p := l.pool.Load()
	if p == nil {
		return nil, errNoMember
	}
	if !l.gate.try() {
		return nil, errLimit
	}
	m := p.pick(client, nil)
	if m == nil {
		l.gate.leave()
		return nil, errNoMember
	}
	via := addrPort(s.net.LocalAddr())
	raw, err := l.balancer.connect(context.Background(), "udp", client, via, m)
	if err != nil {
		p.release(m)
		l.gate.leave()
		return nil, err
	}
	f := &flow{socket: s, client: client, pool: p, member: m, net: raw.(*net.UDPConn)}
	s.mu.Lock()
	s.flows[client] = f
	s.mu.Unlock()
	f.touch()
	l.plane.running.Go(f.replies)
	if s.closed.Load() {
		f.close()
	}
	return f, nil
}

// replies sends the member's datagrams back from the address that the client
// used, until the flow is idle or closed. If the member refuses a datagram, the datagram is lost,
// but the flow continues.
func (f *flow) replies() {
	defer f.close()
	buf := make([]byte, maxDatagram)
	for {
		n, err := f.net.Read(buf)
		switch {
		case err == nil:
			f.touch()
			if _, err := f.socket.net.WriteToUDPAddrPort(buf[:n], f.client); err != nil {
				return
			}
		case isRefused(err):
		default:
			return
		}
	}
}

// touch restarts the idle timeout.
func (f *flow) touch() {
	_ = f.net.SetReadDeadline(time.Now().Add(f.socket.listener.conf.Load().ClientTimeout))
}

// close ends the flow and releases its member and its place.
func (f *flow) close() {
	f.once.Do(func() {
		f.socket.mu.Lock()
		if f.socket.flows[f.client] == f {
			delete(f.socket.flows, f.client)
		}
		f.socket.mu.Unlock()
		_ = f.net.Close()
		f.pool.release(f.member)
		f.socket.listener.gate.leave()
	})
}

func (s *udpSocket) close() {
	s.closed.Store(true)
	_ = s.net.Close()
	s.mu.Lock()
	flows := make([]*flow, 0, len(s.flows))
	for _, f := range s.flows {
		flows = append(flows, f)
	}
	s.mu.Unlock()
	for _, f := range flows {
		f.close()
	}
}
