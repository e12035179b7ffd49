// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/polling"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestManyDeletionsTakeOneListAndOneCallForAllPorts(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		var gone []octavia.Head
		for i := range 50 {
			id := fmt.Sprint("lb-", i)
			gone = append(gone, octavia.Head{ID: id, Gone: true})
			s.set(lb.PendingDelete, id)
			s.ports = append(s.ports, "port of "+id)
			s.WatchDeletion(id, "port of "+id)
		}
		s.nextPoll()
		s.wantCalls(1, 0, 0)
		for _, h := range gone {
			s.set("", h.ID)
		}
		s.ports = nil
		s.nextPoll()
		s.wantCalls(1, 0, 1)
		s.wantChanged(gone...)
	})
}

func TestAbsenceFromAListProvesNothingWhileThePortExists(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		for _, id := range []string{"a", "b", "c"} {
			s.set(lb.PendingDelete, id)
			s.ports = append(s.ports, "port of "+id)
			s.WatchDeletion(id, "port of "+id)
		}
		s.unlisted["a"] = true
		s.nextPoll()
		s.wantCalls(1, 0, 1)
		s.advance(time.Minute)
		s.wantChanged()
		// It existed all the time, and its deletion failed.
		delete(s.unlisted, "a")
		s.set(lb.Error, "a")
		s.advance(6 * time.Second)
		s.wantChanged(octavia.Head{ID: "a", ProvisioningStatus: lb.Error})
	})
}

func TestDeletedLoadBalancerWithAPortOfAUserIsReadByItself(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.persons = []string{"mine"}
		for _, id := range []string{"a", "b", "c"} {
			s.set(lb.PendingDelete, id)
			s.WatchDeletion(id, "mine")
		}
		s.unlisted["a"] = true
		s.nextPoll()
		s.wantCalls(1, 1, 1)
		s.wantChanged()
		s.set("", "a", "b")
		s.nextPoll()
		s.wantCalls(1, 2, 1)
		s.wantChanged(octavia.Head{ID: "a", Gone: true}, octavia.Head{ID: "b", Gone: true})
	})
}

func TestALoadBalancerInStatusDeletedCountsAsGone(t *testing.T) {
	for name, ids := range map[string][]string{
		"one load balancer":      {"a"},
		"several load balancers": {"a", "b", "c"},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(s *fakeCloud) {
				var gone []octavia.Head
				for _, id := range ids {
					s.set(lb.Deleted, id)
					s.Watch(id)
					gone = append(gone, octavia.Head{ID: id, Gone: true})
				}
				s.nextPoll()
				s.wantChanged(gone...)
			})
		})
	}
}

func TestALoadBalancerWithoutAStatusStaysWatched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		w := octavia.NewWatcher(octavia.WatcherOptions{
			List: func(context.Context) ([]octavia.Head, error) {
				return []octavia.Head{{ID: "a"}, {ID: "b"}, {ID: "c"}}, nil
			},
			Get:     func(_ context.Context, id string) (octavia.Head, error) { return octavia.Head{ID: id}, nil },
			Changed: func(id string, h octavia.Head) { t.Errorf("told of %s: %+v", id, h) },
		})
		time.AfterFunc(30*time.Second, func() { // in fake time
			w.Watch("b", polling.Operation{})
			w.Watch("c", polling.Operation{})
		})
		w.Watch("a", polling.Operation{})
		if err := w.Run(ctx); err != nil || len(w.Pending()) != 3 {
			t.Errorf("error %v, watching %v", err, w.Pending())
		}
	})
}

func TestPortsThatCannotBeReadEndNoDeletion(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		for _, id := range []string{"a", "b", "c"} {
			s.WatchDeletion(id, id)
		}
		s.fail("ports")
		s.advance(time.Minute)
		s.wantChanged()
		s.fail()
		s.advance(6 * time.Second)
		s.wantChanged(octavia.Head{ID: "a", Gone: true}, octavia.Head{ID: "b", Gone: true}, octavia.Head{ID: "c", Gone: true})
	})
}

func TestGaugesOfPendingLoadBalancers(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(s.Watcher)
		gauges := func(pending, longest int) {
			t.Helper()
			text := fmt.Sprintf(`
# HELP kube_octavia_longest_pending_seconds How long the longest PENDING load balancer has been PENDING; 0 if there is none.
# TYPE kube_octavia_longest_pending_seconds gauge
kube_octavia_longest_pending_seconds %d
# HELP kube_octavia_pending_load_balancers Load balancers in a PENDING status, and deleted ones whose VIP port still exists.
# TYPE kube_octavia_pending_load_balancers gauge
kube_octavia_pending_load_balancers %d
`, longest, pending)
			if err := testutil.GatherAndCompare(registry, strings.NewReader(text)); err != nil {
				t.Error(err)
			}
		}
		gauges(0, 0)
		s.set(lb.PendingCreate, "a", "b")
		s.Watch("a")
		s.advance(100 * time.Second)
		s.Watch("b")
		s.advance(20 * time.Second)
		gauges(2, 120)
		s.set(lb.Active, "a")
		s.advance(5 * time.Second)
		gauges(1, 25)
	})
}
