// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/cloud/polling"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestAnIdleWatcherMakesNoCalls(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.advance(time.Hour)
		s.wantCalls(0, 0, 0)
		for range 2 {
			s.set(lb.Active, "a")
			s.Watch("a")
			s.advance(firstPoll - time.Nanosecond)
			s.wantCalls(0, 0, 0)
			s.advance(time.Nanosecond)
			s.wantCalls(0, 1, 0)
			s.wantChanged(active("a")...)
			s.advance(time.Hour)
			s.wantCalls(0, 0, 0)
		}
	})
}

func TestAStuckLoadBalancerCostsACallEveryFiveSeconds(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.PendingCreate, "stuck")
		s.Watch("stuck")
		s.advance(time.Minute)
		s.forgetCalls()
		s.advance(time.Hour)
		s.wantInterval(5*time.Second, 5*time.Second)
	})
}

func TestAStuckLoadBalancerDoesNotChangeHowOthersAreWatched(t *testing.T) {
	calls := map[bool]int{}
	for _, stuck := range []bool{false, true} {
		watch(t, func(s *fakeCloud) {
			if stuck {
				s.set(lb.PendingCreate, "stuck")
				s.Watch("stuck")
				s.advance(time.Hour)
			}
			s.forgetCalls()
			began := time.Now()
			for range 50 {
				s.update(10*time.Second, "a")
				s.advance(11 * time.Second)
				s.wantChanged(active("a")...)
			}
			calls[stuck] = s.count("") - s.count("list")
			if stuck {
				calls[stuck] -= int(time.Since(began)/(5*time.Second)) + 2
			}
			if s.count("list") > 0 {
				t.Errorf("%d lists for two load balancers", s.count("list"))
			}
		})
	}
	// A poll at the exact end may see it or not, so the number of polls differs slightly.
	if calls[true] > calls[false]*115/100 {
		t.Errorf("%d calls beside one that is stuck, %d without", calls[true], calls[false])
	}
}

func TestOperationsOfAKnownTimeTakeFewCalls(t *testing.T) {
	for _, n := range []int{1, 10} {
		t.Run(fmt.Sprintf("%d load balancers", n), func(t *testing.T) {
			watch(t, func(s *fakeCloud) {
				var ids []string
				for i := range n {
					ids = append(ids, fmt.Sprint("lb-", i))
				}
				for i := range 20 {
					s.forgetCalls()
					s.update(30*time.Second, ids...)
					s.advance(33 * time.Second)
					s.wantChanged(active(ids...)...)
					if calls := s.count(""); i > 10 && calls > 6 {
						t.Errorf("%d load balancers took %d calls at the %d. time, want at most 6", n, calls, i+1)
					}
				}
			})
		})
	}
}

func TestSlowCloudIsNotPolledMoreOftenThanItCanAnswer(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.takes = 200 * time.Millisecond
		s.set(lb.PendingCreate, "a")
		s.Watch("a")
		s.advance(23 * time.Second)
		s.wantInterval(2*time.Second, 2300*time.Millisecond)
	})
}

func TestFailedPollsBackOffToFiveSeconds(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.PendingUpdate, "a")
		s.fail("a")
		s.Watch("a")
		s.advance(10 * time.Second)
		s.forgetCalls()
		s.advance(time.Minute)
		s.wantInterval(5*time.Second, 5*time.Second)
		s.fail()
		s.set(lb.Active, "a")
		s.advance(5 * time.Second)
		s.wantChanged(active("a")...)
	})
}

func TestFewLoadBalancersArePolledOneByOneAndMoreWithOneList(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		for i, want := range []struct{ lists, gets int }{{0, 1}, {0, 2}, {1, 0}, {1, 0}} {
			id := fmt.Sprint("lb-", i)
			s.set(lb.PendingUpdate, id)
			s.Watch(id)
			s.nextPoll()
			s.wantCalls(want.lists, want.gets, 0)
		}
		s.set(lb.Active, "lb-0", "lb-1")
		s.nextPoll()
		s.wantCalls(1, 0, 0)
		s.wantChanged(active("lb-0", "lb-1")...)
		s.nextPoll()
		s.wantCalls(0, 2, 0)
		s.wantChanged()
	})
}

func TestFewOfALongListArePolledOneByOne(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		for i := range 3500 {
			s.set(lb.Active, fmt.Sprint("other-", i))
		}
		s.set(lb.PendingUpdate, "a", "b", "c")
		for _, id := range []string{"a", "b", "c"} {
			s.Watch(id)
		}
		s.nextPoll()
		s.wantCalls(1, 0, 0)
		s.nextPoll()
		s.wantCalls(0, 3, 0)
	})
}

