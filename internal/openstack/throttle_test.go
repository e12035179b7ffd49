// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// throttling answers the next call with a status and a Retry-After, and the others with success.
func (c *cloud) throttling(status int, after string) {
	c.setHandler(func(w http.ResponseWriter, _ *http.Request) {
		c.setHandler(func(w http.ResponseWriter, _ *http.Request) { answer(w, 200, "{}") })
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.Header().Set("Date", "Fri, 02 Jan 2026 03:04:05 GMT")
		answer(w, status, "")
	})
}

func TestARequestForPatienceStopsAllCallsToThatService(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		after  string
		pause  time.Duration
	}{
		"429 with seconds": {429, "30", 30 * time.Second},
		"503 with a date":  {503, "Fri, 02 Jan 2026 03:05:05 GMT", time.Minute},
		"413 with seconds": {413, "20", 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			clock := newFakeClock()
			s := c.connect(func(o *Options) { o.clock = clock })
			c.throttling(test.status, test.after)

			first := get(context.Background(), s, "lbaas", "pools")
			if Classify(first) != Throttled || c.calls() != 1 {
				t.Fatalf("%d calls, %v", c.calls(), first)
			}
			clock.advance(test.pause - 10*time.Second)
			err := Wrap("list", post(context.Background(), s))
			var e *Error
			if !errors.As(err, &e) || e.Class != Throttled || e.RetryAfter != 10*time.Second || e.Unanswered {
				t.Fatalf("a call during the pause: %+v", err)
			}
			if c.calls() != 1 {
				t.Fatal("a call was sent during the pause")
			}
			if _, err := s.Network().Get(context.Background(), s.Network().ServiceURL("ports"), nil, nil); err != nil {
				t.Errorf("another service is stopped too: %v", err)
			}
			clock.advance(10 * time.Second)
			if err := get(context.Background(), s, "lbaas", "pools"); err != nil {
				t.Errorf("after the pause: %v", err)
			}
		})
	}
}

func TestAShortPauseIsWaitedFor(t *testing.T) {
	c := newCloud(t)
	clock := newFakeClock()
	s := c.connect(func(o *Options) { o.clock = clock })
	c.throttling(429, "")
	_ = get(context.Background(), s, "lbaas", "pools")
	if err := get(context.Background(), s, "lbaas", "pools"); err != nil {
		t.Fatal(err)
	}
	if clock.slept < defaultPause {
		t.Errorf("waited %v, want at least %v", clock.slept, defaultPause)
	}
}

