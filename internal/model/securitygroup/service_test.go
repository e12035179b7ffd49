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

// groupFor returns an existing group of a Service, with rules for these NodePorts.
func groupFor(uid string, ports ...PortKey) Group {
	g := Group{For: uid, ID: "g-" + uid, Name: "lb-sg-" + uid}
	for i, p := range ports {
		g.Rules = append(g.Rules, FoundRule{ID: fmt.Sprint(uid, i), Rule: rule(p, nodeNet)})
	}
	return g
}

// wantedOwn returns the wanted group of the Service with the uid.
func wantedOwn(uid string, ports ...PortKey) WantedGroup {
	w := WantedGroup{For: uid, Name: "lb-sg-" + uid, Description: "described"}
	for _, p := range ports {
		w.Rules = append(w.Rules, rule(p, nodeNet))
	}
	return w
}

// deleted returns a group to be deleted.
func deleted(uid string, replaced bool) WantedGroup {
	return WantedGroup{For: uid, Delete: true, Replaced: replaced}
}

// inCluster returns the wanted state for two nodes and one Service, whose own group is replaced.
func inCluster(going ...WantedGroup) Wanted {
	w := wantedFor([]Node{node("a"), node("b")}, claim(serviceOn(tcp(1))))
	w.Groups = append(w.Groups, going...)
	return w
}

