// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"time"

	"github.com/kube-octavia/kube-octavia/test/bench/cloud"
)

// Measured is what a change cost.
type Measured struct {
	Began time.Time
	Calls cloud.Calls
	// Finished is how long after Began each load balancer that was changed finished its last
	// change, by id.
	Finished map[string]time.Duration
	// LastCall is how long after Began the controller made its last call.
	LastCall time.Duration
	// CPU is what the controller used until it had settled, Memory what it had then, in MB.
	CPU    time.Duration
	Memory float64
}

// Measure makes a change and waits until the condition holds and the controller has settled.
func (s *Stage) Measure(ctx context.Context, change, condition func(context.Context) error) (Measured, error) {
	return s.measure(ctx, change, func(ctx context.Context) error { return s.Settle(ctx, condition) })
}

// MeasureUntil makes a change and waits until the condition holds, whatever the controller
// does then.
func (s *Stage) MeasureUntil(ctx context.Context, what string, change, condition func(context.Context) error) (Measured, error) {
	return s.measure(ctx, change, func(ctx context.Context) error { return s.Wait(ctx, what, condition) })
}

func (s *Stage) measure(ctx context.Context, change, wait func(context.Context) error) (Measured, error) {
	s.Cloud.Reset()
	process, before := s.process, time.Duration(0)
	if process != nil {
		before = process.CPU()
	}
	m := Measured{Began: time.Now()}
	if err := change(ctx); err != nil {
		return m, err
	}
	if err := wait(ctx); err != nil {
		return m, err
	}
	m.Calls, m.Memory, m.CPU = s.Cloud.Calls(), s.Memory(), s.CPU()
	if s.process == process {
		m.CPU -= before
	}
	m.Finished = map[string]time.Duration{}
	for id, at := range s.Cloud.Finished() {
		m.Finished[id] = at.Sub(m.Began)
	}
	for _, at := range s.Cloud.CallTimes() {
		m.LastCall = max(m.LastCall, at.Sub(m.Began))
	}
	return m, nil
}

// Times returns the times of all load balancers that were changed.
func (m Measured) Times() []time.Duration {
	var times []time.Duration
	for _, d := range m.Finished {
		times = append(times, d)
	}
	return times
}

// MembersGrow returns a condition: all pools of the project together have that many members
// more than now, or fewer if it is negative.
func (s *Stage) MembersGrow(ctx context.Context, by int) (func(context.Context) error, error) {
	before, err := s.Cloud.Members(ctx)
	return func(ctx context.Context) error {
		// Counting members costs a real cloud much more than this list.
		if err := s.Cloud.CheckIdle(ctx); err != nil {
			return err
		}
		got, err := s.Cloud.Members(ctx)
		if err == nil && got != before+by {
			err = fmt.Errorf("all pools together have %d members, not %d", got, before+by)
		}
		return err
	}, err
}

// Nothing is a condition that always holds.
func Nothing(context.Context) error { return nil }
