// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"hash/maphash"
	"math"
	"net/netip"
)

// choose picks one of the members that take new clients, by the pool's algorithm. Backup members
// are considered only if no other member is up.
func (p *pool) choose(client netip.AddrPort, tried map[*member]bool) *member {
	candidates := p.candidates(false, tried)
	if len(candidates) == 0 {
		candidates = p.candidates(true, tried)
	}
	if len(candidates) == 0 {
		return nil
	}
	switch p.conf.Algorithm {
	case "LEAST_CONNECTIONS":
		return leastConnections(candidates)
	case "SOURCE_IP":
		return p.bySource(candidates, netip.AddrPortFrom(client.Addr(), 0))
	case "SOURCE_IP_PORT":
		return p.bySource(candidates, client)
	}
	return roundRobin(candidates)
}

// candidates returns the members in rotation, either the backups or the others.
func (p *pool) candidates(backup bool, tried map[*member]bool) []*member {
	var found []*member
	for _, m := range p.members {
		if m.reachable() && m.conf.Weight > 0 && m.conf.Backup == backup && !tried[m] {
			found = append(found, m)
		}
	}
	return found
}

// roundRobin is a smooth weighted round robin: in each round every member's credit grows by its
// weight, and the member with the most credit serves and loses the sum of all weights.
func roundRobin(members []*member) *member {
	var best *member
	total := 0
	for _, m := range members {
		m.credit += m.conf.Weight
		total += m.conf.Weight
		if best == nil || m.credit > best.credit {
			best = m
		}
	}
	best.credit -= total
	return best
}

// leastConnections picks the member with the fewest connections in proportion to its weight. Among
// equals it rotates.
func leastConnections(members []*member) *member {
	var least []*member
	for _, m := range members {
		switch {
		case len(least) == 0 || m.active*least[0].conf.Weight < least[0].active*m.conf.Weight:
			least = []*member{m}
		case m.active*least[0].conf.Weight == least[0].active*m.conf.Weight:
			least = append(least, m)
		}
	}
	return roundRobin(least)
}

// bySource picks by weighted rendezvous hashing: a client keeps its member as long as that member
// is in rotation, and only the clients of a removed member move.
func (p *pool) bySource(members []*member, client netip.AddrPort) *member {
	type key struct {
		client   netip.AddrPort
		endpoint netip.AddrPort
	}
	var best *member
	var bestScore float64
	for _, m := range members {
		h := maphash.Comparable(p.seed, key{client, m.endpoint})
		u := (float64(h>>11) + 0.5) / (1 << 53) // in (0,1)
		score := -float64(m.conf.Weight) / math.Log(u)
		if best == nil || score > bestScore {
			best, bestScore = m, score
		}
	}
	return best
}
