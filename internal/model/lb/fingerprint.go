// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

import (
	"encoding/json"
	"hash/maphash"
	"slices"
)

// Fingerprint identifies a wanted state within one process. It is remembered in place of the state itself, which would
// consist mostly of members. The zero value identifies no state.
type Fingerprint struct {
	members, rest uint64
}

// seed is different in each process.
var seed = maphash.MakeSeed()

// Fingerprint returns the fingerprint of the wanted state. Different states have different fingerprints, except with a
// probability of 1 in 2^64.
func (w Wanted) Fingerprint() Fingerprint {
	var members maphash.Hash
	members.SetSeed(seed)
	if w.LoadBalancer != nil {
		l := *w.LoadBalancer
		l.Listeners = slices.Clone(l.Listeners)
		for i := range l.Listeners {
			if l.Listeners[i].Pool == nil {
				continue
			}
			pool := *l.Listeners[i].Pool
			maphash.WriteComparable(&members, len(pool.Members))
			for _, m := range pool.Members {
				maphash.WriteComparable(&members, m)
			}
			pool.Members, l.Listeners[i].Pool = nil, &pool
		}
		w.LoadBalancer = &l
	}
	rest, err := json.Marshal(w)
	if err != nil {
		return Fingerprint{} // cannot happen: all of it is plain data
	}
	return Fingerprint{members.Sum64(), maphash.Bytes(seed, rest)}
}

// None reports whether it identifies no state.
func (f Fingerprint) None() bool { return f == Fingerprint{} }

// EqualExceptMembers reports whether the states differ at most in the members of pools.
func (f Fingerprint) EqualExceptMembers(other Fingerprint) bool { return f.rest == other.rest }
