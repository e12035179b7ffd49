// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// port is the port of the listeners under test; every test has its own VIP.
const port = 18080

// randomAddr returns an address of 127.0.0.0/8 that no other process is likely to use.
func randomAddr() netip.Addr {
	return netip.AddrFrom4([4]byte{127, byte(1 + rand.IntN(254)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})
}

// eventually calls ok until it returns true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(30 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// statuses collects what a plane reports.
type statuses struct {
	mu   sync.Mutex
	last map[string]string
	all  []string
}

func (s *statuses) record(member, status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last[member] = status
	s.all = append(s.all, member+" "+status)
}

func (s *statuses) of(member string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[member]
}

func (s *statuses) await(t *testing.T, member, status string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s to be %s (is %s)", member, status, s.of(member)), func() bool { return s.of(member) == status })
}

func newPlane(t *testing.T) (*Plane, *statuses) {
	t.Helper()
	s := &statuses{last: map[string]string{}}
	p := New(Options{OnMemberStatus: s.record})
	t.Cleanup(p.Close)
	return p, s
}

func set(t *testing.T, p *Plane, lb LoadBalancer) {
	t.Helper()
	if err := p.Set(lb); err != nil {
		t.Fatal(err)
	}
}

// simple returns a load balancer with one listener and the members.
func simple(protocol string, members ...Member) LoadBalancer {
	poolProtocol := protocol
	if protocol == "HTTPS" {
		poolProtocol = "TCP"
	}
	return LoadBalancer{ID: "lb", Addresses: []netip.Addr{randomAddr()}, Listeners: []Listener{{
		ID: "listener", Protocol: protocol, Port: port, ConnectionLimit: -1,
		Pool: &Pool{ID: "pool", Protocol: poolProtocol, Algorithm: "ROUND_ROBIN", Members: members},
	}}}
}

// vip returns where the load balancer's first address and listener are.
func vip(lb LoadBalancer) string {
	return netip.AddrPortFrom(lb.Addresses[0], uint16(lb.Listeners[0].Port)).String()
}

// backend is a TCP server that greets with its name and the address it sees,
// and then sends back what it receives.
type backend struct {
	name string
	ln   net.Listener
	stop func()
}

func startBackend(t *testing.T, name string) *backend {
	t.Helper()
	return startBackendAt(t, name, net.JoinHostPort(randomAddr().String(), "0"))
}

func startBackendAt(t *testing.T, name, at string) *backend {
	t.Helper()
	ln, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				fmt.Fprintf(c, "%s %s\n", name, c.RemoteAddr())
				io.Copy(c, c)
			})
		}
	})
	b := &backend{name: name, ln: ln}
	b.stop = sync.OnceFunc(func() {
		ln.Close()
		mu.Lock()
		for c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	t.Cleanup(b.stop)
	return b
}

func (b *backend) member() Member { return memberAt(b.name, b.ln.Addr()) }

func memberAt(id string, a net.Addr) Member {
	ap := addrPort(a)
	return Member{ID: id, Address: ap.Addr(), Port: int(ap.Port()), Weight: 1, AdminUp: true}
}

// client is a connection to a listener.
type client struct {
	t    *testing.T
	conn *net.TCPConn
	r    *bufio.Reader
}

func dialFrom(t *testing.T, from netip.Addr, to string) *client {
	t.Helper()
	d := net.Dialer{Timeout: 30 * time.Second}
	if from.IsValid() {
		d.LocalAddr = &net.TCPAddr{IP: from.AsSlice()}
	}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(30 * time.Second))
	return &client{t: t, conn: c.(*net.TCPConn), r: bufio.NewReader(c)}
}

func dial(t *testing.T, to string) *client { t.Helper(); return dialFrom(t, netip.Addr{}, to) }

// greeting reads the backend's name and the address that it sees.
func (c *client) greeting() (name, seen string) {
	c.t.Helper()
	line, err := c.r.ReadString('\n')
	if err != nil {
		c.t.Fatalf("no greeting: %v", err)
	}
	name, seen, _ = strings.Cut(strings.TrimSpace(line), " ")
	return name, seen
}

// echo sends a line and expects it back.
func (c *client) echo(line string) {
	c.t.Helper()
	fmt.Fprintln(c.conn, line)
	if got, err := c.r.ReadString('\n'); err != nil || got != line+"\n" {
		c.t.Fatalf("echo of %q: %q, %v", line, got, err)
	}
}

// closed expects that the other side closes the connection without sending anything.
func (c *client) closed() {
	c.t.Helper()
	if b, err := c.r.ReadByte(); err == nil {
		c.t.Fatalf("the connection is open and carries %q", b)
	} else if ne, ok := err.(net.Error); ok && ne.Timeout() {
		c.t.Fatal("the connection stays open")
	}
}

// turnedAway expects that the listener accepts the connection and closes it at once.
func turnedAway(t *testing.T, from netip.Addr, to string) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: from.AsSlice()}, Timeout: 30 * time.Second}
	c, err := d.Dial("tcp", to)
	if errors.Is(err, syscall.ECONNRESET) {
		return // so fast that the dialler saw it
	}
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	(&client{t: t, r: bufio.NewReader(c)}).closed()
}

// who connects, reads the greeting and closes the connection.
func who(t *testing.T, from netip.Addr, to string) string {
	t.Helper()
	c := dialFrom(t, from, to)
	defer c.conn.Close()
	name, _ := c.greeting()
	return name
}

// count connects n times and counts who answers.
func count(t *testing.T, n int, to string) map[string]int {
	t.Helper()
	got := map[string]int{}
	for range n {
		got[who(t, netip.Addr{}, to)]++
	}
	return got
}

// startWeb serves HTTP on its own address.
func startWeb(t *testing.T, id string, h http.HandlerFunc) Member {
	t.Helper()
	ln, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	return serveWeb(t, id, ln, h)
}

func serveWeb(t *testing.T, id string, ln net.Listener, h http.HandlerFunc) Member {
	t.Helper()
	s := &http.Server{Handler: h}
	var wg sync.WaitGroup
	wg.Go(func() { s.Serve(ln) })
	t.Cleanup(func() { s.Close(); wg.Wait() })
	return memberAt(id, ln.Addr())
}
