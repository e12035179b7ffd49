// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
)

// Sweeper looks now and then at all load balancers of the cluster with one list
// call per thousand, and brings back the Services whose load balancer somebody
// else changed, so that it is repaired.
type Sweeper struct {
	// Heads lists the load balancers of the cluster.
	Heads func(context.Context) ([]octavia.Head, error)
	// Listed tells whether a load balancer that exists is among them: those that
	// were adopted and not marked yet are not.
	Listed func(lb.LoadBalancer) bool
	// Interval lies between two sweeps; up to a fifth is added to it.
	Interval time.Duration
	// Enqueue asks for a pass over a Service.
	Enqueue func(types.NamespacedName)
	Metrics *Metrics
	Logger  logr.Logger

	memory *memory
	now    func() time.Time
}

// Start sweeps until the context ends. A sweep that fails changes nothing and
// is made again at the next turn.
func (s *Sweeper) Start(ctx context.Context) error {
	for {
		timer := time.NewTimer(jitter(s.Interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error(err, "the sweep failed; nothing is taken for changed or gone because of it")
		}
	}
}

func (s *Sweeper) sweep(ctx context.Context) error {
	began := s.now()
	heads, err := s.Heads(ctx)
	if err != nil {
		return err
	}
	byID := make(map[string]octavia.Head, len(heads))
	for _, h := range heads {
		byID[h.ID] = h
	}
	for _, key := range s.memory.doubt(byID, s.Listed, began) {
		s.Logger.Info("the load balancer was changed by somebody else; reading it again", "service", key.String())
		s.Metrics.drift.Inc()
		s.Enqueue(key)
	}
	return nil
}
