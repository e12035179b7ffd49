// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// conn is one side of a forwarded connection. It is closed when it has been idle for too long. When
// one side of a pair fails, the other is closed, too.
type conn struct {
	net.Conn
	// idle is how long the side may be silent; zero means without limit.
	idle time.Duration
	// peer is the other side; nil for a connection that stands alone.
	peer *conn

	once    sync.Once
	onClose func()
}

// pair joins the two sides of a forwarded connection.
func pair(client, member *conn, clientIdle, memberIdle time.Duration) {
	client.peer, member.peer = member, client
	client.idle, member.idle = clientIdle, memberIdle
	client.touch()
	member.touch()
}

// touch restarts the idle timeout. An error appears at the next read or write.
func (c *conn) touch() {
	if c.idle > 0 {
		_ = c.SetDeadline(time.Now().Add(c.idle))
	}
}

// Read reads, and restarts the idle timeout.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.after(err)
	return n, err
}

// Write writes, and restarts the idle timeout. The timeout is restarted before the write, too: a
// side that only receives may have been silent for a long time.
func (c *conn) Write(b []byte) (int, error) {
	c.touch()
	n, err := c.Conn.Write(b)
	c.after(err)
	return n, err
}

func (c *conn) after(err error) {
	switch {
	case err == nil:
		c.touch()
	case c.peer != nil && !errors.Is(err, io.EOF):
		_ = c.Close()
		_ = c.peer.Close()
	}
}

// CloseRead and CloseWrite close one direction.
func (c *conn) CloseRead() error { return c.Conn.(*net.TCPConn).CloseRead() }

// CloseWrite closes the direction to the other end.
func (c *conn) CloseWrite() error { return c.Conn.(*net.TCPConn).CloseWrite() }

// Close closes the connection; further calls do nothing.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		err = c.Conn.Close()
		if c.onClose != nil {
			c.onClose()
		}
	})
	return err
}

// reset closes the connection in such a way that the other end sees a reset instead of an end of
// file.
func (c *conn) reset() {
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
}

func (c *conn) remote() netip.AddrPort { return addrPort(c.RemoteAddr()) }
func (c *conn) local() netip.AddrPort  { return addrPort(c.LocalAddr()) }

// addrPort returns the address of a TCP or UDP end, with IPv4 in its short form.
func addrPort(a net.Addr) netip.AddrPort {
	var ap netip.AddrPort
	switch a := a.(type) {
	case *net.TCPAddr:
		ap = a.AddrPort()
	case *net.UDPAddr:
		ap = a.AddrPort()
	}
	return netip.AddrPortFrom(ap.Addr().Unmap(), ap.Port())
}

// connSet holds the client connections of a load balancer, so that they can be closed together.
type connSet struct {
	mu     sync.Mutex
	open   map[*conn]struct{}
	closed bool
}

// add adds the connection; it returns false if the set is closed.
func (s *connSet) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	if s.open == nil {
		s.open = map[*conn]struct{}{}
	}
	s.open[c] = struct{}{}
	return true
}

func (s *connSet) remove(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// cut closes the connections for which which returns true; nil means all.
func (s *connSet) cut(which func(*conn) bool) {
	s.mu.Lock()
	var found []*conn
	for c := range s.open {
		if which == nil || which(c) {
			found = append(found, c)
		}
	}
	s.mu.Unlock()
	for _, c := range found {
		_ = c.Close()
	}
}

// close closes all connections and refuses further ones.
func (s *connSet) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cut(nil)
}
