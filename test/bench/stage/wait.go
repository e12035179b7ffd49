// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Wait calls check until it returns no error. What is for the error.
func (s *Stage) Wait(ctx context.Context, what string, check func(context.Context) error) error {
	late := time.After(s.options.Timeout)
	tick := time.NewTicker(s.Cloud.PollInterval)
	defer tick.Stop()
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		if s.process != nil {
			if ended := s.process.CheckAlive(); ended != nil {
				return fmt.Errorf("wait for %s: %w", what, ended)
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for %s: %w", what, context.Cause(ctx))
		case <-late:
			return fmt.Errorf("waited %v for %s: %w%s", s.options.Timeout, what, err, s.tail())
		case <-tick.C:
		}
	}
}

func (s *Stage) tail() string {
	if s.process == nil {
		return "; the controller is not running"
	}
	return s.process.Tail()
}

// Settle waits until the condition holds, no load balancer is PENDING, and the controller has
// made no call for a while.
func (s *Stage) Settle(ctx context.Context, condition func(context.Context) error) error {
	calls, since := -1, time.Now()
	return s.Wait(ctx, "the controller to finish", func(ctx context.Context) error {
		if n := s.Cloud.Calls().Total; n != calls {
			calls, since = n, time.Now()
		}
		// A condition that only looks at Kubernetes spares the cloud the list.
		if err := condition(ctx); err != nil {
			since = time.Now()
			return err
		}
		if err := s.Cloud.CheckIdle(ctx); err != nil {
			since = time.Now()
			return err
		}
		if quiet := time.Since(since); quiet < s.Cloud.SettleTime {
			return fmt.Errorf("the last of %d calls was made %v ago, and %v without a call are expected", calls, quiet.Round(time.Millisecond), s.Cloud.SettleTime)
		}
		return nil
	})
}

// Pause waits for a time, and returns an error if the controller ends.
func (s *Stage) Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return s.process.CheckAlive()
	}
}

// Called is a condition: the controller has made a call since the measurement began.
func (s *Stage) Called(context.Context) error {
	if s.Cloud.Calls().Total == 0 {
		return errors.New("the controller has made no call to the cloud")
	}
	return nil
}
