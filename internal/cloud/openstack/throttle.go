// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/ratelimit"
)

// Rate limits the calls to one service.
type Rate = ratelimit.Rate

// defaultPause is the pause after a throttled call whose response contains no time.
const defaultPause = time.Second

// throttled limits the rate of calls per service.
type throttled struct {
	next    http.RoundTripper
	routes  *calls.Routes
	rate    Rate
	clock   ratelimit.Clock
	metrics metrics

	mu       sync.Mutex
	limiters map[string]*ratelimit.Limiter
}

func (t *throttled) limiter(service string) *ratelimit.Limiter {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.limiters[service] == nil {
		t.limiters[service] = ratelimit.New(t.rate, t.clock)
	}
	return t.limiters[service]
}

func (t *throttled) RoundTrip(req *http.Request) (*http.Response, error) {
	service, _ := t.routes.Find(req.URL)
	limiter := t.limiter(service)
	left, reason, err := limiter.Wait(req.Context())
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
		limiter.Pause(began, patience)
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
