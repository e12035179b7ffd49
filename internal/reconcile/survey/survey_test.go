// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// surveyor is a Survey whose lists are answered when the test says so.
type surveyor struct {
	*Survey
	answer chan error

	mu    sync.Mutex // a timer of the Survey wakes Services too
	woken []string
}

func newSurveyor() *surveyor {
	s := &surveyor{answer: make(chan error)}
	s.Survey = New(Options{
		LoadBalancers: func(context.Context) ([]octavia.Listed, error) { return []octavia.Listed{listed(1, then)}, <-s.answer },
		FloatingIPs:   func(context.Context) ([]lb.FloatingIP, error) { return nil, nil },
		Enqueue:       s.wake,
		Logger:        logr.Discard(),
	})
	return s
}

func (s *surveyor) wake(key owner.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.woken = append(s.woken, key.Name)
}

// takeWoken returns for which Services a pass was requested since the last call, once all is quiet.
func (s *surveyor) takeWoken() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	woken := s.woken
	s.woken = nil
	slices.Sort(woken)
	return woken
}

func (s *surveyor) admit(name string, changed bool) (done func()) {
	return s.Admit(owner.ServiceKey("", name), func() bool { return changed })
}

// wantWoken checks for which Services a pass was requested since the last check.
func (s *surveyor) wantWoken(t *testing.T, want ...string) {
	t.Helper()
	if woken := s.takeWoken(); !slices.Equal(woken, want) {
		t.Errorf("passes were requested over %v, want %v", woken, want)
	}
}

func TestUnchangedServicesWaitForTheListsAndChangedOnesForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		for name, changed := range map[string]bool{"unchanged": false, "a": true, "b": true} {
			if s.admit(name, changed) != nil {
				t.Errorf("%s does not wait before the start", name)
			}
		}
		go s.Start(t.Context())
		s.wantWoken(t)
		time.Sleep(patience)
		s.wantWoken(t, "a", "b")
		a, b := s.admit("a", true), s.admit("b", true)
		if a == nil || b == nil {
			t.Fatal("changed Services wait for lists that hang")
		}
		for name, changed := range map[string]bool{"c": true, "d": true, "unchanged": false} {
			if s.admit(name, changed) != nil {
				t.Errorf("%s is read on its own while others are", name)
			}
		}
		a()
		a() // once is enough
		woken := s.takeWoken()
		if len(woken) != 1 {
			t.Fatalf("one Service was read, and passes were requested over %v", woken)
		}
		next := woken[0]
		if s.admit(next, true) == nil {
			t.Errorf("%s waits although there is room", next)
		}
		s.answer <- nil
		s.wantWoken(t, map[string]string{"c": "d", "d": "c"}[next], "unchanged")
		b()
		s.wantWoken(t)
		if _, err := s.Take(owner.ServiceKey("", "reader")).Get(t.Context(), "lb"); err != nil {
			t.Errorf("the snapshot: %v", err)
		}
		if s.Take(owner.ServiceKey("", "reader")) != nil {
			t.Error("a Service uses the lists a second time")
		}
	})
}

func TestServiceThatChangesLaterIsReadAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		go s.Start(t.Context())
		time.Sleep(patience)
		synctest.Wait()
		if s.admit("a", true) == nil || s.admit("b", true) == nil || s.admit("c", true) != nil {
			t.Error("not exactly two Services are read on their own")
		}
		s.answer <- nil
		synctest.Wait()
	})
}

func TestTheListsAreFreedWhenNoServiceWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		s.Drop()
		s.admit("a", false)
		s.admit("gone", false)
		go s.Start(t.Context())
		s.answer <- nil
		synctest.Wait()
		s.Drop()
		if s.Take(owner.ServiceKey("", "waits")) == nil {
			t.Fatal("two Services wait for the lists that were freed")
		}
		s.admit("a", false)()
		s.Drop()
		if s.snapshot != nil {
			t.Error("a Service that never comes keeps the lists")
		}
	})
}

func TestAfterListsThatFailEveryServiceIsReadOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		for i := range 5 {
			s.admit(fmt.Sprint(i), false)
		}
		go s.Start(t.Context())
		s.answer <- errors.New("failed")
		synctest.Wait()
		if s.snapshot != nil || len(s.woken) != 5 {
			t.Errorf("snapshot %v, woken %v", s.snapshot, s.woken)
		}
		for i := range 5 {
			if s.admit(fmt.Sprint(i), true) == nil {
				t.Errorf("Service %d waits", i)
			}
		}
	})
}

func TestObjectsMissingFromTheListsAreNotReportedAsAbsent(t *testing.T) {
	incomplete := listed(1, then, func(l *octavia.Listed) { l.Complete = false })
	s := NewSnapshot([]octavia.Listed{incomplete}, []lb.FloatingIP{{ID: "f", Address: "192.0.2.1", PortID: "port"}})
	if _, err := s.Get(t.Context(), "another"); !errors.Is(err, ErrNotListed) {
		t.Errorf("get: %v", err)
	}
	if _, err := s.FindByName(t.Context(), "another"); !errors.Is(err, ErrNotListed) {
		t.Errorf("find: %v", err)
	}
	if _, err := s.Observe(t.Context(), lb.LoadBalancer{ID: "lb"}); !errors.Is(err, ErrNotListed) {
		t.Errorf("observe an incomplete one: %v", err)
	}
	if l, err := s.Get(t.Context(), "lb"); err != nil || len(l.Listeners) > 0 {
		t.Errorf("get: %+v, %v", l, err)
	}
	for what, read := range map[string]func(context.Context, string) ([]lb.FloatingIP, error){"port": s.FloatingIPsOn, "192.0.2.1": s.FloatingIPsWithAddress} {
		if all, err := read(t.Context(), what); len(all) != 1 || err != nil {
			t.Errorf("%s: %v, %v", what, all, err)
		}
	}
}
