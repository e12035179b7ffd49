// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// startUDP answers each datagram with its name, the sender's address and the
// datagram.
func startUDP(t *testing.T, name string) Member {
	t.Helper()
	return startUDPAt(t, name, netip.AddrPortFrom(randomAddr(), 0))
}

func startUDPAt(t *testing.T, name string, at netip.AddrPort) Member {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(at))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		buf := make([]byte, maxDatagram)
		for {
			n, from, err := c.ReadFromUDPAddrPort(buf)
			if err != nil {
				return
			}
			c.WriteToUDPAddrPort(append([]byte(name+" "+from.Addr().String()+" "), buf[:n]...), from)
		}
	})
	t.Cleanup(func() { c.Close(); wg.Wait() })
	return memberAt(name, c.LocalAddr())
}

// udpClient returns a socket that is not connected, so that it sees where answers come from.
func udpClient(t *testing.T, from netip.Addr) *net.UDPConn {
	t.Helper()
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// ask repeats a datagram until it is answered or wait has passed.
func ask(t *testing.T, c *net.UDPConn, to string, wait time.Duration) (answer string, from string) {
	t.Helper()
	if _, err := c.WriteToUDPAddrPort([]byte("hi"), netip.MustParseAddrPort(to)); err != nil {
		t.Fatal(err)
	}
	c.SetReadDeadline(time.Now().Add(wait))
	buf := make([]byte, maxDatagram)
	n, peer, err := c.ReadFromUDPAddrPort(buf)
	if err != nil {
		return "", ""
	}
	return string(buf[:n]), netip.AddrPortFrom(peer.Addr().Unmap(), peer.Port()).String()
}

const (
	long  = 30 * time.Second
	brief = 100 * time.Millisecond
)

func TestUDPAnswersComeFromTheAddressThatTheClientUsed(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"))
	lb.Addresses = append(lb.Addresses, randomAddr())
	set(t, p, lb)
	c := udpClient(t, randomAddr())
	for _, a := range lb.Addresses {
		to := netip.AddrPortFrom(a, port).String()
		answer, from := ask(t, c, to, long)
		if want := "a " + lb.Addresses[0].String() + " hi"; answer != want {
			t.Errorf("answer %q, want %q", answer, want)
		}
		if from != to {
			t.Errorf("the answer came from %s, want %s", from, to)
		}
	}
}

func TestUDPPreservedSource(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"))
	lb.PreserveSource = true
	set(t, p, lb)
	from := randomAddr()
	if answer, _ := ask(t, udpClient(t, from), vip(lb), long); answer != "a "+from.String()+" hi" {
		t.Errorf("answer %q", answer)
	}
}

func TestUDPFlowStaysOnItsMemberAndNewFlowsAreBalanced(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"), startUDP(t, "b"))
	set(t, p, lb)
	got := map[string]int{}
	for range 4 {
		c := udpClient(t, randomAddr())
		first, _ := ask(t, c, vip(lb), long)
		again, _ := ask(t, c, vip(lb), long)
		if first != again {
			t.Errorf("one flow was answered by %q and then by %q", first, again)
		}
		got[first[:1]]++
	}
	if diff := cmp.Diff(map[string]int{"a": 2, "b": 2}, got); diff != "" {
		t.Error(diff)
	}
}

func TestUDPFlowLeavesAMemberThatIsRemoved(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"))
	set(t, p, lb)
	c := udpClient(t, randomAddr())
	ask(t, c, vip(lb), long)
	lb.Listeners[0].Pool.Members = []Member{startUDP(t, "b")}
	set(t, p, lb)
	if answer, _ := ask(t, c, vip(lb), long); answer == "" || answer[:1] != "b" {
		t.Errorf("answer %q, want it from b", answer)
	}
}

func TestUDPIdleFlowIsForgotten(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"))
	lb.Listeners[0].ClientTimeout = brief
	set(t, p, lb)
	ask(t, udpClient(t, randomAddr()), vip(lb), long)
	s := p.balancers["lb"].listeners["listener"].sockets[lb.Addresses[0]].(*udpSocket)
	eventually(t, "the flow to be forgotten", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.flows) == 0
	})
}

func TestUDPFromOutsideTheRangesAndBeyondTheLimitIsDropped(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "a"))
	friend, stranger := randomAddr(), randomAddr()
	lb.Listeners[0].AllowedCIDRs = []netip.Prefix{netip.PrefixFrom(friend, 32)}
	lb.Listeners[0].ConnectionLimit = 1
	set(t, p, lb)
	if answer, _ := ask(t, udpClient(t, stranger), vip(lb), brief); answer != "" {
		t.Errorf("the stranger got %q", answer)
	}
	if answer, _ := ask(t, udpClient(t, friend), vip(lb), long); answer == "" {
		t.Error("the friend got nothing")
	}
	if answer, _ := ask(t, udpClient(t, friend), vip(lb), brief); answer != "" {
		t.Errorf("a second flow got %q", answer)
	}
}

func TestTCPAndUDPShareAPort(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("UDP", startUDP(t, "u"))
	tcp := simple("TCP", startBackend(t, "t").member()).Listeners[0]
	tcp.ID, tcp.Pool.ID = "tcp", "tcp-pool"
	lb.Listeners = append(lb.Listeners, tcp)
	set(t, p, lb)
	if got := who(t, netip.Addr{}, vip(lb)); got != "t" {
		t.Errorf("TCP answered by %q", got)
	}
	if answer, _ := ask(t, udpClient(t, randomAddr()), vip(lb), long); answer == "" {
		t.Error("UDP not answered")
	}
}
