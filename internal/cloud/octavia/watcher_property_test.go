// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// event is something that happens to a load balancer or to calls.
type event struct {
	What  string
	ID    string
	After time.Duration
}

var events = rapid.Custom(func(t *rapid.T) event {
	return event{
		What: rapid.SampledFrom([]string{
			"watch", "watch", "watch deletion", "forget", "pending", "active", "error", "vanish", "port vanishes", "unlisted",
			"fail", "fail lists", "fail ports", "recover",
		}).Draw(t, "what"),
		ID:    rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "id"),
		After: time.Duration(rapid.IntRange(0, 3000).Draw(t, "after")) * time.Millisecond,
	}
})

// happen makes the event happen.
func (s *fakeCloud) happen(e event) {
	switch e.What {
	case "watch":
		s.Watch(e.ID)
	case "watch deletion":
		s.WatchDeletion(e.ID, "port-"+e.ID)
	case "forget":
		s.Forget(e.ID)
	case "pending":
		s.become(lb.PendingUpdate, e.ID)
	case "active":
		s.become(lb.Active, e.ID)
	case "error":
		s.become(lb.Error, e.ID)
	case "vanish":
		s.set("", e.ID)
	case "port vanishes":
		s.mu.Lock()
		s.ports = slices.DeleteFunc(slices.Clone(s.ports), func(port string) bool { return port == "port-"+e.ID })
		delete(s.unlisted, e.ID)
		s.mu.Unlock()
	case "unlisted":
		// A list may lack an existing load balancer only as long as Neutron shows its port.
		s.mu.Lock()
		s.unlisted[e.ID] = slices.Contains(s.ports, "port-"+e.ID)
		s.mu.Unlock()
	case "fail":
		s.fail(e.ID)
	case "fail lists":
		s.fail("list")
	case "fail ports":
		s.fail("ports")
	case "recover":
		s.fail()
	}
}

// become sets the status, unless the load balancer is gone: an id is never reused.
func (s *fakeCloud) become(status lb.ProvisioningStatus, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status[id] != "" {
		s.status[id] = status
	}
}

// TestEachWatchEndsOnceWithTheRightStatus checks the guarantees of the Watcher with random
// sequences of events.
func TestEachWatchEndsOnceWithTheRightStatus(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		course := rapid.SliceOfN(events, 1, 40).Draw(rt, "events")
		var wrong []string
		watch(t, func(s *fakeCloud) { wrong = follow(s, course) })
		if len(wrong) > 0 {
			rt.Fatal(wrong)
		}
	})
}

// follow makes the events happen, waits until nothing is PENDING, and returns what the Watcher did
// wrong.
func follow(s *fakeCloud, course []event) (wrong []string) {
	all := []string{"a", "b", "c", "d", "e"}
	watching, port := map[string]bool{}, map[string]bool{}
	s.set(lb.PendingCreate, all...)
	for _, id := range all {
		s.ports = append(s.ports, "port-"+id)
	}
	s.changed = func(h octavia.Head) {
		s.mu.Lock()
		defer s.mu.Unlock()
		note := func(what string) { wrong = append(wrong, fmt.Sprintf("%+v: %s", h, what)) }
		if !watching[h.ID] {
			note("told without a watch")
		}
		if h.Gone != (s.status[h.ID] == "") || !h.Gone && h.ProvisioningStatus != s.status[h.ID] {
			note("it is in " + string(s.status[h.ID]))
		}
		if h.ProvisioningStatus.Pending() {
			note("told although it is not settled")
		}
		if h.Gone && port[h.ID] && slices.Contains(s.ports, "port-"+h.ID) {
			note("told although its port is there")
		}
		watching[h.ID], port[h.ID] = false, false
	}
	for _, e := range course {
		s.mu.Lock()
		switch e.What {
		case "watch":
			watching[e.ID] = true
		case "watch deletion":
			watching[e.ID], port[e.ID] = true, true
		case "forget":
			watching[e.ID], port[e.ID] = false, false
		}
		s.mu.Unlock()
		s.happen(e)
		s.advance(e.After)
	}
	s.fail()
	s.mu.Lock()
	s.unlisted, s.ports = map[string]bool{}, nil
	s.mu.Unlock()
	for i, id := range all {
		s.become([]lb.ProvisioningStatus{lb.Active, lb.Error, ""}[i%3], id)
	}
	s.advance(11 * time.Second)
	for _, id := range all {
		if watching[id] {
			wrong = append(wrong, "not told of "+id)
		}
	}
	if left := s.Pending(); len(left) > 0 {
		wrong = append(wrong, fmt.Sprint("still watched: ", left))
	}
	return wrong
}
