// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// surveyor is a Survey whose lists are answered when the test says so.
type surveyor struct {
	*Survey
	answer chan error
	woken  []string
}

func newSurveyor() *surveyor {
	s := &surveyor{answer: make(chan error)}
	s.Survey = New(Options{
		LoadBalancers: func(context.Context) ([]octavia.Listed, error) { return []octavia.Listed{listed(1, then)}, <-s.answer },
		FloatingIPs:   func(context.Context) ([]lb.FloatingIP, error) { return nil, nil },
		Enqueue:       func(key types.NamespacedName) { s.woken = append(s.woken, key.Name) },
		Logger:        logr.Discard(),
	})
	return s
}

func (s *surveyor) admit(name string, changed bool) (done func(), wait time.Duration) {
	return s.Admit(types.NamespacedName{Name: name}, func() bool { return changed })
}

func TestUnchangedServicesWaitForTheListsAndChangedOnesForAMoment(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		if done, wait := s.admit("unchanged", false); done != nil || wait != 0 {
			t.Errorf("an unchanged Service before the start: admitted %t, waits %v", done != nil, wait)
		}
		if done, wait := s.admit("changed", true); done != nil || wait != patience {
			t.Errorf("a changed Service before the start: admitted %t, waits %v", done != nil, wait)
		}
		go s.Start(t.Context())
		synctest.Wait()
		time.Sleep(patience)
		first, _ := s.admit("changed", true)
		second, _ := s.admit("changed-2", true)
		if first == nil || second == nil {
			t.Fatal("changed Services wait for lists that hang")
		}
		if done, wait := s.admit("changed-3", true); done != nil || wait <= 0 {
			t.Errorf("a third Service: admitted %t, waits %v", done != nil, wait)
		}
		first()
		first()
		if done, _ := s.admit("changed-3", true); done == nil {
			t.Error("the third Service is not admitted when the first one was read")
		}
		if done, _ := s.admit("changed-4", true); done != nil {
			t.Error("too many Services are read on their own")
		}
		if done, wait := s.admit("unchanged", false); done != nil || wait != 0 {
			t.Errorf("an unchanged Service: admitted %t, waits %v", done != nil, wait)
		}
		s.answer <- nil
		synctest.Wait()
		if want := []string{"changed-4", "unchanged"}; !slices.Equal(s.woken, want) {
			t.Errorf("woken %v, want %v", s.woken, want)
		}
		if _, err := s.Snapshot().Get(t.Context(), "lb"); err != nil {
			t.Errorf("the snapshot: %v", err)
		}
	})
}

func TestTheListsAreFreedWhenNobodyWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		s.Drop()
		s.admit("a", false)
		s.admit("gone", false)
		go s.Start(t.Context())
		s.answer <- nil
		synctest.Wait()
		s.Drop()
		if s.Snapshot() == nil {
			t.Fatal("two Services wait for the lists that were freed")
		}
		done, _ := s.admit("a", false)
		done()
		s.Drop()
		if s.Snapshot() != nil {
			t.Error("a Service that never comes keeps the lists")
		}
	})
}

func TestAfterListsThatFailEverybodyIsReadOnItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSurveyor()
		for i := range 5 {
			s.admit(fmt.Sprint(i), false)
		}
		go s.Start(t.Context())
		s.answer <- errors.New("failed")
		synctest.Wait()
		if s.Snapshot() != nil || len(s.woken) != 5 {
			t.Errorf("snapshot %v, woken %v", s.Snapshot(), s.woken)
		}
		for i := range 5 {
			if done, wait := s.admit(fmt.Sprint(i), true); done == nil || wait != 0 {
				t.Errorf("Service %d waits", i)
			}
		}
	})
}

func TestWhatIsNotInTheListsIsNotTakenForAbsent(t *testing.T) {
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
