// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// inZones returns so many nodes, in turn of each of the zones.
func inZones(nodes int, zones ...string) (all []Target) {
	for i := range nodes {
		all = append(all, Target{Node: fmt.Sprintf("node-%04d", i), Zone: zones[i%len(zones)]})
	}
	return all
}

func names(targets []Target) (all []string) {
	for _, t := range targets {
		all = append(all, t.Node)
	}
	return all
}

func perZone(targets []Target) map[string]int {
	count := map[string]int{}
	for _, t := range targets {
		count[t.Zone]++
	}
	return count
}

// changes counts the nodes that were added to a subset and removed from it.
func changes(before, after []Target) (added, removed int) {
	for _, n := range names(after) {
		if !slices.Contains(names(before), n) {
			added++
		}
	}
	return added, len(before) + added - len(after)
}

// A new version that chose other nodes would change the members of all load balancers at once.
func TestTheChoiceOfNodesNeverChanges(t *testing.T) {
	for seed, want := range map[string][]string{
		"8f0c4f4e-7d0f-4b3e-9c55-0d3f6b5a1c11": {"node-0000", "node-0001", "node-0007", "node-0008"},
		"3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04": {"node-0001", "node-0002", "node-0005", "node-0006"},
	} {
		if diff := cmp.Diff(want, names(Subset{4, seed}.Of(inZones(12, "a", "b", "c")))); diff != "" {
			t.Errorf("seed %s (-want +got):\n%s", seed, diff)
		}
	}
}

func TestASubsetIsSpreadOverTheZones(t *testing.T) {
	lopsided := append(inZones(9, "a", "a", "b"), Target{Node: "only", Zone: "c"})
	for name, c := range map[string]struct {
		targets []Target
		most    int
		want    map[string]int
	}{
		"all nodes":                         {inZones(9, "a", "b", "c"), 0, map[string]int{"a": 3, "b": 3, "c": 3}},
		"more than there are":               {inZones(9, "a", "b", "c"), 10, map[string]int{"a": 3, "b": 3, "c": 3}},
		"as many from each zone":            {inZones(9, "a", "b", "c"), 6, map[string]int{"a": 2, "b": 2, "c": 2}},
		"zones of different sizes":          {lopsided, 3, map[string]int{"a": 1, "b": 1, "c": 1}},
		"a zone with fewer than its part":   {lopsided, 7, map[string]int{"a": 3, "b": 3, "c": 1}},
		"two zones with fewer":              {lopsided, 9, map[string]int{"a": 5, "b": 3, "c": 1}},
		"no zones":                          {inZones(9, ""), 4, map[string]int{"": 4}},
		"a node whose zone is not known":    {inZones(9, "a", "b", ""), 6, map[string]int{"a": 3, "b": 3}},
		"nodes with a zone are too few":     {inZones(9, "a", "b", ""), 8, map[string]int{"a": 3, "b": 3, "": 2}},
		"no node":                           {nil, 4, map[string]int{}},
		"a number that cannot be requested": {inZones(2, "a"), -1, map[string]int{"a": 2}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, perZone(Subset{c.most, "seed"}.Of(c.targets))); diff != "" {
				t.Errorf("nodes per zone (-want +got):\n%s", diff)
			}
		})
	}
}

// anyTargets draws nodes in up to four zones, some in none.
func anyTargets(t *rapid.T) []Target {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) Target {
		return Target{Node: fmt.Sprint("n", rapid.IntRange(0, 99).Draw(t, "node")), Zone: rapid.SampledFrom([]string{"", "a", "b", "c", "d"}).Draw(t, "zone")}
	}), 0, 30, func(t Target) string { return t.Node }).Draw(t, "nodes")
}

func anySubset(t *rapid.T) Subset {
	return Subset{Most: rapid.IntRange(1, 12).Draw(t, "most"), Seed: rapid.StringMatching(`[0-9a-f]{4}`).Draw(t, "seed")}
}

func TestASubsetHasAsManyNodesAsRequestedEvenlyFromEachZone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets, s := anyTargets(t), anySubset(t)
		chosen := s.Of(targets)
		if want := min(s.Most, len(targets)); len(chosen) != want {
			t.Fatalf("%d nodes, want %d", len(chosen), want)
		}
		all, some := perZone(targets), perZone(chosen)
		for zone, count := range all {
			unzonedFirst := some[""] > 0 && zone != "" && some[zone] < count
			for other := range some {
				// A zone with fewer nodes than another one has no more to give.
				if zone != "" && other != "" && some[zone]+1 < some[other] && some[zone] < count || unzonedFirst {
					t.Fatalf("of nodes per zone %v, these are chosen: %v", all, some)
				}
			}
		}
	})
}

func TestASubsetDoesNotDependOnTheOrderOfTheNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets, s := anyTargets(t), anySubset(t)
		before := slices.Clone(targets)
		want := slices.Sorted(slices.Values(names(s.Of(targets))))
		if diff := cmp.Diff(before, targets, cmp.AllowUnexported(Target{}), cmp.Comparer(func(a, b Target) bool { return a == b })); diff != "" {
			t.Fatalf("the nodes that were given have changed:\n%s", diff)
		}
		shuffled := rapid.Permutation(targets).Draw(t, "shuffled")
		if got := slices.Sorted(slices.Values(names(s.Of(shuffled)))); !slices.Equal(want, got) {
			t.Fatalf("%v, and in another order %v", want, got)
		}
	})
}

func TestANodeThatJoinsOrLeavesChangesAtMostOneOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		targets, s := anyTargets(t), anySubset(t)
		if len(targets) == 0 {
			return
		}
		at := rapid.IntRange(0, len(targets)-1).Draw(t, "joins")
		before := s.Of(slices.Delete(slices.Clone(targets), at, at+1))
		after := s.Of(targets)
		if added, removed := changes(before, after); added > 1 || removed > 1 || added == 1 && !slices.Contains(names(after), targets[at].Node) {
			t.Fatalf("when %s joins, %v become %v", targets[at].Node, names(before), names(after))
		}
	})
}

func TestOneNodeOfAThousandConcernsFewOfManyLoadBalancers(t *testing.T) {
	const nodes, services, most, joining = 1000, 500, 20, 30
	all := inZones(nodes+joining, "a", "b", "c")
	joined := 0
	members := map[string]int{}
	for i := range services {
		s := Subset{most, fmt.Sprint("service-", i)}
		before := s.Of(all[:nodes])
		for _, name := range names(before) {
			members[name]++
		}
		added, _ := changes(before, s.Of(all))
		joined += added
	}
	// A node joins most/nodes of the load balancers, more or less by chance; so many nodes show the share.
	if limit := joining * services * most * 12 / 10 / nodes; joined > limit {
		t.Errorf("%d nodes that joined are members of %d load balancers, want at most %d", joining, joined, limit)
	}
	// With 10 Services a node on average, one that has 35 would be overloaded.
	if busiest := slices.Max(slices.Collect(maps.Values(members))); busiest > 35 {
		t.Errorf("one node is a member of %d load balancers, of %d on average", busiest, services*most/nodes)
	}
}

func BenchmarkSubsetOfAThousandNodes(b *testing.B) {
	all := inZones(1000, "a", "b", "c")
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for b.Loop() {
		Subset{20, "8f0c4f4e-7d0f-4b3e-9c55-0d3f6b5a1c11"}.Of(all)
	}
}