func TestALoadBalancerMissingInTheListIsReadByItself(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.PendingUpdate, "a", "b", "adopted", "vanished")
		s.unlisted["adopted"], s.unlisted["vanished"] = true, true
		for _, id := range []string{"a", "b", "adopted", "vanished"} {
			s.Watch(id)
		}
		s.nextPoll()
		s.wantCalls(1, 2, 0)
		s.wantChanged()
		s.set(lb.Active, "adopted")
		s.set("", "vanished")
		s.nextPoll()
		s.wantCalls(1, 2, 0)
		s.wantChanged(active("adopted")[0], octavia.Head{ID: "vanished", Gone: true})
	})
}

func TestAListThatFailsChangesNothingAndIsLoggedOnce(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		for _, id := range []string{"a", "b", "c"} {
			s.set(lb.Active, id)
			s.Watch(id)
		}
		s.fail("list")
		s.advance(time.Minute)
		s.wantChanged()
		if len(s.logged()) != 1 || !strings.Contains(s.logged()[0], "list is out of order") {
			t.Errorf("logged %q, want one line with the reason", s.logged())
		}
		if n := len(s.Pending()); n != 3 {
			t.Errorf("%d are watched, want 3", n)
		}
		s.fail()
		s.advance(time.Minute)
		if s.wantChanged(active("a", "b", "c")...); len(s.logged()) != 2 {
			t.Errorf("logged %q, want one line more for its end", s.logged())
		}
	})
}

func TestALoadBalancerThatCannotBeReadDelaysNoOther(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.Active, "a", "b")
		s.fail("a")
		s.Watch("a")
		s.Watch("b")
		s.advance(time.Minute)
		s.wantChanged(active("b")...)
		s.fail()
		s.advance(time.Minute)
		s.wantChanged(active("a")...)
	})
}

func TestALoadBalancerThatStaysPendingStaysWatched(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.PendingCreate, "a")
		began := time.Now()
		s.Watch("a")
		s.advance(24 * time.Hour)
		s.wantChanged()
		s.Watch("a")
		if diff := cmp.Diff(map[string]time.Time{"a": began}, s.Pending()); diff != "" {
			t.Errorf("watched since (-want +got):\n%s", diff)
		}
		s.set(lb.Error, "a")
		s.advance(5 * time.Second)
		s.wantChanged(octavia.Head{ID: "a", ProvisioningStatus: lb.Error})
	})
}

func TestADeletionEndsWhenThePortIsDeletedToo(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.setPorts("port", "other")
		s.set(lb.PendingDelete, "a")
		s.WatchDeletion("a", "port")
		s.nextPoll()
		s.wantCalls(0, 1, 0)
		s.set("", "a")
		s.nextPoll()
		s.wantCalls(0, 1, 1)
		// The load balancer itself is not read again.
		s.advance(time.Minute)
		if s.count("get") > 0 || s.count("ports") == 0 {
			t.Errorf("asked for the load balancer %d times, for ports %d times", s.count("get"), s.count("ports"))
		}
		s.fail("ports")
		s.setPorts()
		s.advance(time.Minute)
		s.wantChanged()
		s.fail()
		s.advance(5 * time.Second)
		s.wantChanged(octavia.Head{ID: "a", Gone: true})
	})
}

func TestADeletionThatIsRenewedStillWaitsForThePort(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.setPorts("port")
		s.Watch("a")
		s.WatchDeletion("a", "port")
		s.nextPoll()
		s.WatchDeletion("a", "")
		s.Watch("a")
		s.advance(time.Minute)
		s.wantChanged()
		s.setPorts()
		s.advance(6 * time.Second)
		s.wantChanged(octavia.Head{ID: "a", Gone: true})
	})
}

func TestADeletionWithoutAPortEndsWithTheLoadBalancer(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.WatchDeletion("a", "")
		s.nextPoll()
		s.wantCalls(0, 1, 0)
		s.wantChanged(octavia.Head{ID: "a", Gone: true})
	})
}

func TestADeletionThatFailsEndsTheWatch(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.setPorts("port")
		s.set(lb.Error, "a")
		s.WatchDeletion("a", "port")
		s.nextPoll()
		s.wantChanged(octavia.Head{ID: "a", ProvisioningStatus: lb.Error})
	})
}

func TestAForgottenLoadBalancerIsNotReported(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.set(lb.Active, "a")
		s.Watch("a")
		s.Forget("a")
		s.Forget("unknown")
		s.advance(time.Minute)
		s.wantChanged()
		s.wantCalls(0, 0, 0)
	})
}

