// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

// snapshot is a topology as JSON, in parts, one for each Service and one for the rest, with the changes before it. It
// is immutable.
type snapshot struct {
	rest     json.RawMessage
	services map[string]json.RawMessage
	// order has the keys of the Services.
	order   []string
	history topology.History
}

func newSnapshot(t topology.Topology, history topology.History) (*snapshot, error) {
	s := &snapshot{services: map[string]json.RawMessage{}, order: []string{}, history: history}
	for _, service := range t.Services {
		text, err := json.Marshal(service)
		if err != nil {
			return nil, err
		}
		s.services[service.Key], s.order = text, append(s.order, service.Key)
	}
	t.Services = []topology.Service{}
	rest, err := json.Marshal(t)
	s.rest = rest
	return s, err
}

// equal reports whether nothing has changed since the other snapshot, which may be nil.
func (s *snapshot) equal(other *snapshot) bool {
	return other != nil && s.lastChange() == other.lastChange() && bytes.Equal(s.rest, other.rest) && maps.EqualFunc(s.services, other.services, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// lastChange returns the number of the last change, or 0 if there is none.
func (s *snapshot) lastChange() int {
	if n := len(s.history.Changes); n > 0 {
		return s.history.Changes[n-1].Number
	}
	return 0
}

// change is what a page must change to show a snapshot.
type change struct {
	// Whole is whether Services has all Services, not only the changed ones.
	Whole    bool              `json:"whole"`
	Topology json.RawMessage   `json:"topology"`
	Services []json.RawMessage `json:"services"`
	// Removed has the keys of Services that no longer exist.
	Removed []string `json:"removed"`
	// Changes are the changes of the history that the page lacks, the oldest first. Of the changes since ChangesSince,
	// the page keeps MostChanges.
	Changes      []topology.Change `json:"changes"`
	ChangesSince time.Time         `json:"changesSince"`
	MostChanges  int               `json:"mostChanges"`
}

// since returns what has changed since the other snapshot, or everything if that is nil.
func (s *snapshot) since(other *snapshot) change {
	c := change{
		Whole: other == nil, Topology: s.rest, Services: []json.RawMessage{}, Removed: []string{},
		Changes: []topology.Change{}, ChangesSince: s.history.Since, MostChanges: topology.MostChanges,
	}
	for _, x := range s.history.Changes {
		if other == nil || x.Number > other.lastChange() {
			c.Changes = append(c.Changes, x)
		}
	}
	for _, key := range s.order {
		if other == nil || !bytes.Equal(other.services[key], s.services[key]) {
			c.Services = append(c.Services, s.services[key])
		}
	}
	if other != nil {
		for _, key := range other.order {
			if !slices.Contains(s.order, key) {
				c.Removed = append(c.Removed, key)
			}
		}
	}
	return c
}
