// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/calltable"

	"golang.org/x/time/rate"
)

// Rate bounds the calls to one service.
type Rate struct {
	// PerSecond is how many calls a second are made in the long run; 0 means 20.
	PerSecond float64
	// Burst is how many calls may be made at once after a quiet time; 0 means 40.
	Burst int
	// MaxWait is how long a call waits for its turn. A call whose turn comes later is not made: it fails at once with class
	// Throttled and says when to come back, so that nobody is kept waiting. 0 means 5 s.
	MaxWait time.Duration
}

func (r Rate) withDefaults() Rate {
	if r.PerSecond <= 0 {
		r.PerSecond = 20
	}
	if r.Burst <= 0 {
		r.Burst = 40
	}
	if r.MaxWait <= 0 {
		r.MaxWait = 5 * time.Second
	}
	return r
}

const (
	// defaultPause is how long a service is left alone that asks for patience and does not say how much.
	defaultPause = time.Second
	// recoveryStep is how often the rate grows again, each time by a tenth of the full one.
	recoveryStep = 5 * time.Second
	// slowest is the part of the full rate below which no service's rate falls.
	slowest = 1.0 / 16
)

// clock tells the time and passes it. Tests have their own.
type clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bucket holds the calls to one service to its rate, and stops them all while the service asks for patience.
type bucket struct {
	rate  Rate
	clock clock

	mu      sync.Mutex
	limiter *rate.Limiter
	until   time.Time // no call before
	pauses  int       // counts the changes of until
	halved  time.Time // when the rate was last halved
	grown   time.Time // from when the next growth is counted
}

func newBucket(r Rate, c clock) *bucket {
	return &bucket{rate: r, clock: c, limiter: rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// wait returns when the call may be made. If that would take longer than MaxWait it fails at once with the time that is
// left and the reason; it fails with the context's error when that ends.
func (b *bucket) wait(ctx context.Context) (left time.Duration, reason string, err error) {
	start := b.clock.Now()
	for {
		now := b.clock.Now()
		patience := b.rate.MaxWait - now.Sub(start)
		delay, reservation, pauses := b.reserve(now, patience)
		switch {
		case delay == 0:
			return 0, "", nil
		case delay > patience && reservation == nil:
			return delay, "pause", nil
		case delay > patience:
			return delay, "rate", nil
		}
		if err := b.clock.Sleep(ctx, delay); err != nil {
			if reservation != nil {
				reservation.CancelAt(b.clock.Now())
			}
			return 0, "", err
		}
		if reservation != nil && !b.pausedSince(pauses) {
			return 0, "", nil
		}
		// There was a pause, or one began while this call was waiting: its turn is void.
	}
}

// reserve takes a turn at the service. Without a reservation the delay is what is left of a pause. A delay above patience
// takes no turn.
func (b *bucket) reserve(now time.Time, patience time.Duration) (time.Duration, *rate.Reservation, int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if pause := b.until.Sub(now); pause > 0 {
		return pause, nil, b.pauses
	}
	b.grow(now)
	reservation := b.limiter.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay > patience {
		reservation.CancelAt(now)
	}
	return delay, reservation, b.pauses
}

func (b *bucket) pausedSince(pauses int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.pauses != pauses
}

// pause stops all calls to the service for d, and halves the rate, unless it was halved after this call began: the calls
// that were under way together are refused together, and that is one refusal.
func (b *bucket) pause(began time.Time, d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.clock.Now()
	if until := now.Add(d); until.After(b.until) {
		b.until = until
		b.pauses++
	}
	if began.After(b.halved) {
		b.halved = now
		b.limiter.SetLimitAt(now, max(b.limiter.Limit()/2, rate.Limit(b.rate.PerSecond*slowest)))
	}
	if b.until.After(b.grown) {
		b.grown = b.until
	}
	// No turns are saved up during a pause: otherwise its end would be a burst.
	b.limiter.ReserveN(b.until, int(b.limiter.TokensAt(b.until)))
}

// grow gives back a part of the rate for each recoveryStep without a refusal. b.mu is held.
func (b *bucket) grow(now time.Time) {
	full := rate.Limit(b.rate.PerSecond)
	if b.limiter.Limit() >= full {
		return
	}
	steps := now.Sub(b.grown) / recoveryStep
	if steps <= 0 {
		return
	}
	b.grown = b.grown.Add(steps * recoveryStep)
	b.limiter.SetLimitAt(now, min(full, b.limiter.Limit()+full/10*rate.Limit(steps)))
}

// throttled holds calls to the rate of their service.
type throttled struct {
	next    http.RoundTripper
	routes  *calltable.Routes
	rate    Rate
	clock   clock
	metrics metrics

	mu      sync.Mutex
	buckets map[string]*bucket
}

func (t *throttled) bucket(service string) *bucket {
	t.mu.Lock()
	defer t.mu.Unlock()
	b := t.buckets[service]
	if b == nil {
		b = newBucket(t.rate, t.clock)
		t.buckets[service] = b
	}
	return b
}

func (t *throttled) RoundTrip(req *http.Request) (*http.Response, error) {
	service, _ := t.routes.Find(req.URL)
	b := t.bucket(service)
	left, reason, err := b.wait(req.Context())
	if err != nil || left > 0 {
		if req.Body != nil {
			_ = req.Body.Close()
		}
	}
	if err != nil {
		return nil, &attemptError{err: err}
	}
	if left > 0 {
		t.metrics.throttled.WithLabelValues(service, reason).Inc()
		return nil, refused(service, reason, left)
	}
	began := t.clock.Now()
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	patience, asked := retryAfter(resp.Header, t.clock.Now())
	if throttles(resp.StatusCode, asked) {
		t.metrics.throttled.WithLabelValues(service, strconv.Itoa(resp.StatusCode)).Inc()
		if patience == 0 {
			patience = defaultPause
		}
		b.pause(began, patience)
	}
	return resp, nil
}

// refused is the error of a call that was not made.
func refused(service, reason string, left time.Duration) *Error {
	message := "not sent: too many calls to the " + service + " service are waiting"
	if reason == "pause" {
		message = "not sent: the " + service + " service throttles requests"
	}
	return &Error{Class: Throttled, Message: message, RetryAfter: left}
}
