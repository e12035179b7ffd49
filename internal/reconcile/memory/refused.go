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

// RefusedMembers are the members that Octavia refused, and with them all others of the request. They are left out for a while.
// The maps are replaced, never changed in place.
type RefusedMembers struct {
	// Single are the members of which it is known, or most likely, that they are refused.
	Single map[lb.MemberKey]RefusedMember
	// Suspects are members that wait while it is found out which one of them, or of the others, is refused.
	Suspects map[lb.MemberKey]bool
	// Guesses are those of Single that were found by trying, since Octavia last accepted members. Unclear is until when
	// nothing is tried, because Octavia refused one after the other: then the reason is not in a member.
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

// LeftOut returns the members to leave out at a time, with what Octavia said, or "" for suspects.
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

// With returns the members with one more that was refused. Those that were due for longer than the longest wait, and not
// tried, are wanted no more, and forgotten.
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

// WithoutGuesses returns the members without those that were found by trying, and tries nothing until a time.
func (r RefusedMembers) WithoutGuesses(until time.Time) RefusedMembers {
	single := maps.Clone(r.Single)
	maps.DeleteFunc(single, func(key lb.MemberKey, _ RefusedMember) bool { return slices.Contains(r.Guesses, key) })
	return RefusedMembers{Single: single, Unclear: until}
}
