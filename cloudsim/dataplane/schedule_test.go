// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestRoundRobinRotatesMembers(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member(), startBackend(t, "b").member())
	set(t, p, lb)
	last := ""
	for range 10 {
		name := who(t, netip.Addr{}, vip(lb))
		if name == last {
			t.Fatalf("%s served twice in a row", name)
		}
		last = name
	}
}

func TestWeightsShareConnectionsInProportion(t *testing.T) {
	p, _ := newPlane(t)
	a, b, c := startBackend(t, "a").member(), startBackend(t, "b").member(), startBackend(t, "c").member()
	a.Weight, b.Weight, c.Weight = 3, 1, 0
	lb := simple("TCP", a, b, c)
	set(t, p, lb)
	if diff := cmp.Diff(map[string]int{"a": 15, "b": 5}, count(t, 20, vip(lb))); diff != "" {
		t.Error(diff)
	}
}

func TestLeastConnectionsPrefersTheMemberWithFewest(t *testing.T) {
	p, _ := newPlane(t)
	lb := simple("TCP", startBackend(t, "a").member(), startBackend(t, "b").member())
	lb.Listeners[0].Pool.Algorithm = "LEAST_CONNECTIONS"
	set(t, p, lb)
	held := map[string][]*client{}
	for range 6 {
		c := dial(t, vip(lb))
		name, _ := c.greeting()
		held[name] = append(held[name], c)
	}
	if len(held["a"]) != 3 || len(held["b"]) != 3 {
		t.Fatalf("a holds %d and b %d of 6 connections", len(held["a"]), len(held["b"]))
	}
	pool := p.balancers["lb"].pools["pool"]
	for _, c := range held["b"] {
		c.conn.Close()
	}
	eventually(t, "b's connections to be counted off", func() bool {
		pool.mu.Lock()
		defer pool.mu.Unlock()
		return pool.members[1].active == 0
	})
	for range 3 {
		c := dial(t, vip(lb))
		if name, _ := c.greeting(); name != "b" {
			t.Errorf("%s was chosen although b has fewer connections", name)
		}
	}
}

func TestSourceIPKeepsAClientOnItsMember(t *testing.T) {
	for _, by := range []string{"algorithm", "persistence"} {
		t.Run(by, func(t *testing.T) {
			p, _ := newPlane(t)
			lb := simple("TCP", startBackend(t, "a").member(), startBackend(t, "b").member(), startBackend(t, "c").member())
			if by == "algorithm" {
				lb.Listeners[0].Pool.Algorithm = "SOURCE_IP"
			} else {
				lb.Listeners[0].Pool.SourceIPPersistence = true
			}
			set(t, p, lb)
			used := map[string]bool{}
			for range 30 {
				from := randomAddr()
				first := who(t, from, vip(lb))
				used[first] = true
				for range 3 {
					if again := who(t, from, vip(lb)); again != first {
						t.Fatalf("client %s went from %s to %s", from, first, again)
					}
				}
			}
			if len(used) != 3 {
				t.Errorf("30 clients used only the members %v", used)
			}
		})
	}
}

func TestPersistentClientMovesOnlyWhenItsMemberIsRemoved(t *testing.T) {
	p, _ := newPlane(t)
	a, b := startBackend(t, "a"), startBackend(t, "b")
	lb := simple("TCP", a.member())
	pool := lb.Listeners[0].Pool
	pool.SourceIPPersistence = true
	set(t, p, lb)
	from := randomAddr()
	who(t, from, vip(lb))

	drained := a.member()
	drained.Weight = 0
	pool.Members = []Member{drained, b.member()}
	set(t, p, lb)
	if got := who(t, from, vip(lb)); got != "a" {
		t.Errorf("a drained member lost its client to %s", got)
	}
	if got := who(t, randomAddr(), vip(lb)); got != "b" {
		t.Errorf("a new client went to %s", got)
	}
	a.stop()
	for range 2 {
		if got := who(t, from, vip(lb)); got != "b" {
			t.Errorf("after the member refused, the client went to %s", got)
		}
	}
}

