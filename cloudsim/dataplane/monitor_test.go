// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"
)

func monitor(kind string) *Monitor {
	return &Monitor{ID: "hm", Type: kind, Delay: 10 * time.Millisecond, Timeout: 5 * time.Second, MaxRetries: 1, MaxRetriesDown: 1, AdminUp: true}
}

func TestMonitorRemovesAMemberThatFailsAndAddsItAgain(t *testing.T) {
	p, s := newPlane(t)
	a, b := startBackend(t, "a"), startBackend(t, "b")
	lb := simple("TCP", a.member(), b.member())
	lb.Listeners[0].Pool.Monitor = monitor("TCP")
	set(t, p, lb)
	s.await(t, "a", "ONLINE")
	s.await(t, "b", "ONLINE")

	at := b.ln.Addr().String()
	b.stop()
	s.await(t, "b", "ERROR")
	if diff := cmp.Diff(map[string]int{"a": 4}, count(t, 4, vip(lb))); diff != "" {
		t.Error(diff)
	}
	startBackendAt(t, "b", at)
	s.await(t, "b", "ONLINE")
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 2}, count(t, 4, vip(lb))); diff != "" {
		t.Error(diff)
	}
}

func TestHTTPMonitorUsesPathExpectedCodesAndMonitorPort(t *testing.T) {
	p, s := newPlane(t)
	var code atomic.Int32
	code.Store(200)
	health := startWeb(t, "health", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/healthz" || r.Method != "GET" {
			w.WriteHeader(404)
			return
		}
		w.WriteHeader(int(code.Load()))
	})
	m := startBackend(t, "a").member()
	m.MonitorAddress, m.MonitorPort = health.Address, health.Port
	lb := simple("TCP", m)
	mon := monitor("HTTP")
	mon.URLPath, mon.ExpectedCodes = "/healthz", "200-204,301"
	lb.Listeners[0].Pool.Monitor = mon
	set(t, p, lb)
	for _, step := range []struct {
		code int32
		want string
	}{{200, "ONLINE"}, {503, "ERROR"}, {204, "ONLINE"}, {205, "ERROR"}, {301, "ONLINE"}} {
		code.Store(step.code)
		s.await(t, "a", step.want)
	}
	code.Store(500)
	s.await(t, "a", "ERROR")
	turnedAway(t, randomAddr(), vip(lb))
}

func TestHTTPSMonitorAcceptsAnyCertificate(t *testing.T) {
	for _, kind := range []string{"HTTPS", "TLS-HELLO"} {
		t.Run(kind, func(t *testing.T) {
			p, s := newPlane(t)
			web := httptest.NewTLSServer(says("ok"))
			defer web.Close()
			plain := startWeb(t, "plain", says("ok"))
			lb := simple("HTTPS", memberAt("tls", web.Listener.Addr()), plain)
			lb.Listeners[0].Pool.Monitor = monitor(kind)
			set(t, p, lb)
			s.await(t, "plain", "ERROR")
			s.await(t, "tls", "ONLINE")
		})
	}
}

func TestUDPConnectMonitorFailsOnlyWhenThePortIsClosed(t *testing.T) {
	p, s := newPlane(t)
	quiet, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(randomAddr(), 0)))
	if err != nil {
		t.Fatal(err)
	}
	defer quiet.Close()
	closed := Member{ID: "closed", Address: randomAddr(), Port: 4, Weight: 1, AdminUp: true}
	lb := simple("UDP", startUDP(t, "talks"), memberAt("quiet", quiet.LocalAddr()), closed)
	lb.Listeners[0].Pool.Monitor = monitor("UDP-CONNECT")
	lb.Listeners[0].Pool.Monitor.Timeout = 20 * time.Millisecond
	set(t, p, lb)
	s.await(t, "closed", "ERROR")
	for _, id := range []string{"talks", "quiet"} {
		s.await(t, id, "ONLINE")
	}
}

func TestUDPFlowLeavesAMemberThatIsDown(t *testing.T) {
	p, s := newPlane(t)
	var code atomic.Int32
	code.Store(200)
	health := startWeb(t, "health", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(int(code.Load())) })
	a := startUDP(t, "a")
	a.MonitorAddress, a.MonitorPort = health.Address, health.Port
	lb := simple("UDP", a)
	lb.Listeners[0].Pool.Monitor = monitor("HTTP")
	set(t, p, lb)
	c := udpClient(t, randomAddr())
	if answer, _ := ask(t, c, vip(lb), long); answer == "" {
		t.Fatal("no answer while up")
	}
	code.Store(500)
	s.await(t, "a", "ERROR")
	if answer, _ := ask(t, c, vip(lb), brief); answer != "" {
		t.Errorf("answer %q of a member that is down", answer)
	}
}

func TestPingMonitorFindsALoopbackAddressUp(t *testing.T) {
	p, s := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Listeners[0].Pool.Monitor = monitor("PING")
	set(t, p, lb)
	s.await(t, "a", "ONLINE")
}

func TestMonitorOfAProxyPoolSendsTheProxyHeader(t *testing.T) {
	for _, protocol := range []string{"PROXY", "PROXYV2"} {
		t.Run(protocol, func(t *testing.T) {
			p, s := newPlane(t)
			ln, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
			if err != nil {
				t.Fatal(err)
			}
			strict := &proxyproto.Listener{Listener: ln} // it requires a header by default
			lb := simple("TCP", serveWeb(t, "a", strict, says("ok")), startWeb(t, "b", says("ok")))
			lb.Listeners[0].Pool.Protocol = protocol
			lb.Listeners[0].Pool.Monitor = monitor("HTTP")
			set(t, p, lb)
			s.await(t, "b", "ERROR") // it treats the header as an invalid request
			s.await(t, "a", "ONLINE")
		})
	}
}

