// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package ratelimit

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Rate{PerSecond: 1, Burst: 1, MaxWait: time.Hour}, RealClock{})
		ctx, cancel := context.WithCancel(t.Context())
		if _, _, err := l.Wait(ctx); err != nil {
			t.Fatal(err)
		}
		l.Pause(time.Now(), time.Hour/2)
		done := make(chan error, 1)
		go func() { _, _, err := l.Wait(ctx); done <- err }()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
	})
}

func TestCallsAboveTheRateFailAtOnceWithTheTimeToRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Rate{PerSecond: 10, Burst: 2, MaxWait: time.Millisecond}, RealClock{})
		for i := range 2 {
			if left, _, err := l.Wait(t.Context()); left != 0 || err != nil {
				t.Fatalf("call %d: %v %v", i, left, err)
			}
		}
		for range 3 { // a refused call reserves nothing, so the remaining time does not grow
			if left, reason, err := l.Wait(t.Context()); left != 100*time.Millisecond || reason != "rate" || err != nil {
				t.Errorf("got %v %q %v", left, reason, err)
			}
		}
		time.Sleep(100 * time.Millisecond)
		if left, _, _ := l.Wait(t.Context()); left != 0 {
			t.Errorf("after its time: %v", left)
		}
	})
}

// perSecond counts the calls that may be made within a second without a burst.
func perSecond(t *testing.T, l *Limiter) int {
	for { // use up the burst
		if left, _, _ := l.Wait(t.Context()); left > 0 {
			break
		}
	}
	n := 0
	for range 1000 {
		time.Sleep(time.Millisecond)
		if left, _, _ := l.Wait(t.Context()); left == 0 {
			n++
		}
	}
	return n
}

func TestTheRateIsHalvedOncePerThrottlingAndRecovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Rate{PerSecond: 20, Burst: 40, MaxWait: time.Nanosecond}, RealClock{})
		began := time.Now()
		time.Sleep(time.Millisecond)
		for range 5 { // five concurrent calls
			l.Pause(began, 10*time.Second)
		}
		time.Sleep(10 * time.Second)
		if n := perSecond(t, l); n < 9 || n > 10 {
			t.Errorf("%d calls a second after one refusal, want about 10", n)
		}
		time.Sleep(2 * recoveryStep)
		if n := perSecond(t, l); n < 13 || n > 14 {
			t.Errorf("%d calls a second two steps later, want about 14", n)
		}
		time.Sleep(10 * recoveryStep)
		if n := perSecond(t, l); n < 19 || n > 20 {
			t.Errorf("%d calls a second long after, want about 20", n)
		}
		for range 20 {
			time.Sleep(time.Millisecond)
			l.Pause(time.Now(), time.Millisecond)
		}
		time.Sleep(time.Millisecond)
		if n := perSecond(t, l); n < 1 || n > 2 {
			t.Errorf("%d calls a second after many refusals, want 1", n)
		}
	})
}

func TestPauseIsNotFollowedByABurst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(Rate{PerSecond: 20, Burst: 40, MaxWait: time.Nanosecond}, RealClock{})
		time.Sleep(time.Minute)
		l.Pause(time.Now(), 30*time.Second)
		time.Sleep(30 * time.Second)
		n := 0
		for range 40 {
			if left, _, _ := l.Wait(t.Context()); left == 0 {
				n++
			}
		}
		if n > 1 {
			t.Errorf("%d calls at once", n)
		}
	})
}

// bubble hides the deadline of the test, which rapid must not read in a synctest bubble.
type bubble struct{ *testing.T }

func TestNoCallIsMadeDuringAPauseNorAboveTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rapid.Check(bubble{t}, func(t *rapid.T) {
			r := Rate{
				PerSecond: float64(rapid.IntRange(1, 50).Draw(t, "rate")),
				Burst:     rapid.IntRange(1, 20).Draw(t, "burst"),
				MaxWait:   time.Duration(rapid.IntRange(1, 3000).Draw(t, "wait ms")) * time.Millisecond,
			}
			l := New(r, RealClock{})
			start, until, made := time.Now(), time.Time{}, 0
			for range rapid.IntRange(1, 60).Draw(t, "steps") {
				switch rapid.IntRange(0, 5).Draw(t, "what") {
				case 0:
					d := time.Duration(rapid.IntRange(1, 8000).Draw(t, "pause ms")) * time.Millisecond
					l.Pause(time.Now(), d)
					if u := time.Now().Add(d); u.After(until) {
						until = u
					}
				case 1:
					time.Sleep(time.Duration(rapid.IntRange(1, 5000).Draw(t, "ms")) * time.Millisecond)
				default:
					before := time.Now()
					left, _, err := l.Wait(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					if waited := time.Since(before); waited > r.MaxWait {
						t.Fatalf("waited %v, above %v", waited, r.MaxWait)
					}
					if left > 0 {
						continue
					}
					made++
					if time.Now().Before(until) {
						t.Fatalf("a call at %v, in a pause until %v", time.Now(), until)
					}
					if most := float64(r.Burst) + r.PerSecond*time.Since(start).Seconds(); float64(made) > most+1e-6 {
						t.Fatalf("%d calls, above %f", made, most)
					}
				}
			}
		})
	})
}
