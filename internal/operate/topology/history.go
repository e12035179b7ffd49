// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package topology

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of a History.
const (
	// MostChanges is the number of changes that it keeps, the newest ones.
	MostChanges = 500
	// longestText is the maximum length of the text of a change, in characters.
	longestText = 400
)

// Change is a difference between two consecutive topologies.
type Change struct {
	// Number is the number of the change, counted from 1 without gaps.
	Number int `json:"number"`
	// After is when the earlier topology was read, and At when the later one was available: the change happened
	// in between.
	After time.Time `json:"after"`
	At    time.Time `json:"at"`
	// Service is the key of the Service, or "" for Kubernetes or OpenStack as a whole.
	Service string `json:"service"`
	// State is the state afterwards.
	State State  `json:"state"`
	Text  string `json:"text"`
}

// History has the changes between consecutive topologies. It is immutable: Observe returns another one.
type History struct {
	// Since is when the first topology with all Services was observed; zero before that.
	Since time.Time
	// Changes are the newest ones, the oldest first.
	Changes []Change
	// services has the last known state of the Services, by key, and problems the last known problems, by
	// source.
	services map[string]Service
	problems map[string]Problem
	// problemsAt is when problems were observed.
	problemsAt time.Time
	// readAt is when the last observed topology was read.
	readAt time.Time
}

// Observe returns the history after another topology, which was available at the time now.
func (h History) Observe(t Topology, now time.Time) History {
	next := h
	next.Changes = slices.Clone(h.Changes)
	next.observeProblems(t, now)
	if !t.ReadAt.IsZero() && !t.ServicesAt.IsZero() {
		next.observeServices(t, now)
	}
	next.Changes = next.Changes[max(0, len(next.Changes)-MostChanges):]
	return next
}

// observeProblems records what cannot be read any more, and what can be read again.
func (h *History) observeProblems(t Topology, now time.Time) {
	before, beforeAt := h.problems, h.problemsAt
	h.problems, h.problemsAt = map[string]Problem{}, now
	for _, p := range t.Problems {
		h.problems[p.Of] = p
		if _, known := before[p.Of]; !known {
			h.add(Change{After: p.Since, At: now, State: Failed, Text: p.Of + " cannot be read: " + p.Message})
		}
	}
	for _, of := range slices.Sorted(maps.Keys(before)) {
		if _, still := h.problems[of]; !still {
			h.add(Change{After: beforeAt, At: now, State: OK, Text: of + " can be read again."})
		}
	}
}

// observeServices records how Services differ from their last known state. A Service that is Unknown keeps its last
// known state, because missing information is not a change. A Service about which nothing is known yet is Unknown in
// the history, too.
func (h *History) observeServices(t Topology, now time.Time) {
	before := h.services
	h.services = map[string]Service{}
	for _, s := range t.Services {
		was, known := before[s.Key]
		texts := []string{}
		switch {
		case !known && before != nil:
			texts = append(texts, "New Service.")
		case !known:
		case s.State == Unknown:
			s = was
		default:
			texts = differences(was, s)
		}
		h.services[s.Key] = s
		if len(texts) > 0 {
			h.add(Change{After: h.readAt, At: now, Service: s.Key, State: s.State, Text: strings.Join(texts, " ")})
		}
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if _, still := h.services[key]; !still {
			h.add(Change{After: h.readAt, At: now, Service: key, State: Unknown, Text: "Gone: it was deleted, or is not handled any more."})
		}
	}
	if h.Since.IsZero() {
		h.Since = now
	}
	h.readAt = t.ReadAt
}

// add numbers the change and truncates its text.
func (h *History) add(c Change) {
	c.Number = 1
	if n := len(h.Changes); n > 0 {
		c.Number = h.Changes[n-1].Number + 1
	}
	if text := []rune(c.Text); len(text) > longestText {
		c.Text = string(text[:longestText-1]) + "…"
	}
	h.Changes = append(h.Changes, c)
}

// differences describes the relevant changes of a Service.
func differences(a, b Service) (texts []string) {
	switch {
	case a.State == Unknown && b.State != Failed && b.State != Warning: // becoming known is not a change either
	case a.State != b.State && len(b.Reasons) > 0:
		texts = append(texts, fmt.Sprintf("%s, was %s: %s", b.State.label(), a.State.label(), b.Reasons[0]))
	case a.State != b.State:
		texts = append(texts, fmt.Sprintf("%s, was %s.", b.State.label(), a.State.label()))
	case (b.State == Failed || b.State == Warning) && len(a.Reasons) > 0 && len(b.Reasons) > 0 && withoutRequest(a.Reasons[0]) != withoutRequest(b.Reasons[0]):
		texts = append(texts, b.Reasons[0])
	}
	if !slices.Equal(a.Addresses, b.Addresses) {
		texts = append(texts, fmt.Sprintf("Address %s, was %s.", listed(b.Addresses), listed(a.Addresses)))
	}
	if !slices.Equal(a.Ports, b.Ports) {
		texts = append(texts, fmt.Sprintf("Ports %s, were %s.", listed(b.Ports), listed(a.Ports)))
	}
	switch was, is := a.LoadBalancer, b.LoadBalancer; {
	case was == nil && is == nil:
	case was == nil:
		texts = append(texts, fmt.Sprintf("Load balancer %s.", is.ID))
	case is == nil:
		texts = append(texts, fmt.Sprintf("Load balancer %s is gone.", was.ID))
	case was.ID != is.ID:
		texts = append(texts, fmt.Sprintf("Load balancer %s, was %s.", is.ID, was.ID))
	case was.MembersRead && is.MembersRead:
		texts = append(texts, memberDifferences(was, is, strings.Join(texts, " "))...)
	}
	return texts
}

// request matches the id of a call in an error message, which differs for each occurrence.
var request = regexp.MustCompile(` ?\(request [^)]*\)`)

func withoutRequest(reason string) string { return request.ReplaceAllString(reason, "") }

// memberDifferences describes the members that were added, removed, went down and came up again. A node that is a
// member of several pools is named only once, and one that is down is not named again if said contains its name as a
// word.
func memberDifferences(a, b *LoadBalancer, said string) (texts []string) {
	was, is := memberStates(a), memberStates(b)
	named := map[string]bool{}
	for _, word := range strings.Fields(said) {
		named[strings.TrimRight(word, ",.")] = true
	}
	var added, removed, down, up []string
	for _, name := range slices.Sorted(maps.Keys(is)) {
		before, known := was[name]
		switch {
		case !known:
			added = append(added, name)
		case before != Failed && is[name] == Failed && !named[name]:
			down = append(down, name)
		case before == Failed && is[name] == OK:
			up = append(up, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(was)) {
		if _, still := is[name]; !still {
			removed = append(removed, name)
		}
	}
	for _, group := range []struct {
		names []string
		what  string
	}{{down, "Down"}, {up, "Up again"}, {added, "New members"}, {removed, "Removed members"}} {
		if len(group.names) > 0 {
			texts = append(texts, fmt.Sprintf("%s: %s.", group.what, some(group.names)))
		}
	}
	return texts
}

// memberStates returns the states of members by name. A member that is down in any pool is Failed.
func memberStates(l *LoadBalancer) map[string]State {
	states := map[string]State{}
	for _, p := range l.Pools {
		for _, m := range p.Members {
			if states[m.display()] != Failed {
				states[m.display()] = m.State
			}
		}
	}
	return states
}

func listed(all []string) string {
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// label returns the state as the page writes it.
func (s State) label() string {
	if s == OK {
		return "OK"
	}
	return strings.ToUpper(string(s[:1])) + string(s[1:])
}
