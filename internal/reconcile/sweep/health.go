// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Health follows the health of members, with one list of pools per thousand of them a minute. It requests a pass over each
// Service whose condition Serving says something else. While no pool of a Service has a health monitor, it makes no call.
type Health struct {
	Options
	list func(context.Context) (map[string]string, error)
}

// NewHealth returns a Health.
func NewHealth(o Options) *Health {
	o.Interval, o.Logger = min(o.Interval, timing.HealthInterval), o.Logger.WithName("health")
	return &Health{Options: o, list: o.Finder.Octavia.PoolHealth}
}

// Start checks at each interval until the context ends.
func (h *Health) Start(ctx context.Context) error {
	ticker := time.NewTicker(h.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		if err := h.check(ctx); err != nil && ctx.Err() == nil {
			h.Logger.Error(err, "cannot read the health of members; conditions Serving stay as they are")
		}
	}
}

// check makes one check.
func (h *Health) check(ctx context.Context) error {
	began := time.Now()
	owners, err := h.Finder.Owners().List(ctx)
	if err != nil {
		return err
	}
	monitored := map[owner.Key][]lb.Pool{}
	for _, o := range owners {
		if !o.Serves {
			continue
		}
		if pools := h.monitored(o); len(pools) > 0 {
			monitored[o.Key] = pools
		}
	}
	if len(monitored) > 0 {
		health, err := h.list(ctx)
		if err != nil {
			return err
		}
		h.Memory.SetPoolHealth(health)
		for _, o := range owners {
			if pools := monitored[o.Key]; len(pools) > 0 && status.HealthDiffers(o.Recorded.Conditions, pools, health) {
				h.Logger.V(1).Info("the health of the members has changed", "service", o.Key.String())
				h.Enqueue(o.Key)
			}
		}
	}
	h.Metrics.Health.Set(float64(began.Unix()))
	return nil
}

// monitored returns the pools of the owner whose members the cloud checks.
func (h *Health) monitored(o claim.Owner) []lb.Pool {
	of := o.Identity
	of.Sharer = h.Memory.Shares(o.Key)
	return h.Memory.PoolsOf(o.Key, func(l lb.Listener) bool { return of.OwnsListener(l) && status.Monitored(*l.Pool) })
}