func TestACallEndsWithItsContextWhileItWaits(t *testing.T) {
	b := newBucket(Rate{PerSecond: 1, Burst: 1, MaxWait: time.Hour}, realClock{})
	ctx, cancel := context.WithCancel(context.Background())
	if _, _, err := b.wait(ctx); err != nil {
		t.Fatal(err)
	}
	b.pause(time.Now(), time.Hour/2)
	done := make(chan error, 1)
	go func() { _, _, err := b.wait(ctx); done <- err }()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestCallsBeyondTheRateFailSoonWithTheTimeToComeBack(t *testing.T) {
	clock := newFakeClock()
	b := newBucket(Rate{PerSecond: 10, Burst: 2, MaxWait: time.Millisecond}, clock)
	for i := range 2 {
		if left, _, err := b.wait(context.Background()); left != 0 || err != nil {
			t.Fatalf("call %d: %v %v", i, left, err)
		}
	}
	for range 3 { // a refused call takes no turn, so the time does not grow
		if left, reason, err := b.wait(context.Background()); left != 100*time.Millisecond || reason != "rate" || err != nil {
			t.Errorf("got %v %q %v", left, reason, err)
		}
	}
	clock.advance(100 * time.Millisecond)
	if left, _, _ := b.wait(context.Background()); left != 0 {
		t.Errorf("after its time: %v", left)
	}
}

// perSecond counts the calls that may be made within a second, from a time when none is saved up.
func perSecond(b *bucket, clock *fakeClock) int {
	for { // use up what is saved
		if left, _, _ := b.wait(context.Background()); left > 0 {
			break
		}
	}
	n := 0
	for range 1000 {
		clock.advance(time.Millisecond)
		if left, _, _ := b.wait(context.Background()); left == 0 {
			n++
		}
	}
	return n
}

func TestTheRateIsHalvedOncePerRefusalAndGrowsBack(t *testing.T) {
	clock := newFakeClock()
	b := newBucket(Rate{PerSecond: 20, Burst: 40, MaxWait: time.Nanosecond}, clock)
	began := clock.Now()
	clock.advance(time.Millisecond)
	for range 5 { // five calls that were under way together
		b.pause(began, 10*time.Second)
	}
	clock.advance(10 * time.Second)
	if n := perSecond(b, clock); n < 9 || n > 10 {
		t.Errorf("%d calls a second after one refusal, want about 10", n)
	}
	clock.advance(2 * recoveryStep)
	if n := perSecond(b, clock); n < 13 || n > 14 {
		t.Errorf("%d calls a second two steps later, want about 14", n)
	}
	clock.advance(10 * recoveryStep)
	if n := perSecond(b, clock); n < 19 || n > 20 {
		t.Errorf("%d calls a second long after, want about 20", n)
	}
	for range 20 {
		clock.advance(time.Millisecond)
		b.pause(clock.Now(), time.Millisecond)
	}
	clock.advance(time.Millisecond)
	if n := perSecond(b, clock); n < 1 || n > 2 {
		t.Errorf("%d calls a second after many refusals, want 1", n)
	}
}

func TestAPauseEndsWithoutABurst(t *testing.T) {
	clock := newFakeClock()
	b := newBucket(Rate{PerSecond: 20, Burst: 40, MaxWait: time.Nanosecond}, clock)
	clock.advance(time.Minute)
	b.pause(clock.Now(), 30*time.Second)
	clock.advance(30 * time.Second)
	n := 0
	for range 40 {
		if left, _, _ := b.wait(context.Background()); left == 0 {
			n++
		}
	}
	if n > 1 {
		t.Errorf("%d calls at once", n)
	}
}

func TestNoCallIsMadeDuringAPauseNorAboveTheRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		clock := newFakeClock()
		r := Rate{
			PerSecond: float64(rapid.IntRange(1, 50).Draw(t, "rate")),
			Burst:     rapid.IntRange(1, 20).Draw(t, "burst"),
			MaxWait:   time.Duration(rapid.IntRange(1, 3000).Draw(t, "wait ms")) * time.Millisecond,
		}
		b := newBucket(r, clock)
		start, until, made := clock.Now(), time.Time{}, 0
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "what") {
			case 0:
				d := time.Duration(rapid.IntRange(1, 8000).Draw(t, "pause ms")) * time.Millisecond
				b.pause(clock.Now(), d)
				if u := clock.Now().Add(d); u.After(until) {
					until = u
				}
			case 1:
				clock.advance(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
			default:
				before := clock.Now()
				left, _, err := b.wait(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				if waited := clock.Now().Sub(before); waited > r.MaxWait {
					t.Fatalf("waited %v, above %v", waited, r.MaxWait)
				}
				if left > 0 {
					continue
				}
				made++
				if clock.Now().Before(until) {
					t.Fatalf("a call at %v, in a pause until %v", clock.Now(), until)
				}
				if most := float64(r.Burst) + r.PerSecond*clock.Now().Sub(start).Seconds(); float64(made) > most+1e-6 {
					t.Fatalf("%d calls, above %f", made, most)
				}
			}
		}
	})
}

func TestWaitersOfOnePauseAllGoOn(t *testing.T) {
	c := newCloud(t)
	s := c.connect(func(o *Options) { o.Rate = Rate{PerSecond: 1000, Burst: 1, MaxWait: time.Hour} })
	c.throttling(503, "1")
	_ = get(context.Background(), s, "lbaas", "pools")
	var calls sync.WaitGroup
	for range 20 {
		calls.Go(func() {
			if err := get(context.Background(), s, "lbaas", "pools"); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	if c.calls() != 21 {
		t.Errorf("%d calls", c.calls())
	}
}
