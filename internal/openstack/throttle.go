// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
)

// Rate limits the calls to one service.
type Rate struct {
	// PerSecond is the long-term rate; 0 means 20.
	PerSecond float64
	// Burst is how many calls may be made at once after a quiet time; 0 means 40.
	Burst int
	// MaxWait is how long a call waits for the rate limit. A call that would wait longer fails at once with class
	// Throttled and the time to come back, so that it blocks no worker. 0 means 5 s.
	MaxWait time.Duration
}

func (r Rate) withDefaults() Rate {
	return Rate{
		PerSecond: cmp.Or(max(r.PerSecond, 0), 20),
		Burst:     cmp.Or(max(r.Burst, 0), 40),
		MaxWait:   cmp.Or(max(r.MaxWait, 0), 5*time.Second),
	}
}

const (
	// defaultPause is the pause after a throttled call whose response names no time.
	defaultPause = time.Second
	// recoveryStep is how often the rate grows again, each time by a tenth of the full rate.
	recoveryStep = 5 * time.Second
	// slowest is the part of the full rate below which the rate never falls.
	slowest = 1.0 / 16
)

// clock tells the time and sleeps. Tests have their own.
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

// bucket limits the rate of the calls to one service, and stops them while the service asks for a pause.
type bucket struct {
	rate  Rate
	clock clock

	mu      sync.Mutex
	limiter *rate.Limiter
	until   time.Time // end of the pause
	pauses  int       // counts the changes of until
	halved  time.Time // when the rate was last halved
	grown   time.Time // when the rate last grew, or the last pause ends
}

func newBucket(r Rate, c clock) *bucket {
	return &bucket{rate: r, clock: c, limiter: rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// wait returns when the call may be made. If that would take longer than MaxWait, it returns at once the time that
// is left and the reason. It fails with the error of the context.
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
		// There was a pause, or one began while this call waited: its reservation is void.
	}
}

// reserve reserves a call. Without a reservation, the delay is the rest of a pause. A delay above patience reserves
// nothing.
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

// pause stops all calls to the service for d. It halves the rate, unless that was done after this call began: calls
// that were in progress at the same time are throttled together and count as one.
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
	// No reservations accumulate during a pause: otherwise a burst would follow it.
	b.limiter.ReserveN(b.until, int(b.limiter.TokensAt(b.until)))
}

// grow restores a part of the rate for each recoveryStep without throttling. b.mu is held.
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

// throttled limits the rate of calls per service.
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

// refused returns the error of a call that was not made.
func refused(service, reason string, left time.Duration) *Error {
	message := "not sent: too many calls to the " + service + " service are waiting"
	if reason == "pause" {
		message = "not sent: the " + service + " service throttles requests"
	}
	return &Error{Class: Throttled, Message: message, RetryAfter: left}
}