// Octavia checks the healthCheckNodePort of a node like this, and it expects no PROXY header.
func TestMonitorPortOfAProxyPoolGetsNoHeader(t *testing.T) {
	for _, protocol := range []string{"PROXY", "PROXYV2"} {
		t.Run(protocol, func(t *testing.T) {
			p, s := newPlane(t)
			var asked atomic.Int32
			health := startWeb(t, "health", func(http.ResponseWriter, *http.Request) { asked.Add(1) })
			m := startBackend(t, "a").member()
			m.MonitorAddress, m.MonitorPort = health.Address, health.Port
			lb := simple("TCP", m)
			lb.Listeners[0].Pool.Protocol = protocol
			lb.Listeners[0].Pool.Monitor = monitor("HTTP")
			set(t, p, lb)
			eventually(t, "a check without a PROXY header", func() bool { return asked.Load() > 0 })
			s.await(t, "a", "ONLINE")
		})
	}
}

func TestMaxRetriesCountAsInOctavia(t *testing.T) {
	const ok, bad = true, false
	cases := map[string]struct {
		rise, fall int
		results    []bool
		want       []bool // up after each
	}{
		"a new member is up, and down at its first failure":    {3, 3, []bool{bad}, []bool{false}},
		"one success makes it strong":                          {3, 3, []bool{ok, bad, bad, bad}, []bool{true, true, true, false}},
		"a success between failures restarts the count":        {1, 2, []bool{ok, bad, ok, bad, bad}, []bool{true, true, true, true, false}},
		"max_retries successes in a row bring it back":         {3, 1, []bool{bad, ok, ok, ok}, []bool{false, false, false, true}},
		"a failure on the way up restarts the count":           {2, 1, []bool{bad, ok, bad, ok, ok}, []bool{false, false, false, false, true}},
		"back in rotation, it takes max_retries_down to leave": {2, 3, []bool{bad, ok, ok, bad, bad, bad}, []bool{false, false, true, true, true, false}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			plane, _ := newPlane(t)
			p := newPool(plane)
			ch := &checker{check: check{monitor: Monitor{MaxRetries: c.rise, MaxRetriesDown: c.fall}}}
			m := &member{present: true, up: true, health: c.rise, checker: ch, conf: Member{AdminUp: true, Weight: 1}}
			var got []bool
			for _, r := range c.results {
				var err error
				if !r {
					err = errNoMember
				}
				p.observe(m, ch, err)
				got = append(got, m.up)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestOperatingStatusOfMembers(t *testing.T) {
	p, s := newPlane(t)
	a := startBackend(t, "a").member()
	lb := simple("TCP", a)
	pool := lb.Listeners[0].Pool
	steps := []struct {
		name   string
		change func(m *Member)
		want   string
	}{
		{"no monitor", func(*Member) {}, "NO_MONITOR"},
		{"monitor", func(*Member) { pool.Monitor = monitor("TCP") }, "ONLINE"},
		{"disabled", func(m *Member) { m.AdminUp = false }, "OFFLINE"},
		{"enabled", func(m *Member) { m.AdminUp = true }, "ONLINE"},
		{"weight 0", func(m *Member) { m.Weight = 0 }, "DRAINING"},
		{"down", func(m *Member) { m.MonitorPort = 1 }, "ERROR"},
		{"monitor disabled", func(m *Member) { m.Weight = 1; pool.Monitor.AdminUp = false }, "NO_MONITOR"},
		{"moved away", func(m *Member) { m.Address = netip.MustParseAddr("192.0.2.1") }, "ERROR"},
	}
	m := a
	for _, step := range steps {
		if pool.Monitor != nil {
			copied := *pool.Monitor
			pool.Monitor = &copied
		}
		step.change(&m)
		pool.Members = []Member{m}
		if err := p.Set(lb); (err != nil) != !m.Address.IsLoopback() {
			t.Errorf("%s: %v", step.name, err)
		}
		s.await(t, "a", step.want)
	}
}

func TestChangeOfOtherMembersKeepsTheStateOfAMember(t *testing.T) {
	p, s := newPlane(t)
	b := startBackend(t, "b")
	b.stop()
	lb := simple("TCP", b.member())
	lb.Listeners[0].Pool.Monitor = monitor("TCP")
	set(t, p, lb)
	s.await(t, "b", "ERROR")
	lb.Listeners[0].Pool.Members = append(lb.Listeners[0].Pool.Members, startBackend(t, "a").member())
	mon := *lb.Listeners[0].Pool.Monitor
	mon.MaxRetries = 3
	lb.Listeners[0].Pool.Monitor = &mon
	set(t, p, lb)
	s.await(t, "a", "ONLINE")
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, e := range s.all {
		if e == "b ONLINE" {
			n++
		}
	}
	if n > 1 {
		t.Errorf("b was reported ONLINE again: %v", s.all)
	}
}

func TestExpectedCodesAreParsedOrRefused(t *testing.T) {
	for in, want := range map[string]string{"": "200", "200": "200", "200,202": "200,202", "200-204": "200-204", "200-204,301": "200-204,301"} {
		t.Run(fmt.Sprintf("%q", in), func(t *testing.T) {
			if got, err := parseCodes(in); err != nil || got.String() != want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	for _, in := range []string{"abc", "200-", "204-200", "200,,201"} {
		t.Run(fmt.Sprintf("%q", in), func(t *testing.T) {
			if got, err := parseCodes(in); err == nil {
				t.Errorf("it is taken as %v", got)
			}
		})
	}
}
