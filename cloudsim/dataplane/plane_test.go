// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestUnchangedListenersServeWithoutAFailureThroughAHundredChanges(t *testing.T) {
	p, _ := newPlane(t)
	keep := simple("TCP", startBackend(t, "a").member(), startBackend(t, "b").member())
	web := simple("HTTP", startWeb(t, "w", says("w")), startWeb(t, "x", says("w"))).Listeners[0]
	web.ID, web.Port, web.Pool.ID = "web", port+1, "web-pool"
	udp := simple("UDP", startUDP(t, "u")).Listeners[0]
	udp.ID, udp.Port, udp.Pool.ID = "udp", port+2, "udp-pool"
	keep.Listeners = append(keep.Listeners, web, udp)
	set(t, p, keep)
	url := fmt.Sprintf("http://%s:%d", keep.Addresses[0], web.Port)
	held := dial(t, vip(keep))
	held.greeting()
	udpAt := netip.AddrPortFrom(keep.Addresses[0], uint16(udp.Port)).String()
	datagrams := udpClient(t, randomAddr())

	load := newLoad(t)
	load.repeat(func() error { return tcpRequest(vip(keep)) })
	fresh := browser(t, netip.Addr{})
	fresh.Transport.(*http.Transport).DisableKeepAlives = true
	load.repeat(func() error { return webRequest(fresh, url) })
	kept := browser(t, netip.Addr{})
	load.repeat(func() error { return webRequest(kept, url) })

	spare := startBackend(t, "spare").member()
	for i := range 100 {
		lb := keep
		lb.Listeners = append([]Listener(nil), keep.Listeners...)
		pool := *lb.Listeners[0].Pool
		if i%2 == 0 { // the members change, and another load balancer is added
			pool.Members = append(append([]Member(nil), pool.Members...), spare)
			lb.Listeners = append(lb.Listeners, Listener{ID: "neighbour", Protocol: "TCP", Port: port + 3 + i, Pool: &pool})
			lb.Addresses = append(append([]netip.Addr(nil), keep.Addresses...), randomAddr())
		}
		lb.Listeners[0].Pool = &pool
		set(t, p, lb)
		load.progress()
		if i%10 == 0 {
			if answer, _ := ask(t, datagrams, udpAt, long); answer == "" {
				t.Errorf("datagram lost at change %d", i)
			}
			held.echo("still here")
		}
	}
	load.stop()
}

// load repeats requests in the background.
type load struct {
	t    *testing.T
	made []*atomic.Int64
	done chan struct{}
	wg   sync.WaitGroup
	stop func()
}

func newLoad(t *testing.T) *load {
	l := &load{t: t, done: make(chan struct{})}
	l.stop = sync.OnceFunc(func() { close(l.done); l.wg.Wait() })
	t.Cleanup(l.stop)
	return l
}

// repeat repeats the request until stop. If it fails, the test fails.
func (l *load) repeat(request func() error) {
	made := new(atomic.Int64)
	l.made = append(l.made, made)
	l.wg.Go(func() {
		for {
			select {
			case <-l.done:
				return
			default:
			}
			if err := request(); err != nil {
				l.t.Errorf("request %d failed: %v", made.Load(), err)
				return
			}
			made.Add(1)
		}
	})
}

// progress waits until each request has been made once more.
func (l *load) progress() {
	l.t.Helper()
	for _, made := range l.made {
		before := made.Load()
		eventually(l.t, "a further request", func() bool { return made.Load() > before || l.t.Failed() })
	}
}

func tcpRequest(to string) error {
	c, err := net.Dial("tcp", to)
	if err != nil {
		return err
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.WriteString(c, "ping\n"); err != nil {
		return err
	}
	if err := c.(*net.TCPConn).CloseWrite(); err != nil {
		return err
	}
	got, err := io.ReadAll(c)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(string(got), "ping\n") {
		return fmt.Errorf("answer %q", got)
	}
	return nil
}

func webRequest(c *http.Client, url string) error {
	resp, err := c.Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != 200 || string(body) != "w") {
		err = fmt.Errorf("%d %q", resp.StatusCode, body)
	}
	return err
}

func TestConnectionStaysWithAMemberThatIsRemoved(t *testing.T) {
	p, _ := newPlane(t)
	a, b := startBackend(t, "a"), startBackend(t, "b")
	lb := simple("TCP", a.member())
	set(t, p, lb)
	c := dial(t, vip(lb))
	c.greeting()
	lb.Listeners[0].Pool.Members = []Member{b.member()}
	set(t, p, lb)
	c.echo("the old connection goes on")
	if got := who(t, netip.Addr{}, vip(lb)); got != "b" {
		t.Errorf("a new connection went to %s", got)
	}
}

func TestConnectionStaysOpenUntilItsLoadBalancerIsDeleted(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Listeners = append(lb.Listeners, Listener{ID: "other", Protocol: "TCP", Port: port + 1})
	set(t, p, lb)
	at := vip(lb)
	c := dial(t, at)
	c.greeting()

	lb.Listeners = lb.Listeners[1:]
	set(t, p, lb)
	c.echo("the listener is gone, the connection is not")
	refused(t, at)

	p.Remove("lb")
	c.closed()
}

