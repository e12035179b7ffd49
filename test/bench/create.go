// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func create50(ctx context.Context, b *bench, r *result) error {
	return createMany(ctx, b, r, 50, 5*time.Second, 8)
}

func create5(ctx context.Context, b *bench, r *result) error {
	return createMany(ctx, b, r, 5, 6*time.Second, 7.5)
}

// createMany creates n Services with one port at once and measures when each is
// Programmed. The target is in seconds.
func createMany(ctx context.Context, b *bench, r *result, n int, build time.Duration, target float64) error {
	cloud := cloudsim.Options{BuildTime: build, DeleteTime: time.Second}
	return b.withStage(ctx, cloud, alone, func(s *stage) error {
		writes, err := s.controller.metric("rest_client_requests_total")
		if err != nil {
			return err
		}
		s.resetCalls()
		made, err := s.createAndWait(ctx, "many", n, 1)
		if err != nil {
			return err
		}
		sinceFirst, sinceOwn := s.services.times(made)
		r.spread(sinceFirst, "from the first create to Programmed").atMost(target, "issue")
		r.spread(sinceOwn, "from a Service's own create to Programmed")
		if err := s.waitUntilSettled(ctx); err != nil {
			return err
		}
		c := s.count()
		r.calls("create", c)
		// Where the time went: before Octavia began, while it built, or after.
		r.add(seconds(s.lastCall("POST /v2.0/lbaas/loadbalancers").Sub(made.began)), "s", "from the first create until the last load balancer was asked for")
		r.add(seconds(s.lastCall("GET /v2.0/lbaas/loadbalancers/{id}/status").Sub(made.began)), "s", "from the first create until the last load balancer was seen complete")
		r.add(float64(c.Passes)/float64(n), "calls", "calls of passes for each Service").atMost(4, "design: 2 writes and at most 2 reads")
		r.add(float64(c.Background), "calls", "calls of the watcher for all Services together")
		if err := r.throttled(s); err != nil {
			return err
		}
		requests, err := s.controller.metric("rest_client_requests_total")
		if err != nil {
			return err
		}
		r.add((requests-writes)/float64(n), "1", "requests to the Kubernetes API for each Service")
		return s.measureDelete(ctx, r, made)
	})
}

// throttled adds how many calls the controller put off because of its own rate limit.
func (r *result) throttled(s *stage) error {
	n, err := s.controller.metric("kube_octavia_openstack_throttled_total")
	if err == nil {
		r.add(n, "calls", "calls that were put off because of the controller's own rate")
	}
	return err
}

// measureDelete deletes the Services, measures how long that takes, and makes sure
// that nothing is left.
func (s *stage) measureDelete(ctx context.Context, r *result, made batch) error {
	began := time.Now()
	s.resetCalls()
	if err := s.deleteAndWait(ctx, made); err != nil {
		return err
	}
	r.add(seconds(time.Since(began)), "s", "from the first delete until all Services are gone")
	if err := s.waitUntilSettled(ctx); err != nil {
		return err
	}
	r.calls("delete", s.count())
	return s.checkEmpty()
}
