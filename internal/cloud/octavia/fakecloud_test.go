// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/cloud/polling"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// firstPoll is the time of the first poll of an idle Watcher.
const firstPoll = 250 * time.Millisecond

// fakeCloud is the cloud of a Watcher, and the Watcher itself, in a synctest bubble.
type fakeCloud struct {
	*octavia.Watcher
	t     *testing.T
	stop  func()
	ended func() bool

	mu       sync.Mutex
	status   map[string]lb.ProvisioningStatus // "" or absent: it does not exist
	unlisted map[string]bool
	ports    []string
	persons  []string // ports that a user created
	takes    time.Duration
	failing  []string // "list", "ports", or ids of load balancers
	held     chan struct{}
	calls    []call
	heads    []octavia.Head // of calls of Changed
	changed  func(octavia.Head)
	lines    []string
}

// call is one call of a Watcher: "list", "get" or "ports".
type call struct {
	kind string
	at   time.Time
}

// watch runs a test with a Watcher.
func watch(t *testing.T, test func(*fakeCloud)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &fakeCloud{t: t, status: map[string]lb.ProvisioningStatus{}, unlisted: map[string]bool{}}
		s.Watcher = octavia.NewWatcher(octavia.WatcherOptions{
			List: s.list, Get: s.get, ExistingPorts: s.existingPorts, Changed: s.onChanged,
			Logger: funcr.New(s.log, funcr.Options{}),
		})
		ctx, stop := context.WithCancel(t.Context())
		s.stop = stop
		done := make(chan error, 1)
		var result error
		s.ended = func() bool {
			select {
			case result = <-done:
				return true
			default:
				return false
			}
		}
		go func() { done <- s.Run(ctx) }()
		test(s)
		stop()
		synctest.Wait()
		if s.ended(); result != nil {
			t.Errorf("Run ends with %v", result)
		}
	})
}

// Watch watches a load balancer that another client has changed.
func (s *fakeCloud) Watch(id string) { s.Watcher.Watch(id, polling.Operation{}) }

// WatchDeletion is Watch for a deletion.
func (s *fakeCloud) WatchDeletion(id, portID string) {
	s.Watcher.WatchDeletion(id, portID, polling.Operation{})
}

// update begins a change of the load balancers with this duration.
func (s *fakeCloud) update(takes time.Duration, ids ...string) {
	s.set(lb.PendingUpdate, ids...)
	for _, id := range ids {
		s.Watcher.Watch(id, polling.Operation{Provider: "amphora", Name: "SetMembers"})
	}
	time.AfterFunc(takes, func() { s.set(lb.Active, ids...) }) // in fake time
}

// advance advances the fake time.
func (s *fakeCloud) advance(d time.Duration) {
	time.Sleep(d) // no time passes outside the bubble
	synctest.Wait()
}

// nextPoll advances the fake time until the Watcher has polled, and clears earlier calls.
func (s *fakeCloud) nextPoll() {
	s.t.Helper()
	s.forgetCalls()
	for range 6000 {
		s.advance(time.Millisecond)
		if s.count("") > 0 {
			return
		}
	}
	s.t.Fatal("no look within 6 s")
}

func (s *fakeCloud) set(status lb.ProvisioningStatus, ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.status[id] = status
	}
}

func (s *fakeCloud) setPorts(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ports = ids
}

// fail makes only these calls fail.
func (s *fakeCloud) fail(what ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failing = what
}

// hold delays answers, which are already determined, until release is called.
func (s *fakeCloud) hold() (release func()) {
	held := make(chan struct{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
	return func() {
		s.mu.Lock()
		s.held = nil
		s.mu.Unlock()
		close(held)
	}
}

// called records a call and returns its error.
func (s *fakeCloud) called(kind, about string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call{kind, time.Now()})
	if slices.Contains(s.failing, about) {
		return errors.New(about + " is out of order")
	}
	return nil
}

func (s *fakeCloud) wait(ctx context.Context) error {
	s.mu.Lock()
	held := s.held
	s.mu.Unlock()
	time.Sleep(s.takes) // in fake time
	if held == nil {
		return nil
	}
	select {
	case <-held:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *fakeCloud) list(ctx context.Context) ([]octavia.Head, error) {
	if err := s.called("list", "list"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	var heads []octavia.Head
	for id, status := range s.status {
		if status != "" && !s.unlisted[id] {
			heads = append(heads, octavia.Head{ID: id, ProvisioningStatus: status})
		}
	}
	s.mu.Unlock()
	return heads, s.wait(ctx)
}

func (s *fakeCloud) get(ctx context.Context, id string) (octavia.Head, error) {
	if err := s.called("get", id); err != nil {
		return octavia.Head{}, err
	}
	s.mu.Lock()
	status := s.status[id]
	s.mu.Unlock()
	if err := s.wait(ctx); err != nil {
		return octavia.Head{}, err
	}
	if status == "" {
		return octavia.Head{}, &openstack.Error{Class: openstack.Gone, Message: "not found"}
	}
	return octavia.Head{ID: id, ProvisioningStatus: status}, nil
}

func (s *fakeCloud) existingPorts(_ context.Context, ids []string) (map[string]bool, error) {
	if err := s.called("ports", "ports"); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	existing := map[string]bool{}
	for _, id := range ids {
		if byOctavia := slices.Contains(s.ports, id); byOctavia || slices.Contains(s.persons, id) {
			existing[id] = byOctavia
		}
	}
	return existing, nil
}

func (s *fakeCloud) onChanged(id string, head octavia.Head) {
	if id != head.ID {
		s.t.Errorf("told of %s with %+v", id, head)
	}
	s.mu.Lock()
	s.heads = append(s.heads, head)
	changed := s.changed
	s.mu.Unlock()
	if changed != nil {
		changed(head)
	}
}

func (s *fakeCloud) log(_, args string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, args)
}

func (s *fakeCloud) logged() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.lines)
}

// count returns the number of calls of the kind; "" means any.
func (s *fakeCloud) count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, a := range s.calls {
		if kind == "" || a.kind == kind {
			n++
		}
	}
	return n
}

// wantCalls checks and clears the calls.
func (s *fakeCloud) wantCalls(lists, gets, ports int) {
	s.t.Helper()
	want := map[string]int{"list": lists, "get": gets, "ports": ports}
	got := map[string]int{}
	for kind := range want {
		got[kind] = s.count(kind)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Errorf("questions (-want +got):\n%s", diff)
	}
	s.forgetCalls()
}

func (s *fakeCloud) forgetCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = nil
}

// wantInterval checks the intervals of polls, of which there must be many.
func (s *fakeCloud) wantInterval(least, most time.Duration) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) < 10 {
		s.t.Fatalf("only %d looks", len(s.calls))
	}
	for i := range s.calls[1:] {
		if d := s.calls[i+1].at.Sub(s.calls[i].at); d < least || d > most {
			s.t.Fatalf("looks %d and %d are %v apart, want %v to %v", i, i+1, d, least, most)
		}
	}
}

// wantChanged checks and clears the calls of Changed, in any order.
func (s *fakeCloud) wantChanged(want ...octavia.Head) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	key := func(h octavia.Head) string { return fmt.Sprint(h.ID, h.ProvisioningStatus, h.Gone) }
	order := func(a, b octavia.Head) int { return strings.Compare(key(a), key(b)) }
	got := slices.SortedFunc(slices.Values(s.heads), order)
	want = slices.SortedFunc(slices.Values(want), order)
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		s.t.Errorf("told (-want +got):\n%s", diff)
	}
	s.heads = nil
}
