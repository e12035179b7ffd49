// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// The Services of the scenarios about a full cluster.
const (
	fullServices = 100
	fullPorts    = 5
)

// withServices measures on a stage with many Services that the controller has finished.
func (b *bench) withServices(ctx context.Context, cloud cloudsim.Options, measure func(*stage, batch) error) error {
	cloud.BuildTime = time.Second
	return b.withStage(ctx, cloud, alone, func(s *stage) error {
		made, err := s.createAndWait(ctx, "full", fullServices, fullPorts)
		if err != nil {
			return err
		}
		if err := s.waitUntilSettled(ctx); err != nil {
			return err
		}
		b.say("%d Services are Programmed", fullServices)
		return measure(s, made)
	})
}

// nodeJoin lets a node join and measures until every pool has it and Octavia is
// done, for each of the times that Octavia takes for an update.
func nodeJoin(ctx context.Context, b *bench, r *result) error {
	return b.withServices(ctx, cloudsim.Options{}, func(s *stage, _ batch) error {
		for _, update := range b.updateTimes {
			s.cloud.SetUpdateTime(update)
			s.resetCalls()
			began := time.Now()
			if err := s.addNode(ctx); err != nil {
				return err
			}
			err := s.waitFor(ctx, "all members", func() error { return s.checkSettled(fullServices * fullPorts * s.nodes) })
			if err != nil {
				return err
			}
			took := time.Since(began)
			r.add(seconds(took), "s", "%v an update: until all members are there and all load balancers ACTIVE", update)
			ratio := r.add(took.Seconds()/(fullPorts*update).Seconds(), "1", "%v an update: ratio to %d updates one after the other", update, fullPorts)
			if update == 4*time.Second {
				ratio.atMost(1.1, "design")
			}
			if err := s.waitUntilSettled(ctx); err != nil {
				return err
			}
			c := s.count()
			r.calls(fmt.Sprintf("%v an update", update), c)
			r.add(float64(c.Passes)/fullServices, "calls", "%v an update: calls of passes for each Service", update).
				atMost(fullPorts+2, "design: P writes and at most 2 reads")
			r.add(float64(c.Background), "calls", "%v an update: calls of the watcher for all Services together", update)
		}
		return r.throttled(s)
	})
}

// restart stops the controller of a full cluster, starts another, and counts
// what that one calls until it is done and, later, while there is nothing to do.
func restart(ctx context.Context, b *bench, r *result) error {
	return b.withServices(ctx, cloudsim.Options{}, func(s *stage, _ batch) error {
		if err := s.controller.stop(); err != nil {
			return err
		}
		s.resetCalls()
		began := time.Now()
		if err := s.start(); err != nil {
			return err
		}
		err := s.waitFor(ctx, "a pass over every Service", func() error {
			n, err := s.controller.metric("controller_runtime_reconcile_total")
			if err == nil && n < fullServices {
				err = fmt.Errorf("%v passes", n)
			}
			return err
		})
		if err != nil {
			return err
		}
		if err := s.waitUntilSettled(ctx); err != nil {
			return err
		}
		c := s.count()
		r.calls("restart", c)
		r.add(seconds(s.lastPassCall().Sub(began)), "s", "from the start of the process to its last call for a Service")
		r.add(float64(c.Passes+c.Background), "calls", "calls from the start until settled").atMost(fullServices+4, "design: M and 4 for each 1,000 objects")
		r.add(float64(c.Writes), "calls", "writes from the start until settled").atMost(0, "design: what is as it should be is not written")
		if err := r.throttled(s); err != nil {
			return err
		}
		return idle(ctx, s, r)
	})
}

// idle counts what the controller calls while there is nothing to do.
func idle(ctx context.Context, s *stage, r *result) error {
	s.bench.say("%v without work", s.bench.idle)
	s.resetCalls()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(s.bench.idle):
	}
	if err := s.controller.checkAlive(); err != nil {
		return err
	}
	c := s.count()
	r.calls("idle", c)
	r.add(float64(c.Passes), "calls", "calls of passes in %v without work", s.bench.idle).atMost(0, "design")
	r.add(float64(c.Background), "calls", "calls of the sweeper in %v without work", s.bench.idle).
		atMost(float64(1+int(s.bench.idle/time.Minute)), "design: 1 for each 1,000 load balancers and sweep, a sweep a minute")
	return r.memory(s, "after the restart and the time without work")
}

// memory measures the controller's memory with a full cluster.
func memory(ctx context.Context, b *bench, r *result) error {
	return b.withServices(ctx, cloudsim.Options{}, func(s *stage, _ batch) error {
		return r.memory(s, "with all Services settled")
	})
}

// memory adds the sizes of the controller's process.
func (r *result) memory(s *stage, when string) error {
	for _, size := range []string{"VmRSS", "VmHWM"} {
		mb, err := s.controller.memory(size)
		if err != nil {
			return err
		}
		f := r.add(mb, "MB", "%s of the controller %s", size, when)
		if size == "VmRSS" {
			f.atMost(100, "issue")
		}
	}
	heap, err := s.controller.metric("go_memstats_heap_inuse_bytes")
	if err != nil {
		return err
	}
	r.add(heap/1e6, "MB", "heap in use of the controller %s", when)
	return nil
}
