// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package securitygroup

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// wantedFor returns the wanted state for two nodes and these Services.
func wantedFor(nodes []Node, claims ...Claim) Wanted {
	w := Wanted{Nodes: nodes, Groups: []WantedGroup{{For: OfNodes, Name: "ours", Description: "marked"}}}
	w.Groups[0].Rules, w.Groups[0].Keep, w.Groups[0].KeepAll = Claimed(claims, subnets)
	return w
}

func claim(need Need) Claim { return Claim{Need: &need, Ports: need.Ports} }

// unknown returns a Service without a pass so far.
func unknown(ports ...PortKey) Claim { return Claim{Ports: ports} }

func texts(ops []Op) []string {
	all := []string{}
	for _, op := range ops {
		all = append(all, op.String())
	}
	return all
}

func groupWith(rules ...Rule) Group {
	g := Group{For: OfNodes, ID: "g", Name: "ours"}
	for i, r := range rules {
		g.Rules = append(g.Rules, FoundRule{ID: fmt.Sprint("r", i), Rule: r})
	}
	return g
}

func TestTheGroupIsCreatedFilledAndAddedToEachNode(t *testing.T) {
	s := fakeNeutron{Observed: Observed{Ports: []Port{port("a", "default"), port("b", "default", "web")}}}
	wanted := wantedFor([]Node{node("a"), node("b")}, claim(serviceOn(tcp(30080))))
	if diff := cmp.Diff([]string{"create security group ours"}, texts(Diff(wanted, s.Observed))); diff != "" {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if err := s.settle(wanted); err != nil {
		t.Fatal(err)
	}
	want := Observed{
		Groups: []Group{{For: OfNodes, ID: "new-1", Name: "ours", Description: "marked", Rules: []FoundRule{{ID: "new-2-0", Rule: rule(tcp(30080), nodeNet)}}}},
		Ports:  []Port{port("a", "default", "new-1"), port("b", "default", "web", "new-1")},
	}
	want.Ports[0].Revision, want.Ports[1].Revision = 2, 2
	if diff := cmp.Diff(want, s.Observed, byValue); diff != "" {
		t.Errorf("in the end, and without the rules that let everything out (-want +got):\n%s", diff)
	}
}

func TestNoGroupIsCreatedWithoutRules(t *testing.T) {
	if ops := Diff(wantedFor([]Node{node("a")}), Observed{Ports: []Port{port("a", "default")}}); len(ops) > 0 {
		t.Errorf("ops: %v", texts(ops))
	}
}

func TestNewAccessComesBeforeRemovedAccess(t *testing.T) {
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g"), port("b", "x"), port("c", "g")}}
	got := texts(Diff(wantedFor([]Node{node("a"), node("b")}, claim(serviceOn(tcp(2)))), o))
	want := []string{
		"admit TCP/2 from 10.0.0.0/24", "put the security group on port port-b of server server-b",
		"stop admitting TCP/1 from 10.0.0.0/24", "take the security group off port port-c of server server-c",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestScaleDownOfNodesNeverRemovesRules(t *testing.T) {
	clients := Need{Ports: []PortKey{tcp(30080)}, Sources: []netip.Prefix{all4}} // as with ovn
	o := Observed{Groups: []Group{groupWith(rule(tcp(30080), all4))}, Ports: []Port{port("a", "g"), port("b", "g")}}
	got := texts(Diff(wantedFor([]Node{node("a")}, claim(clients)), o))
	if diff := cmp.Diff([]string{"take the security group off port port-b of server server-b"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A cluster without nodes is more likely a mistake.
	if got := Diff(wantedFor(nil, claim(clients)), o); len(got) > 0 {
		t.Errorf("without nodes: %v", texts(got))
	}
}

func TestAllRulesStayWhileItIsUnknownWhichPortsAServiceNeeds(t *testing.T) {
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet), rule(tcp(2), nodeNet))}}
	pods := Claim{OtherPorts: true}
	if got := Diff(wantedFor(nil, pods, claim(serviceOn(tcp(1)))), o); len(got) > 0 {
		t.Errorf("before the first pass: %v", texts(got))
	}
	need := serviceOn(tcp(2))
	pods.Need = &need
	if diff := cmp.Diff([]string{"stop admitting TCP/1 from 10.0.0.0/24"}, texts(Diff(wantedFor(nil, pods), o))); diff != "" {
		t.Errorf("after it (-want +got):\n%s", diff)
	}
}

func TestRulesOfAServiceWithUnknownNeedStay(t *testing.T) {
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet), rule(tcp(2), nodeNet), rule(udp(1), nodeNet))}}
	got := texts(Diff(wantedFor(nil, unknown(tcp(1))), o))
	want := []string{"stop admitting TCP/2 from 10.0.0.0/24", "stop admitting UDP/1 from 10.0.0.0/24"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodeThatLeftKeepsTheGroupWhileItIsAMember(t *testing.T) {
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g"), port("b", "g")}}
	wanted := wantedFor([]Node{node("a")}, claim(serviceOn(tcp(1))))
	wanted.Groups[0].Held = []netip.Addr{addressOf("b")}
	if ops := Diff(wanted, o); len(ops) > 0 || !Draining(wanted, o) {
		t.Errorf("while a pool has it: %v, leaving %v", texts(ops), Draining(wanted, o))
	}
	wanted.Groups[0].Held, wanted.Groups[0].Unsure = nil, true
	if ops := Diff(wanted, o); len(ops) > 0 || !Draining(wanted, o) {
		t.Errorf("while that is not known: %v", texts(ops))
	}
	wanted.Groups[0].Unsure = false
	if ops := Diff(wanted, o); len(ops) != 1 || Draining(wanted, o) {
		t.Errorf("after that: %v", texts(ops))
	}
}

func TestANodeWithAnUnknownServerKeepsTheGroup(t *testing.T) {
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g"), port("b", "g")}}
	b := node("b")
	b.ServerID = ""
	if ops := Diff(wantedFor([]Node{node("a"), b}, claim(serviceOn(tcp(1)))), o); len(ops) > 0 {
		t.Errorf("ops: %v", texts(ops))
	}
}

func TestOnlyThePortWithTheMembersAddressGetsTheGroup(t *testing.T) {
	storage := port("a", "default")
	storage.ID, storage.Addresses = "port-storage", []netip.Addr{netip.MustParseAddr("192.168.0.1")}
	bare := port("b")
	bare.Unprotected = true
	o := Observed{Groups: []Group{groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{storage, port("a", "default"), bare}}
	got := texts(Diff(wantedFor([]Node{node("a"), node("b")}, claim(serviceOn(tcp(1)))), o))
	if diff := cmp.Diff([]string{"put the security group on port port-a of server server-a"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestADuplicateGroupIsDeleted(t *testing.T) {
	second := groupWith()
	second.ID = "a"
	s := fakeNeutron{Observed: Observed{Groups: []Group{second, groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "default", "a"), port("b", "g", "a")}}}
	if err := s.settle(wantedFor([]Node{node("a"), node("b")}, claim(serviceOn(tcp(1))))); err != nil {
		t.Fatal(err)
	}
	if len(s.Groups) != 1 || s.Groups[0].ID != "g" {
		t.Errorf("groups: %+v", s.Groups)
	}
	for _, p := range s.Ports {
		if !slices.Contains(p.Groups, "g") || slices.Contains(p.Groups, "a") {
			t.Errorf("port %s has %v", p.ID, p.Groups)
		}
	}
}

// anyWorld draws wanted and observed states.
func anyWorld(t *rapid.T) (Wanted, fakeNeutron) {
	names := []string{"a", "b", "c", "d"}
	var nodes []Node
	for _, name := range names {
		if rapid.Bool().Draw(t, "node "+name) {
			n := node(name)
			if rapid.IntRange(0, 4).Draw(t, "silent") == 0 {
				n.ServerID = ""
			}
			nodes = append(nodes, n)
		}
	}
	anyPort := rapid.SampledFrom([]PortKey{tcp(1), tcp(2), udp(1), udp(2)})
	anySource := rapid.SampledFrom([]netip.Prefix{nodeNet, vipNet, all4})
	claims := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Claim {
		ports := rapid.SliceOfDistinct(anyPort, func(p PortKey) PortKey { return p }).Draw(t, "ports")
		if rapid.IntRange(0, 3).Draw(t, "unknown") == 0 {
			return unknown(ports...)
		}
		return claim(Need{Ports: ports, Sources: rapid.SliceOf(anySource).Draw(t, "sources")})
	}), 0, 4).Draw(t, "claims")
	w := wantedFor(nodes, claims...)
	w.Groups[0].Unsure = rapid.IntRange(0, 4).Draw(t, "unsure") == 0
	var s fakeNeutron
	for i := range rapid.IntRange(0, 2).Draw(t, "groups") {
		g := Group{For: OfNodes, ID: fmt.Sprint("g", i), Name: "ours"}
		rules := rapid.SliceOfDistinct(rapid.Custom(func(t *rapid.T) Rule {
			return Rule{anyPort.Draw(t, "port"), anySource.Draw(t, "source")}
		}), func(r Rule) Rule { return r }).Draw(t, "rules")
		for j, r := range rules {
			g.Rules = append(g.Rules, FoundRule{ID: fmt.Sprint(g.ID, "-", j), Rule: r})
		}
		if rapid.Bool().Draw(t, "odd") {
			g.Rules = append(g.Rules, FoundRule{ID: g.ID + "-odd", Foreign: true})
		}
		s.Groups = append(s.Groups, g)
	}
	for _, name := range names {
		p := port(name, "default")
		for _, g := range s.Groups {
			if rapid.Bool().Draw(t, "bears "+g.ID) {
				p.Groups = append(p.Groups, g.ID)
			}
		}
		p.Unprotected = len(p.Groups) == 1 && rapid.IntRange(0, 4).Draw(t, "unprotected") == 0
		s.Ports = append(s.Ports, p)
	}
	return w, s
}

func TestPlansEndAndNoStepCutsOffWantedTraffic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wanted, s := anyWorld(t)
		before := s.Observed
		for range 10 {
			ops := Diff(wanted, s.Observed)
			if len(ops) == 0 {
				break
			}
			for _, op := range ops {
				was := s.Observed
				if err := s.apply(op); err != nil {
					t.Fatalf("%s: %v", op, err)
				}
				for _, n := range wanted.Nodes {
					for _, r := range wanted.Groups[0].Rules {
						if allows(was, n, r) && !allows(s.Observed, n, r) {
							t.Fatalf("%s shut out %s from node %s", op, r, n.Name)
						}
					}
				}
			}
		}
		if ops := Diff(wanted, s.Observed); len(ops) > 0 {
			t.Fatalf("it does not end: %v", texts(ops))
		}
		for _, p := range s.Ports {
			if !slices.Contains(p.Groups, "default") {
				t.Errorf("port %s lost a group that is not ours: %v", p.ID, p.Groups)
			}
		}
		if len(s.Groups) > 1 || len(s.Groups) == 0 && len(wanted.Groups[0].Rules) > 0 {
			t.Errorf("%d groups are left of %d", len(s.Groups), len(before.Groups))
		}
		for _, n := range wanted.Nodes {
			for _, r := range wanted.Groups[0].Rules {
				if ports := s.PortOf(n); len(ports) > 0 && !ports[0].Unprotected && !allows(s.Observed, n, r) {
					t.Errorf("node %s does not admit %s", n.Name, r)
				}
			}
		}
	})
}

// allows reports whether the groups on the node's port allow the rule's traffic.
func allows(o Observed, n Node, r Rule) bool {
	for _, p := range o.Ports {
		if !p.has(n.Addresses) {
			continue
		}
		for _, g := range o.Groups {
			if slices.Contains(p.Groups, g.ID) && slices.ContainsFunc(g.Rules, func(f FoundRule) bool { return !f.Foreign && f.Rule == r }) {
				return true
			}
		}
	}
	return false
}