func TestHTTPConnectionOfARemovedListenerEndsAfterItsRequest(t *testing.T) {
	p, _ := newPlane(t)
	started, finish := make(chan struct{}), make(chan struct{})
	lb := simple("HTTP", startWeb(t, "a", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			close(started)
			<-finish
		}
		io.WriteString(w, "done")
	}))
	lb.Listeners = append(lb.Listeners, Listener{ID: "other", Protocol: "TCP", Port: port + 1})
	set(t, p, lb)
	idle, busy := dial(t, vip(lb)), dial(t, vip(lb))
	io.WriteString(idle.conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if resp, err := http.ReadResponse(idle.r, nil); err != nil {
		t.Fatal(err)
	} else if body, err := io.ReadAll(resp.Body); err != nil || string(body) != "done" {
		t.Fatalf("%q, %v", body, err)
	}
	io.WriteString(busy.conn, "GET /slow HTTP/1.1\r\nHost: x\r\n\r\n")
	<-started

	lb.Listeners = lb.Listeners[1:]
	set(t, p, lb)
	close(finish)
	if all, err := io.ReadAll(busy.r); err != nil || !strings.HasSuffix(string(all), "done") {
		t.Errorf("the request in progress got %q, %v", all, err)
	}
	idle.closed()
}

func TestConnectionsAreCutWhenTheLastListenerIsRemoved(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	set(t, p, lb)
	c := dial(t, vip(lb))
	c.greeting()
	set(t, p, LoadBalancer{ID: "lb", Addresses: lb.Addresses})
	c.closed()
	refused(t, vip(lb))
}

func TestConnectionsThroughARemovedAddressAreCut(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	floating := randomAddr()
	both := lb
	both.Addresses = append([]netip.Addr{lb.Addresses[0]}, floating)
	set(t, p, both)
	at := netip.AddrPortFrom(floating, port).String()
	through, direct := dial(t, at), dial(t, vip(lb))
	through.greeting()
	direct.greeting()
	set(t, p, lb)
	through.closed()
	direct.echo("not touched")
	refused(t, at)
}

func TestAddressThatMovesToAnotherLoadBalancerIsNeverClosedAndKeepsItsConnections(t *testing.T) {
	p, _ := newPlane(t)
	old, next := simple("TCP", startBackend(t, "a").member()), simple("TCP", startBackend(t, "b").member())
	next.ID, next.Listeners[0].ID = "next", "next"
	next.Listeners[0].Pool.ID = "next"
	next.Addresses = []netip.Addr{randomAddr()}
	floating := randomAddr()
	at := netip.AddrPortFrom(floating, port).String()
	with := func(lb LoadBalancer, moved ...netip.Addr) LoadBalancer {
		lb.Moved = moved
		return lb
	}
	holding := func(lb LoadBalancer) LoadBalancer {
		lb.Addresses = append(slices.Clone(lb.Addresses), floating)
		return lb
	}
	set(t, p, next)
	set(t, p, holding(old))
	through := dial(t, at)
	if got, _ := through.greeting(); got != "a" {
		t.Errorf("%s answers", got)
	}
	set(t, p, with(old, floating))
	if got, _ := dial(t, at).greeting(); got != "a" {
		t.Errorf("%s answers while the address moves", got)
	}
	set(t, p, holding(next))
	if got, _ := dial(t, at).greeting(); got != "b" {
		t.Errorf("%s answers after the address has moved", got)
	}
	through.echo("still there")
	p.Remove(old.ID)
	through.closed()
	if got, _ := dial(t, at).greeting(); got != "b" {
		t.Errorf("%s answers after the old one has gone", got)
	}
	// A socket that no listener takes over is closed.
	set(t, p, with(next, floating))
	set(t, p, next)
	refused(t, at)
}

func refused(t *testing.T, at string) {
	t.Helper()
	if c, err := net.Dial("tcp", at); err == nil {
		c.Close()
		t.Errorf("%s is still open", at)
	}
}

func TestPortMovesFromOneListenerToAnother(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	set(t, p, lb)
	next := simple("HTTP", startWeb(t, "w", says("w"))).Listeners[0]
	next.ID, next.Pool.ID = "next", "next-pool"
	lb.Listeners = []Listener{next}
	set(t, p, lb)
	if _, body := get(t, browser(t, netip.Addr{}), "http://"+vip(lb)); body != "w" {
		t.Errorf("answer %q", body)
	}
}

func TestListenerMovesToAnotherPool(t *testing.T) {
	p, s := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	set(t, p, lb)
	lb.Listeners[0].Pool = &Pool{ID: "other", Protocol: "TCP", Members: []Member{startBackend(t, "b").member()}}
	set(t, p, lb)
	if got := who(t, netip.Addr{}, vip(lb)); got != "b" {
		t.Errorf("answered by %s", got)
	}
	s.await(t, "b", "NO_MONITOR")
}

