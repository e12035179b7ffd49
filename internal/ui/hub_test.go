// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-octavia/kube-octavia/internal/operate/topology"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// reading is a Source that tells when it begins and ends, and publishes what it is given.
type reading struct {
	began, ended chan struct{}
	topologies   chan topology.Topology
}

func (r reading) Watch(ctx context.Context, publish func(topology.Topology)) {
	r.began <- struct{}{}
	for {
		select {
		case <-ctx.Done():
			r.ended <- struct{}{}
			return
		case t := <-r.topologies:
			publish(t)
		}
	}
}

func named(names ...string) topology.Topology {
	var t topology.Topology
	for _, n := range names {
		t.Services = append(t.Services, topology.Service{Key: n})
	}
	return t
}

func TestTopologyIsReadOnceForAllViewersAndAgainAfterAPause(t *testing.T) {
	r := reading{make(chan struct{}), make(chan struct{}), make(chan topology.Topology)}
	h := newHub(t.Context(), r)
	leaveFirst := h.join()
	<-r.began
	leaveSecond := h.join()
	_, next := h.current()
	r.topologies <- named("a")
	<-next
	if last, _ := h.current(); len(last.order) != 1 {
		t.Errorf("%v", last.order)
	}
	leaveFirst()
	leaveFirst() // counts once
	h.rest()
	if h.cancel == nil {
		t.Error("it rests although there is a viewer")
	}
	leaveSecond()
	h.rest()
	<-r.ended
	if last, _ := h.current(); last != nil {
		t.Error("what was read before the rest is still shown")
	}
	leave := h.join()
	<-r.began
	leave()
	go h.close()
	<-r.ended
	h.close()
}

func TestChangeHasOnlyTheServicesThatDiffer(t *testing.T) {
	shot := func(t *testing.T, edit func(*topology.Topology), names ...string) *snapshot {
		t.Helper()
		all := named(names...)
		if edit != nil {
			edit(&all)
		}
		s, err := newSnapshot(all, topology.History{})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	before := shot(t, nil, "a", "b", "c")
	after := shot(t, func(all *topology.Topology) { all.Services[1].State = topology.Failed }, "a", "b", "d")
	keys := func(c change) (all []string) {
		for _, text := range c.Services {
			var s topology.Service
			if err := json.Unmarshal(text, &s); err != nil {
				t.Fatal(err)
			}
			all = append(all, s.Key)
		}
		return all
	}
	c := after.since(before)
	if diff := cmp.Diff([]string{"b", "d"}, keys(c)) + cmp.Diff([]string{"c"}, c.Removed); diff != "" || c.Whole {
		t.Errorf("whole %t (-want +got):\n%s", c.Whole, diff)
	}
	if whole := after.since(nil); !whole.Whole || fmt.Sprint(keys(whole)) != "[a b d]" {
		t.Errorf("%+v", whole)
	}
	if !after.equal(after) || after.equal(before) || after.equal(nil) {
		t.Error("equal is wrong")
	}
}

func TestOnlyMissingChangesAreSentAlsoAfterAPause(t *testing.T) {
	r := reading{make(chan struct{}), make(chan struct{}), make(chan topology.Topology)}
	h := newHub(t.Context(), r)
	read := func(names ...string) *snapshot {
		all := named(names...)
		all.ReadAt, all.ServicesAt = time.Unix(1, 0), time.Unix(1, 0)
		_, next := h.current()
		r.topologies <- all
		<-next
		last, _ := h.current()
		return last
	}
	services := func(c change) (all []string) {
		for _, x := range c.Changes {
			all = append(all, x.Service)
		}
		return all
	}
	leave := h.join()
	<-r.began
	first := read("a")
	second := read("a", "b")
	third := read("a", "b", "c")
	leave()
	h.rest()
	<-r.ended
	leave = h.join()
	<-r.began
	fourth := read("a", "b", "c", "d")
	leave()
	go h.close()
	<-r.ended
	h.close()
	for name, c := range map[string]struct {
		sent change
		want []string
	}{
		"a new page at the start":             {first.since(nil), nil},
		"a page that has the first topology":  {third.since(first), []string{"b", "c"}},
		"a page that has the second topology": {third.since(second), []string{"c"}},
		"a page that has the last topology":   {third.since(third), nil},
		"a new page after a rest":             {fourth.since(nil), []string{"b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, services(c.sent)); diff != "" || c.sent.ChangesSince.IsZero() {
				t.Errorf("since %v (-want +got):\n%s", c.sent.ChangesSince, diff)
			}
		})
	}
}
