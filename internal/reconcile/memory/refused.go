// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package memory

import (
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// RefusedMembers are the members because of which Octavia refused a request with all its members. They are left out for
// a while. The maps are replaced, never changed in place.
type RefusedMembers struct {
	// Single are the members that are known, or most likely, to be the refused ones.
	Single map[lb.MemberKey]RefusedMember
	// Suspects are members that have to wait until it is known which new member is refused: one of them, or one of the
	// others.
	Suspects map[lb.MemberKey]bool
	// Guesses are those of Single that were found by trying, since Octavia last accepted members. Until the time
	// Unclear, nothing is tried, because Octavia refused one member after the other: then a single member is not the
	// reason.
	Guesses []lb.MemberKey
	Unclear time.Time
	// Again is whether the pass should be decided once more, without these members.
	Again bool
}

// RefusedMember is one member that Octavia refused.
type RefusedMember struct {
	// Name is its name, Message what Octavia said.
	Name, Message string
	// Tries says when it is tried again.
	Tries timing.Tries
}

// LeftOut returns the members to leave out at the time now, with what Octavia said about each; for suspects that is "".
func (r RefusedMembers) LeftOut(now time.Time) map[lb.MemberKey]string {
	if len(r.Single)+len(r.Suspects) == 0 {
		return nil
	}
	out := map[lb.MemberKey]string{}
	for key := range r.Suspects {
		out[key] = ""
	}
	for key, m := range r.Single {
		if m.Tries.Wait(now) > 0 {
			out[key] = m.Message
		}
	}
	return out
}

// NextTry returns how long to wait before a member is tried again, or 0 if none waits.
func (r RefusedMembers) NextTry(now time.Time) time.Duration {
	var next time.Duration
	for _, m := range r.Single {
		if wait := m.Tries.Wait(now); wait > 0 && (next == 0 || wait < next) {
			next = wait
		}
	}
	return next
}

// With returns the members with one more that was refused. Members that were due for longer than the longest wait of b,
// but were not tried, are not wanted any more, and are forgotten.
func (r RefusedMembers) With(m lb.Member, message string, now time.Time, b timing.Backoff) RefusedMembers {
	single := maps.Clone(r.Single)
	if single == nil {
		single = map[lb.MemberKey]RefusedMember{}
	}
	maps.DeleteFunc(single, func(_ lb.MemberKey, other RefusedMember) bool { return now.Sub(other.Tries.Next) > b.Last })
	single[m.Key()] = RefusedMember{Name: m.Name, Message: message, Tries: single[m.Key()].Tries.Again(now, b)}
	r.Single = single
	return r
}

// Accepted returns what remains after Octavia accepted members.
func (r RefusedMembers) Accepted(members []lb.Member) RefusedMembers {
	single := maps.Clone(r.Single)
	for _, m := range members {
		delete(single, m.Key())
	}
	return RefusedMembers{Single: single}
}

// WithoutGuesses returns the members without those that were found by trying. Nothing more is tried until the given
// time.
func (r RefusedMembers) WithoutGuesses(until time.Time) RefusedMembers {
	single := maps.Clone(r.Single)
	maps.DeleteFunc(single, func(key lb.MemberKey, _ RefusedMember) bool { return slices.Contains(r.Guesses, key) })
	return RefusedMembers{Single: single, Unclear: until}
}