func TestTwoListenersShareAPool(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	second := lb.Listeners[0]
	second.ID, second.Port = "second", port+1
	lb.Listeners = append(lb.Listeners, second)
	set(t, p, lb)
	lb.Listeners = lb.Listeners[1:]
	set(t, p, lb)
	if got := who(t, netip.Addr{}, vip(lb)); got != "a" {
		t.Errorf("answered by %s", got)
	}
}

func TestInvalidPartsAreErrorsAndTheOthersWork(t *testing.T) {
	taken := randomAddr()
	squatter, err := net.Listen("tcp", netip.AddrPortFrom(taken, port).String())
	if err != nil {
		t.Fatal(err)
	}
	defer squatter.Close()
	cases := map[string]struct {
		spoil func(lb *LoadBalancer)
		want  string
	}{
		"port in use": {func(lb *LoadBalancer) { lb.Addresses = append(lb.Addresses, taken) },
			"listener listener (TCP port 18080): cannot listen on " + taken.String()},
		"address not loopback": {func(lb *LoadBalancer) { lb.Addresses = append(lb.Addresses, netip.MustParseAddr("192.0.2.1")) },
			"192.0.2.1 is not a loopback address"},
		"unknown protocol": {func(lb *LoadBalancer) {
			lb.Listeners = append(lb.Listeners, Listener{ID: "s", Protocol: "SCTP", Port: port + 1})
		}, "protocol SCTP"},
		"impossible port": {func(lb *LoadBalancer) {
			lb.Listeners = append(lb.Listeners, Listener{ID: "s", Protocol: "TCP", Port: 70000})
		}, "1..65535"},
		"member not loopback": {func(lb *LoadBalancer) {
			pool := lb.Listeners[0].Pool
			pool.Members = append(pool.Members, Member{ID: "far", Address: netip.MustParseAddr("192.0.2.1"), Port: 80, Weight: 1, AdminUp: true})
		}, "member far: 192.0.2.1:80 is not a loopback address"},
		"unknown monitor": {func(lb *LoadBalancer) { lb.Listeners[0].Pool.Monitor = monitor("SCTP") }, "type SCTP"},
		"bad monitor":     {func(lb *LoadBalancer) { lb.Listeners[0].Pool.Monitor = &Monitor{Type: "TCP"} }, "must be positive"},
		"bad codes": {func(lb *LoadBalancer) {
			lb.Listeners[0].Pool.Monitor = monitor("HTTP")
			lb.Listeners[0].Pool.Monitor.ExpectedCodes = "ok"
		}, `expected_codes "ok"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("TCP", startBackend(t, "a").member())
			c.spoil(&lb)
			err := p.Set(lb)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if got := who(t, netip.Addr{}, vip(lb)); got != "a" {
				t.Errorf("answered by %q", got)
			}
		})
	}
}

func TestPortThatWasInUseIsTriedAgain(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	squatter, err := net.Listen("tcp", vip(lb))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Set(lb); err == nil || !strings.Contains(err.Error(), "another process or listener") {
		t.Errorf("error %v", err)
	}
	squatter.Close()
	set(t, p, lb)
	if got := who(t, netip.Addr{}, vip(lb)); got != "a" {
		t.Errorf("answered by %q", got)
	}
}

func TestMonitorAddressThatIsNotLoopbackIsNeverDialled(t *testing.T) {
	p, s := newPlane(t)
	m := startBackend(t, "a").member()
	m.MonitorAddress = netip.MustParseAddr("192.0.2.1")
	lb := simple("TCP", m)
	lb.Listeners[0].Pool.Monitor = monitor("TCP")
	set(t, p, lb)
	s.await(t, "a", "ERROR")
}

func TestClosedPlaneRefusesAndReleasesEverything(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Listeners[0].Pool.Monitor = monitor("TCP")
	web := simple("HTTP", startWeb(t, "w", says("w"))).Listeners[0]
	web.ID, web.Port, web.Pool.ID = "web", port+1, "web-pool"
	lb.Listeners = append(lb.Listeners, web)
	set(t, p, lb)
	c := dial(t, vip(lb))
	c.greeting()
	idle := dial(t, fmt.Sprintf("%s:%d", lb.Addresses[0], web.Port))
	p.Close()
	p.Close()
	c.closed()
	idle.closed()
	refused(t, vip(lb))
	if err := p.Set(lb); err == nil {
		t.Error("a closed plane took a load balancer")
	}
	p.Remove("lb")
}

func TestServesIPv6Loopback(t *testing.T) {
	ln, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 loopback on this machine")
	}
	free := addrPort(ln.Addr())
	ln.Close()
	p, _ := newPlane(t)
	lb := simple("TCP", startBackendAt(t, "six", "[::1]:0").member())
	lb.Addresses = []netip.Addr{free.Addr()}
	lb.Listeners[0].Port = int(free.Port())
	set(t, p, lb)
	if got := who(t, netip.Addr{}, vip(lb)); got != "six" {
		t.Errorf("answered by %q", got)
	}
}