func TestPersistenceIsForgottenAfterItsTimeout(t *testing.T) {
	p := &pool{persistent: map[netip.Addr]*persistence{}, conf: Pool{SourceIPPersistence: true, PersistenceTimeout: time.Minute}}
	m := &member{up: true, present: true, conf: Member{AdminUp: true, Weight: 1}}
	from := randomAddr()
	p.remember(from, m)
	if p.remembered(from) != m {
		t.Error("the client is not remembered")
	}
	p.persistent[from].last = time.Now().Add(-2 * time.Minute)
	if p.remembered(from) != nil {
		t.Error("the client is remembered beyond the timeout")
	}
}

func TestPersistenceTableIsBounded(t *testing.T) {
	p := &pool{persistent: map[netip.Addr]*persistence{}}
	a := netip.MustParseAddr("127.1.0.0")
	first := a
	for range maxPersistent + 1 {
		p.remember(a, &member{})
		a = a.Next()
	}
	if len(p.persistent) != maxPersistent || p.persistent[first] != nil {
		t.Errorf("%d clients remembered, the first among them: %t", len(p.persistent), p.persistent[first] != nil)
	}
}

func TestBackupMembersServeOnlyWhenAllOthersAreDown(t *testing.T) {
	p, _ := newPlane(t)
	a, spare := startBackend(t, "a"), startBackend(t, "spare").member()
	spare.Backup = true
	lb := simple("TCP", spare, a.member())
	set(t, p, lb)
	if diff := cmp.Diff(map[string]int{"a": 6}, count(t, 6, vip(lb))); diff != "" {
		t.Error(diff)
	}
	a.stop()
	if got := who(t, netip.Addr{}, vip(lb)); got != "spare" {
		t.Errorf("with a gone, %s answers", got)
	}
}

// randomPool has members of random weights that are all up.
func randomPool(t *rapid.T, algorithm string) *pool {
	p := newPool(nil)
	p.conf.Algorithm = algorithm
	weights := rapid.SliceOfN(rapid.IntRange(0, 20), 1, 8).Draw(t, "weights")
	for i, w := range weights {
		p.members = append(p.members, &member{
			id: fmt.Sprint(i), endpoint: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(i)}), 80),
			up: true, present: true, conf: Member{Weight: w, AdminUp: true},
		})
	}
	return p
}

func TestRoundRobinGivesEachMemberExactlyItsWeightInEveryRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPool(t, "ROUND_ROBIN")
		total := 0
		for _, m := range p.members {
			total += m.conf.Weight
		}
		got := map[*member]int{}
		for range 3 * total {
			got[p.pick(netip.AddrPort{}, nil)]++
		}
		for _, m := range p.members {
			if got[m] != 3*m.conf.Weight {
				t.Errorf("member %s of weight %d served %d times in 3 rounds", m.id, m.conf.Weight, got[m])
			}
		}
	})
}

func TestSourceHashMovesOnlyTheClientsOfTheMemberThatLeft(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := randomPool(t, rapid.SampledFrom([]string{"SOURCE_IP", "SOURCE_IP_PORT"}).Draw(t, "algorithm"))
		gone := rapid.SampledFrom(p.members).Draw(t, "gone")
		for range 20 {
			from := netip.AddrPortFrom(randomAddr(), uint16(rand.IntN(1<<16)))
			before := p.pick(from, nil)
			gone.present = false
			after := p.pick(from, nil)
			gone.present = true
			if before != gone && after != before {
				t.Errorf("client %s moved although its member stayed", from)
			}
		}
	})
}

func TestSourceIPPortSpreadsOneClient(t *testing.T) {
	p := newPool(nil)
	p.conf.Algorithm = "SOURCE_IP_PORT"
	for i := range 2 {
		p.members = append(p.members, &member{
			endpoint: netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, byte(i)}), 80),
			up:       true, present: true, conf: Member{Weight: 1, AdminUp: true},
		})
	}
	used := map[*member]bool{}
	for port := range uint16(100) {
		from := netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), port)
		m := p.pick(from, nil)
		used[m] = true
		if p.pick(from, nil) != m {
			t.Fatalf("port %d changed its member", port)
		}
	}
	if len(used) != 2 {
		t.Error("100 ports of one client all went to one member")
	}
}
