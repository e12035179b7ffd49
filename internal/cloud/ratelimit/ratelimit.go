// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ratelimit limits the rate of calls to a service that may ask for pauses.
package ratelimit

import (
	"cmp"
	"context"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate limits the calls to one service.
type Rate struct {
	// PerSecond is the long-term rate; 0 means 20.
	PerSecond float64
	// Burst is the number of calls that may be made at once after a quiet time; 0 means 40.
	Burst int
	// MaxWait is the maximum wait of a call for the rate limit. A call that would wait longer is not made, so
	// that it blocks no worker: Wait returns the time after which to try again. 0 means 5 s.
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
	// recoveryStep is the interval at which the rate grows again, each time by a tenth of the full
	// rate.
	recoveryStep = 5 * time.Second
	// slowest is the fraction of the full rate below which the rate never falls.
	slowest = 1.0 / 16
)

// Clock returns the time and sleeps. Tests have their own.
type Clock interface {
	Now() time.Time
	Sleep(ctx context.Context, d time.Duration) error
}

// RealClock is the system clock.
type RealClock struct{}

// Now implements Clock.
func (RealClock) Now() time.Time { return time.Now() }

// Sleep implements Clock.
func (RealClock) Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Limiter limits the rate of the calls to one service, and stops them while the service asks for a pause.
type Limiter struct {
	rate  Rate
	clock Clock

	mu      sync.Mutex
	limiter *rate.Limiter
	until   time.Time // end of the pause
	pauses  int       // counts the changes of until
	halved  time.Time // when the rate was last halved
	grown   time.Time // when the rate last grew, or the last pause ends
}

// New returns a Limiter that starts with a full burst.
func New(r Rate, c Clock) *Limiter {
	r = r.withDefaults()
	return &Limiter{rate: r, clock: c, limiter: rate.NewLimiter(rate.Limit(r.PerSecond), r.Burst)}
}

// Wait returns when the call may be made. If that would take longer than MaxWait, it returns at once, with the
// remaining time and the reason: "rate" or "pause". It fails with the error of the context.
func (l *Limiter) Wait(ctx context.Context) (left time.Duration, reason string, err error) {
	start := l.clock.Now()
	for {
		now := l.clock.Now()
		patience := l.rate.MaxWait - now.Sub(start)
		delay, reservation, pauses := l.reserve(now, patience)
		switch {
		case delay == 0:
			return 0, "", nil
		case delay > patience && reservation == nil:
			return delay, "pause", nil
		case delay > patience:
			return delay, "rate", nil
		}
		if err := l.clock.Sleep(ctx, delay); err != nil {
			if reservation != nil {
				reservation.CancelAt(l.clock.Now())
			}
			return 0, "", err
		}
		if reservation != nil && !l.pausedSince(pauses) {
			return 0, "", nil
		}
		// There was a pause, or one began while this call waited: its reservation is void.
	}
}

// reserve reserves a call. Without a reservation, the delay is the rest of a pause. If the delay exceeds patience,
// nothing is reserved.
func (l *Limiter) reserve(now time.Time, patience time.Duration) (time.Duration, *rate.Reservation, int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if pause := l.until.Sub(now); pause > 0 {
		return pause, nil, l.pauses
	}
	l.grow(now)
	reservation := l.limiter.ReserveN(now, 1)
	delay := reservation.DelayFrom(now)
	if delay > patience {
		reservation.CancelAt(now)
	}
	return delay, reservation, l.pauses
}

func (l *Limiter) pausedSince(pauses int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.pauses != pauses
}

// Pause stops all calls to the service for d. It halves the rate, unless the rate was already halved after this
// call began: concurrent calls are throttled together and count as one.
func (l *Limiter) Pause(began time.Time, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	if until := now.Add(d); until.After(l.until) {
		l.until = until
		l.pauses++
	}
	if began.After(l.halved) {
		l.halved = now
		l.limiter.SetLimitAt(now, max(l.limiter.Limit()/2, rate.Limit(l.rate.PerSecond*slowest)))
	}
	if l.until.After(l.grown) {
		l.grown = l.until
	}
	// No reservations accumulate during a pause: otherwise a burst would follow it.
	l.limiter.ReserveN(l.until, int(l.limiter.TokensAt(l.until)))
}

// grow restores a part of the rate for each recoveryStep without throttling. l.mu must be held.
func (l *Limiter) grow(now time.Time) {
	full := rate.Limit(l.rate.PerSecond)
	if l.limiter.Limit() >= full {
		return
	}
	steps := now.Sub(l.grown) / recoveryStep
	if steps <= 0 {
		return
	}
	l.grown = l.grown.Add(steps * recoveryStep)
	l.limiter.SetLimitAt(now, min(full, l.limiter.Limit()+full/10*rate.Limit(steps)))
}
