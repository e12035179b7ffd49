// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pires/go-proxyproto"
)

func TestTCPListenerForwardsInBothDirections(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	set(t, p, lb)
	c := dial(t, vip(lb))
	if name, _ := c.greeting(); name != "a" {
		t.Fatalf("answered by %q", name)
	}
	c.echo("hello")
	c.echo(strings.Repeat("x", 1<<20))
}

func TestHalfClosedConnectionStillCarriesTheAnswer(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	set(t, p, lb)
	c := dial(t, vip(lb))
	c.greeting()
	io.WriteString(c.conn, "last words")
	if err := c.conn.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c.r)
	if err != nil || string(got) != "last words" {
		t.Fatalf("after the client's end of file: %q, %v", got, err)
	}
}

func TestMembersSeeTheVIPOrTheClient(t *testing.T) {
	for _, preserve := range []bool{false, true} {
		t.Run("preserve="+strconv.FormatBool(preserve), func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("TCP", startBackend(t, "a").member())
			floating := randomAddr()
			lb.Addresses = append(lb.Addresses, floating)
			lb.PreserveSource = preserve
			set(t, p, lb)
			from := randomAddr()
			want := lb.Addresses[0]
			if preserve {
				want = from
			}
			_, seen := dialFrom(t, from, netip.AddrPortFrom(floating, port).String()).greeting()
			if got := netip.MustParseAddrPort(seen).Addr(); got != want {
				t.Errorf("the member sees %s, want %s", got, want)
			}
		})
	}
}

func TestEveryAddressIsServed(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Addresses = append(lb.Addresses, randomAddr(), randomAddr())
	set(t, p, lb)
	for _, a := range lb.Addresses {
		if got := who(t, netip.Addr{}, netip.AddrPortFrom(a, port).String()); got != "a" {
			t.Errorf("%s answered by %q", a, got)
		}
	}
}

func TestListenerWithoutMembersClosesConnections(t *testing.T) {
	down := startBackend(t, "down")
	down.stop()
	disabled := startBackend(t, "disabled").member()
	disabled.AdminUp = false
	drained := startBackend(t, "drained").member()
	drained.Weight = 0
	cases := map[string]*Pool{
		"no pool":           nil,
		"no members":        {ID: "pool", Protocol: "TCP"},
		"refusing member":   {ID: "pool", Protocol: "TCP", Members: []Member{down.member()}},
		"disabled, drained": {ID: "pool", Protocol: "TCP", Members: []Member{disabled, drained}},
	}
	for name, pool := range cases {
		t.Run(name, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("TCP")
			lb.Listeners[0].Pool = pool
			set(t, p, lb)
			turnedAway(t, randomAddr(), vip(lb))
		})
	}
}

func TestRefusedDialTriesTheNextMember(t *testing.T) {
	p, _ := newPlane(t)
	dead := startBackend(t, "dead")
	dead.stop()
	lb := simple("TCP", dead.member(), startBackend(t, "alive").member())
	set(t, p, lb)
	if diff := cmp.Diff(map[string]int{"alive": 10}, count(t, 10, vip(lb))); diff != "" {
		t.Error(diff)
	}
}

func TestSourceOutsideTheRangesIsClosedAtOnce(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	friend, stranger := randomAddr(), randomAddr()
	lb.Listeners[0].AllowedCIDRs = []netip.Prefix{netip.PrefixFrom(friend, 32)}
	set(t, p, lb)
	if got := who(t, friend, vip(lb)); got != "a" {
		t.Errorf("the friend got %q", got)
	}
	turnedAway(t, stranger, vip(lb))

	lb.Listeners[0].AllowedCIDRs = nil
	set(t, p, lb)
	if got := who(t, stranger, vip(lb)); got != "a" {
		t.Errorf("with no ranges the stranger got %q", got)
	}
}

func TestConnectionOverTheLimitWaitsForAPlace(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Addresses = append(lb.Addresses, randomAddr())
	lb.Listeners[0].ConnectionLimit = 1
	set(t, p, lb)
	first := dial(t, vip(lb))
	first.greeting()

	second := dial(t, netip.AddrPortFrom(lb.Addresses[1], port).String())
	first.echo("still served")
	first.conn.Close()
	if name, _ := second.greeting(); name != "a" {
		t.Errorf("the second was served by %q", name)
	}

	third := dial(t, vip(lb))
	lb.Listeners[0].ConnectionLimit = 2
	set(t, p, lb)
	third.greeting()
	second.echo("not disturbed by the new limit")
}

func TestRemovedListenerDropsTheConnectionThatWaitsForAPlace(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member())
	lb.Listeners[0].ConnectionLimit = 1
	lb.Listeners = append(lb.Listeners, Listener{ID: "other", Protocol: "TCP", Port: port + 1})
	set(t, p, lb)
	first := dial(t, vip(lb))
	first.greeting()
	second := dial(t, vip(lb))
	lb.Listeners = lb.Listeners[1:]
	set(t, p, lb)
	second.closed()
	first.echo("goes on")
}

func TestIdleConnectionIsEnded(t *testing.T) {
	for _, side := range []string{"client", "member"} {
		t.Run(side, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("TCP", startBackend(t, "a").member())
			if side == "client" {
				lb.Listeners[0].ClientTimeout = 50e6
			} else {
				lb.Listeners[0].MemberTimeout = 50e6
			}
			set(t, p, lb)
			if _, err := io.Copy(io.Discard, dial(t, vip(lb)).conn); errors.Is(err, os.ErrDeadlineExceeded) {
				t.Error("the connection stays open")
			}
		})
	}
}

func TestProxyPoolSendsTheAddressOfTheClientToTheMember(t *testing.T) {
	for protocol, version := range map[string]byte{"PROXY": 1, "PROXYV2": 2} {
		t.Run(protocol, func(t *testing.T) {
			p, _ := newPlane(t)
			plain, err := net.Listen("tcp", net.JoinHostPort(randomAddr().String(), "0"))
			if err != nil {
				t.Fatal(err)
			}
			defer plain.Close()
			lb := simple("TCP", memberAt("a", plain.Addr()))
			lb.Listeners[0].Pool.Protocol = protocol
			set(t, p, lb)

			c := dialFrom(t, randomAddr(), vip(lb))
			raw, err := plain.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer raw.Close()
			member := proxyproto.NewConn(raw)
			if got, want := member.RemoteAddr().String(), c.conn.LocalAddr().String(); got != want {
				t.Errorf("source %s, want %s", got, want)
			}
			if got, want := member.LocalAddr().String(), vip(lb); got != want {
				t.Errorf("destination %s, want %s", got, want)
			}
			if got := member.ProxyHeader().Version; got != version {
				t.Errorf("version %d, want %d", got, version)
			}
			io.WriteString(c.conn, "hello")
			buf := make([]byte, 5)
			if _, err := io.ReadFull(member, buf); err != nil || string(buf) != "hello" {
				t.Errorf("after the header: %q, %v", buf, err)
			}
		})
	}
}
