// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
)

// Subset is a stable part of the nodes, so that a node that joins a large cluster becomes a member of few pools.
//
// Each node has a weight that only its name and the seed determine (rendezvous hashing), and the heaviest nodes of
// each zone are chosen, from each zone as many as from any other. So a node that joins or leaves changes at most one
// other node of the subset, whatever the order of the nodes.
type Subset struct {
	// Most is the number of nodes. There are fewer only if there are not that many; 0 means all.
	Most int
	// Seed makes subsets differ.
	Seed string
}

// Whose weight it is: nodes and zones may have the same names.
const (
	weightOfNode = "node/"
	weightOfZone = "zone/"
)

// place is where a node stands in the order in which nodes are chosen.
type place struct {
	index int
	// unzoned nodes come last. A node gets the label of its zone a moment after it joins: as a zone of its own it
	// would be in each subset until then.
	unzoned bool
	// rank is the number of heavier nodes in the zone, so that the first of each zone come before the second of any.
	rank       int
	zoneWeight uint64
	zone       string
}

// Of returns the chosen targets, in their order.
func (s Subset) Of(targets []Target) []Target {
	if s.Most <= 0 || len(targets) <= s.Most {
		return targets
	}
	zones := map[string][]int{} // to the indexes of its targets
	for i, t := range targets {
		zones[t.Zone] = append(zones[t.Zone], i)
	}
	weights := s.weights(targets)
	places := make([]place, 0, len(targets))
	for zone, indexes := range zones {
		slices.SortFunc(indexes, func(a, b int) int {
			return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(targets[a].Node, targets[b].Node), cmp.Compare(a, b))
		})
		zoneWeight := s.weight(weightOfZone, zone)
		for rank, i := range indexes {
			places = append(places, place{index: i, unzoned: zone == "", rank: rank, zoneWeight: zoneWeight, zone: zone})
		}
	}
	slices.SortFunc(places, comparePlaces)
	places = places[:s.Most]
	slices.SortFunc(places, func(a, b place) int { return a.index - b.index })
	chosen := make([]Target, len(places))
	for i, p := range places {
		chosen[i] = targets[p.index]
	}
	return chosen
}

func comparePlaces(a, b place) int {
	if a.unzoned != b.unzoned {
		if a.unzoned {
			return 1
		}
		return -1
	}
	return cmp.Or(a.rank-b.rank, cmp.Compare(b.zoneWeight, a.zoneWeight), cmp.Compare(a.zone, b.zone))
}

// weights returns the weight of each target's node.
func (s Subset) weights(targets []Target) []uint64 {
	all := make([]uint64, len(targets))
	for i, t := range targets {
		all[i] = s.weight(weightOfNode, t.Node)
	}
	return all
}

// weight returns a number that looks random and never changes, in any version: members depend on it.
func (s Subset) weight(of, name string) uint64 {
	var text [128]byte // is enough for a uid and most names, and not allocated
	sum := sha256.Sum256(append(append(append(append(text[:0], s.Seed...), '/'), of...), name...))
	return binary.BigEndian.Uint64(sum[:])
}