// TestCallsDuringAPoll calls the Watcher between a request and its answer, which shows the earlier
// state.
func TestCallsDuringAPoll(t *testing.T) {
	for name, c := range map[string]struct {
		status    lb.ProvisioningStatus
		meanwhile func(*fakeCloud)
		// later has the heads that later polls report.
		later []octavia.Head
	}{
		"is not told of one that is forgotten": {
			status: lb.Active, meanwhile: func(s *fakeCloud) { s.Forget("a") },
		},
		"does not end a watch that began again": {
			status: lb.Active,
			meanwhile: func(s *fakeCloud) {
				s.Forget("a")
				s.set(lb.PendingUpdate, "a")
				s.Watch("a")
			},
		},
		"does not end a watch that was renewed": {
			status: lb.Active,
			meanwhile: func(s *fakeCloud) {
				s.set(lb.PendingUpdate, "a")
				s.Watch("a")
			},
		},
		"does not take a port for gone that has not been looked for": {
			meanwhile: func(s *fakeCloud) {
				s.setPorts("port")
				s.WatchDeletion("a", "port")
			},
		},
		"leaves another to the next look": {
			status: lb.Active,
			meanwhile: func(s *fakeCloud) {
				s.set(lb.Active, "b")
				s.Watch("b")
			},
			later: active("a", "b"),
		},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(s *fakeCloud) {
				s.set(c.status, "a")
				answer := s.hold()
				s.Watch("a")
				s.advance(firstPoll)
				c.meanwhile(s)
				answer()
				s.advance(time.Minute)
				s.wantChanged(c.later...)
			})
		})
	}
}

func TestChangedMayCallWatch(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		s.changed = func(h octavia.Head) {
			if h.ProvisioningStatus == lb.Active {
				s.set(lb.Error, h.ID)
				s.Watch(h.ID)
			}
		}
		s.set(lb.Active, "a")
		s.Watch("a")
		s.advance(time.Minute)
		s.wantChanged(active("a")[0], octavia.Head{ID: "a", ProvisioningStatus: lb.Error})
	})
}

func TestRunEndsWithTheContextWhateverItIsDoing(t *testing.T) {
	for name, begin := range map[string]func(*fakeCloud){
		"nothing": func(*fakeCloud) {},
		"waiting": func(s *fakeCloud) { s.Watch("a") },
		"asking": func(s *fakeCloud) {
			s.hold()
			s.Watch("a")
			s.advance(firstPoll)
		},
		"failing": func(s *fakeCloud) {
			s.set(lb.Active, "a")
			s.fail("a")
			s.Watch("a")
		},
	} {
		t.Run(name, func(t *testing.T) {
			watch(t, func(s *fakeCloud) {
				begin(s)
				synctest.Wait()
				before := s.logged()
				s.stop()
				synctest.Wait()
				if !s.ended() {
					t.Error("it runs on")
				}
				if diff := cmp.Diff(before, s.logged()); diff != "" {
					t.Errorf("it complains of its end:\n%s", diff)
				}
				s.wantChanged()
			})
		})
	}
}

func TestConcurrentWatchesAreReportedOnceEach(t *testing.T) {
	watch(t, func(s *fakeCloud) {
		const n = 200
		var want []octavia.Head
		for i := range n {
			id := fmt.Sprintf("lb-%03d", i)
			want = append(want, octavia.Head{ID: id, ProvisioningStatus: lb.Active})
			s.set(lb.PendingCreate, id)
			go func() {
				s.Watch(id)
				time.Sleep(time.Duration(i) * 50 * time.Millisecond) // in fake time
				s.Watch(id)
				s.set(lb.Active, id)
				_ = s.Pending()
			}()
		}
		s.advance(time.Minute)
		s.wantChanged(want...)
		if gets := s.count("get"); gets > 2*int(time.Minute/time.Second) {
			t.Errorf("%d single questions for %d load balancers", gets, n)
		}
	})
}

func TestAWatcherNeedsNoClockOrLogger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		w := octavia.NewWatcher(octavia.WatcherOptions{
			Get:     func(context.Context, string) (octavia.Head, error) { return octavia.Head{}, errors.New("no") },
			Changed: func(id string, _ octavia.Head) { got = append(got, id) },
		})
		go func() {
			time.Sleep(time.Minute) // in fake time
			stop()
		}()
		w.Watch("a", polling.Operation{})
		if err := w.Run(ctx); err != nil || len(got) > 0 || !slices.Equal([]string{"a"}, watchedBy(w)) {
			t.Errorf("error %v, told of %v, watching %v", err, got, watchedBy(w))
		}
	})
}

// active returns ACTIVE load balancers.
func active(ids ...string) []octavia.Head {
	var heads []octavia.Head
	for _, id := range ids {
		heads = append(heads, octavia.Head{ID: id, ProvisioningStatus: lb.Active})
	}
	return heads
}

func watchedBy(w *octavia.Watcher) []string {
	var all []string
	for id := range w.Pending() {
		all = append(all, id)
	}
	slices.Sort(all)
	return all
}
