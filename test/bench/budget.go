// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// alone is the flag of a controller that has no other replica.
var alone = []string{"--leader-elect=false"}

// resyncs is how often a Service is touched to see what that costs.
const resyncs = 5

// budget counts the calls that one Service costs, with one port and with five.
// A Service before it has paid for what is looked up once.
func budget(ctx context.Context, b *bench, r *result) error {
	cloud := cloudsim.Options{BuildTime: time.Second, UpdateTime: 300 * time.Millisecond, DeleteTime: time.Second}
	return b.withStage(ctx, cloud, alone, func(s *stage) error {
		first, err := s.costOf(ctx, func() (batch, error) { return s.createAndWait(ctx, "first", 1, 1) })
		if err != nil {
			return err
		}
		r.calls("create, P=1, the first of all", first.count)
		if _, err := s.costOf(ctx, func() (batch, error) { return first.batch, s.deleteAndWait(ctx, first.batch) }); err != nil {
			return err
		}
		for _, ports := range []int{1, 5} {
			if err := budgetOf(ctx, s, r, ports); err != nil {
				return fmt.Errorf("with %d ports: %w", ports, err)
			}
		}
		return nil
	})
}

func budgetOf(ctx context.Context, s *stage, r *result, ports int) error {
	note := func(what string, most int, of string, c cost) {
		during := fmt.Sprintf("%s, P=%d", what, ports)
		r.calls(during, c.count)
		r.add(float64(c.count.Passes), "calls", "%s", during).atMost(float64(most), of)
		s.bench.say("%s: %d calls, of them %d writes; %d of the watcher", during, c.count.Passes, c.count.Writes, c.count.Background)
	}
	create, err := s.costOf(ctx, func() (batch, error) { return s.createAndWait(ctx, fmt.Sprintf("p%d", ports), 1, ports) })
	if err != nil {
		return err
	}
	note("create, external", 4, "design: 2 writes and at most 2 reads", create)
	resync, err := s.costOf(ctx, func() (batch, error) { return create.batch, s.touchAndWait(ctx, create.batch) })
	if err != nil {
		return err
	}
	note(fmt.Sprintf("unchanged, %d resyncs", resyncs), 0, "design", resync)
	join, err := s.costOf(ctx, func() (batch, error) {
		if err := s.addNode(ctx); err != nil {
			return batch{}, err
		}
		return create.batch, s.waitFor(ctx, "the members", func() error { return s.checkSettled(ports * s.nodes) })
	})
	if err != nil {
		return err
	}
	note("a node joins", ports+2, "design: P writes and at most 2 reads", join)
	remove, err := s.costOf(ctx, func() (batch, error) { return create.batch, s.deleteAndWait(ctx, create.batch) })
	if err != nil {
		return err
	}
	note("delete", 3, "issue: at most 3; design: 2 writes", remove)
	return s.checkEmpty()
}

// cost is what was done to which Services, and the calls that this took.
type cost struct {
	batch batch
	count count
}

// costOf counts the calls from the beginning of what is done until the
// controller has settled.
func (s *stage) costOf(ctx context.Context, do func() (batch, error)) (cost, error) {
	s.resetCalls()
	made, err := do()
	if err != nil {
		return cost{}, err
	}
	if err := s.waitUntilSettled(ctx); err != nil {
		return cost{}, err
	}
	return cost{batch: made, count: s.count()}, nil
}

// createAndWait creates Services and waits until all are Programmed.
func (s *stage) createAndWait(ctx context.Context, prefix string, n, ports int) (batch, error) {
	made, err := s.services.createBatch(ctx, prefix, n, ports)
	if err != nil {
		return made, err
	}
	return made, s.waitFor(ctx, "the Services to be Programmed", func() error { return s.services.checkProgrammed(made) })
}

// deleteAndWait deletes Services and waits until all are gone.
func (s *stage) deleteAndWait(ctx context.Context, made batch) error {
	if err := s.services.deleteBatch(ctx, made); err != nil {
		return err
	}
	return s.waitFor(ctx, "the Services to go", func() error { return s.services.checkGone(made) })
}

// touchAndWait changes each Service several times in a way that means nothing, each
// time waiting for the pass that follows.
func (s *stage) touchAndWait(ctx context.Context, made batch) error {
	const passes = "controller_runtime_reconcile_total"
	for i := range resyncs {
		before, err := s.controller.metric(passes)
		if err != nil {
			return err
		}
		for name := range made.at {
			if err := s.services.touch(ctx, name, fmt.Sprint(i)); err != nil {
				return err
			}
		}
		err = s.waitFor(ctx, "passes over the Services", func() error {
			now, err := s.controller.metric(passes)
			if err == nil && int(now-before) < len(made.at) {
				err = fmt.Errorf("%v passes", now-before)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkEmpty returns an error if anything of a Service is left in the cloud.
func (s *stage) checkEmpty() error {
	left, err := s.inventory()
	if err == nil && left != (inventory{}) {
		err = fmt.Errorf("all Services are gone, and the cloud still has %+v", left)
	}
	return err
}
