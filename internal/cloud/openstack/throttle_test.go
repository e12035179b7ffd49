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

func TestThrottlingStopsAllCallsToThatService(t *testing.T) {
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

func TestCallsWaitForTheEndOfAShortPause(t *testing.T) {
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

func TestAllCallsThatWaitForAPauseAreMadeAfterIt(t *testing.T) {
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
