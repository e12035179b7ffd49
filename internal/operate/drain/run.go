// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/kube-octavia/kube-octavia/internal/operate/cleanup"
)

// result is the result of Drainer.Run.
type result struct {
	services []Service
	plan     cleanup.Plan
	err      error
}

// RunIn is Run, in the manager of a controller with the Drainer's policy. It starts the manager, and stops it at the end.
// The manager elects a leader with the Lease, so that Run begins when no other controller works.
func (d *Drainer) RunIn(ctx context.Context, m manager.Manager, lease Lease, end End) ([]Service, cleanup.Plan, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	results := make(chan result, 1)
	work := manager.RunnableFunc(func(ctx context.Context) error {
		defer stop()
		services, plan, err := d.Run(ctx)
		end.reached.Store(true)
		results <- result{services, plan, err}
		return nil
	})
	if err := errors.Join(m.Add(work), m.Add(awaitLease{lease, m.Elected()})); err != nil {
		return nil, cleanup.Plan{}, fmt.Errorf("set up the controller: %w", err)
	}
	failure := m.Start(ctx)
	select {
	case r := <-results:
		return r.services, r.plan, errors.Join(r.err, failure)
	default:
	}
	return nil, cleanup.Plan{}, errors.Join(failure, lease.notElected(ctx))
}

// End is the end of a drain.
type End struct{ reached *atomic.Bool }

// NewEnd returns an End that is not reached.
func NewEnd() End { return End{new(atomic.Bool)} }

// Logger returns a logger that drops errors after the end: a manager that is stopped logs the loss of the Lease as an
// error.
func (e End) Logger(log logr.Logger) logr.Logger {
	return logr.New(untilEnd{log.GetSink(), e.reached})
}

// untilEnd drops errors after the end.
type untilEnd struct {
	logr.LogSink
	ended *atomic.Bool
}

// Error implements logr.LogSink.
func (u untilEnd) Error(err error, text string, keysAndValues ...any) {
	if !u.ended.Load() {
		u.LogSink.Error(err, text, keysAndValues...)
	}
}

// WithValues implements logr.LogSink.
func (u untilEnd) WithValues(keysAndValues ...any) logr.LogSink {
	return untilEnd{u.LogSink.WithValues(keysAndValues...), u.ended}
}

// WithName implements logr.LogSink.
func (u untilEnd) WithName(name string) logr.LogSink {
	return untilEnd{u.LogSink.WithName(name), u.ended}
}