func plans(t *testing.T, what string, wanted Wanted, o Observed, want ...string) {
	t.Helper()
	if diff := cmp.Diff(append([]string{}, want...), texts(Diff(wanted, o))); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestACorrectGroupOfAServiceIsAdoptedWithoutAWrite(t *testing.T) {
	wanted := Wanted{Nodes: []Node{node("a"), node("b")}, Groups: []WantedGroup{wantedOwn("web", tcp(1)), wantedOwn("shop", tcp(2))}}
	wanted.Groups[0].Only, wanted.Groups[0].Keep = []string{"a"}, []PortKey{tcp(31000)}
	o := Observed{Groups: []Group{groupFor("web", tcp(1), tcp(31000)), groupFor("shop", tcp(2)), groupFor("unknown", tcp(3))},
		Ports: []Port{port("a", "default", "g-web", "g-shop", "g-unknown"), port("b", "g-shop", "g-unknown")}}
	plans(t, "as it is to be", wanted, o)
}

func TestEachPortIsWrittenOnceWhateverTheNumberOfServices(t *testing.T) {
	wanted := Wanted{Nodes: []Node{node("a"), node("b")}, Groups: []WantedGroup{wantedOwn("web", tcp(1)), wantedOwn("shop", tcp(2)), deleted("old", false)}}
	groups := []Group{groupFor("web", tcp(1)), groupFor("shop", tcp(2)), groupFor("old", tcp(3))}
	o := Observed{Groups: groups, Ports: []Port{port("a", "default", "g-old"), port("b", "g-web", "g-shop"), port("c", "g-web", "g-shop", "g-old")}}
	plans(t, "one that joins, and one that leaves", wanted, o,
		"put 2 security groups on port port-a of server server-a", "take 3 security groups off port port-c of server server-c")
	s := fakeNeutron{Observed: o}
	if err := s.settle(wanted); err != nil {
		t.Fatal(err)
	}
	if len(s.Groups) != 2 {
		t.Errorf("groups %+v", s.Groups)
	}
}

func TestAGroupThatStaysIsKeptByThePortsThatHaveIt(t *testing.T) {
	wanted := Wanted{Nodes: []Node{node("a"), node("b"), node("c")}, Groups: []WantedGroup{wantedOwn("web", tcp(1))}}
	wanted.Groups[0].Only, wanted.Groups[0].Stays = []string{"a"}, true
	o := Observed{Groups: []Group{groupFor("web", tcp(1), tcp(2))}, Ports: []Port{port("a"), port("b", "g-web"), port("c"), port("d", "g-web")}}
	plans(t, "a node that is to have it, two that have it, and one that has not", wanted, o,
		"put the security group on port port-a of server server-a", "stop admitting TCP/2 from 10.0.0.0/24")
	if Draining(wanted, o) {
		t.Error("it waits for pools to drop nodes")
	}
}

func TestReplacedGroupsAreRemovedAfterTheOtherIsCompleteAndOnThePort(t *testing.T) {
	old := groupFor("web", tcp(1))
	full := []Port{port("a", "default", "g-web"), port("b", "default", "g-web")}
	plans(t, "before there is one", inCluster(deleted("web", true)), Observed{Groups: []Group{old}, Ports: full}, "create security group ours")
	plans(t, "before it is filled", inCluster(deleted("web", true)),
		Observed{Groups: []Group{old, groupWith()}, Ports: []Port{port("a", "g-web", "g"), port("b", "g-web", "g")}}, "admit TCP/1 from 10.0.0.0/24")
	plans(t, "before it is on each port", inCluster(deleted("web", true)),
		Observed{Groups: []Group{old, groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g-web", "g"), port("b", "g-web")}},
		"put the security group on port port-b of server server-b", "take the security group off port port-a of server server-a")
	plans(t, "while a port bears it", inCluster(deleted("web", true)),
		Observed{Groups: []Group{old, groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g"), port("b", "g-web", "g")}},
		"take the security group off port port-b of server server-b")
	plans(t, "in the end", inCluster(deleted("web", true)),
		Observed{Groups: []Group{old, groupWith(rule(tcp(1), nodeNet))}, Ports: []Port{port("a", "g"), port("b", "g")}},
		"delete security group lb-sg-web (g-web)")
}

// TestRulesThatOtherGroupsReplaceGoWhenTheseAreOnEachPort is about the group of a former mode that stays for one Service.
func TestRulesThatOtherGroupsReplaceGoWhenTheseAreOnEachPort(t *testing.T) {
	former := groupWith(rule(tcp(1), nodeNet), rule(tcp(2), nodeNet))
	rest := WantedGroup{For: OfNodes, Replaced: true, Stays: true, Only: []string{}, Keep: []PortKey{tcp(2)}}
	plansFor := func(what string, edit func(*WantedGroup), groups []Group, ports []Port, want ...string) {
		t.Helper()
		rest := rest
		edit(&rest)
		plans(t, what, Wanted{Nodes: []Node{node("a"), node("b")}, Groups: []WantedGroup{rest, wantedOwn("web", tcp(1))}}, Observed{Groups: groups, Ports: ports}, want...)
	}
	as := func(*WantedGroup) {}
	both := []Group{former, groupFor("web", tcp(1))}
	on := []Port{port("a", "g", "g-web"), port("b", "g", "g-web")}
	plansFor("before there is one", as, both[:1], []Port{port("a", "g"), port("b", "g")}, "create security group lb-sg-web")
	plansFor("before it is filled", as, []Group{former, groupFor("web")}, on, "admit TCP/1 from 10.0.0.0/24")
	plansFor("before it is on each port", as, both, []Port{on[0], port("b", "g")}, "put the security group on port port-b of server server-b")
	held := func(w *WantedGroup) { w.Held = []netip.Addr{addressOf("c")} }
	plansFor("while a node that left is a member", held, both, append(on[:2:2], port("c", "g")))
	plansFor("when it is", as, both, on, "stop admitting TCP/1 from 10.0.0.0/24")
	plansFor("in the end", as, []Group{groupWith(rule(tcp(2), nodeNet)), both[1]}, on)
}

func TestReplacedGroupsStayWhereTheOtherCannotBe(t *testing.T) {
	old, done := groupFor("web", tcp(1)), groupWith(rule(tcp(1), nodeNet))
	left := Observed{Groups: []Group{old, done}, Ports: []Port{port("a", "g"), port("b", "g"), port("c", "g-web")}}
	held := deleted("web", true)
	held.Held = []netip.Addr{addressOf("c")}
	plans(t, "a node that left and is a member", inCluster(held), left)
	unsure := deleted("web", true)
	unsure.Unsure = true
	plans(t, "a node that left and may be a member", inCluster(unsure), left)
	plans(t, "a node that left", inCluster(deleted("web", true)), left, "take the security group off port port-c of server server-c")
	silent := inCluster(deleted("web", true))
	silent.Nodes = append(silent.Nodes, Node{Name: "c", Addresses: []netip.Addr{addressOf("c")}})
	plans(t, "a node that does not tell its server", silent, left)
}

// TestReplacedGroupsGoFromAClusterWithoutNodes is from a random walk: the mode of security groups changed, and then the last node
// left. Its port kept the group of the former mode for ever.
func TestReplacedGroupsGoFromAClusterWithoutNodes(t *testing.T) {
	old, done := groupFor("web", tcp(1)), groupWith(rule(tcp(1), nodeNet))
	left := Observed{Groups: []Group{old, done}, Ports: []Port{port("c", "g-web")}}
	without := func(edit func(*WantedGroup)) Wanted {
		going := deleted("web", true)
		edit(&going)
		wanted := inCluster(going)
		wanted.Nodes = nil
		return wanted
	}
	plans(t, "while it is a member", without(func(w *WantedGroup) { w.Held = []netip.Addr{addressOf("c")} }), left)
	plans(t, "while it may be a member", without(func(w *WantedGroup) { w.Unsure = true }), left)
	plans(t, "when no pool has it", without(func(*WantedGroup) {}), left, "take the security group off port port-c of server server-c")
	left.Groups = []Group{old}
	plans(t, "before the other group is complete", without(func(*WantedGroup) {}), left, "create security group ours")
}

func TestTheGroupOfADeletedServiceDoesNotWaitForOthers(t *testing.T) {
	wanted := Wanted{Nodes: []Node{node("a")}, Groups: []WantedGroup{wantedOwn("web", tcp(1)), deleted("shop", false)}}
	o := Observed{Groups: []Group{groupFor("shop", tcp(2))}, Ports: []Port{port("a", "g-shop")}}
	plans(t, "where there is quota for one group", wanted, o,
		"create security group lb-sg-web", "take the security group off port port-a of server server-a")
}

// TestTheChangeBetweenModesNeverCutsOffAService completes the change from groups of Services to that of the cluster, or
// back, from any state in between. Of the way back, the needs of a Service may not be known.
func TestTheChangeBetweenModesNeverCutsOffAService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names, services := []string{"a", "b", "c"}, map[string]PortKey{"web": tcp(1), "shop": tcp(2)}
		cluster := rapid.Bool().Draw(t, "to the cluster's")
		var wanted Wanted
		for _, name := range names {
			wanted.Nodes = append(wanted.Nodes, node(name))
		}
		unknown := !cluster && rapid.Bool().Draw(t, "the needs of shop are not known")
		main := WantedGroup{For: OfNodes, Name: "ours", Delete: !cluster && !unknown, Replaced: !cluster}
		var s fakeNeutron
		s.Groups = []Group{groupWith(), groupFor("web", tcp(1)), groupFor("shop", tcp(2))}
		for _, uid := range []string{"shop", "web"} {
			own := wantedOwn(uid, services[uid])
			if main.Rules = append(main.Rules, own.Rules...); cluster {
				own = deleted(uid, true)
			}
			if !unknown || uid != "shop" {
				wanted.Groups = append(wanted.Groups, own)
			}
		}
		if slices.SortFunc(main.Rules, compareRules); cluster {
			s.Groups[0].Rules = groupWith(rapid.SliceOfDistinct(rapid.SampledFrom(main.Rules), func(r Rule) Rule { return r }).Draw(t, "rules")...).Rules
		} else {
			s.Groups[0].Rules = groupWith(main.Rules...).Rules
			s.Groups[1].Rules = s.Groups[1].Rules[:rapid.IntRange(0, 1).Draw(t, "rules")]
		}
		if unknown {
			main.Rules, main.Keep, main.Stays, main.Only = nil, []PortKey{services["shop"]}, true, []string{}
		}
		wanted.Groups = append(wanted.Groups, main)
		for _, name := range names {
			p := port(name, "default")
			for _, g := range s.Groups {
				if rapid.Bool().Draw(t, "bears "+g.ID) {
					p.Groups = append(p.Groups, g.ID)
				}
			}
			s.Ports = append(s.Ports, p)
		}
		for round := range 10 {
			for _, op := range Diff(wanted, s.Observed) {
				if round < 4 && rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
					continue // the following ops are carried out nevertheless
				}
				was := s.Observed
				if err := s.apply(op); err != nil {
					t.Fatalf("%s: %v", op, err)
				}
				for _, n := range wanted.Nodes {
					for uid, key := range services {
						if r := rule(key, nodeNet); allows(was, n, r) && !allows(s.Observed, n, r) {
							t.Fatalf("%s shut %s out of node %s", op, uid, n.Name)
						}
					}
				}
			}
		}
		groups := 2
		switch {
		case cluster:
			groups = 1
		case unknown:
			groups = 3
		}
		if ops := Diff(wanted, s.Observed); len(ops) > 0 || len(s.Groups) != groups || unknown && len(s.Groups[0].Rules) != 1 {
			t.Fatalf("in the end there are %+v, and left to do is %v", s.Groups, texts(ops))
		}
	})
}
