// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package sweep

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
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
	var services corev1.ServiceList
	if err := h.Finder.Reader.List(ctx, &services, client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	monitored := map[owner.Key][]lb.Pool{}
	for i := range services.Items {
		service := &services.Items[i]
		if !h.Finder.Serves(service) {
			continue
		}
		key := owner.ServiceKey(service.Namespace, service.Name)
		if pools := h.monitored(service, key); len(pools) > 0 {
			monitored[key] = pools
		}
	}
	if len(monitored) > 0 {
		health, err := h.list(ctx)
		if err != nil {
			return err
		}
		h.Memory.SetPoolHealth(health)
		for i := range services.Items {
			service := &services.Items[i]
			key := owner.ServiceKey(service.Namespace, service.Name)
			if pools := monitored[key]; len(pools) > 0 && status.HealthDiffers(service.Status.Conditions, pools, health) {
				h.Logger.V(1).Info("the health of the members has changed", "service", key.String())
				h.Enqueue(key)
			}
		}
	}
	h.Metrics.Health.Set(float64(began.Unix()))
	return nil
}

// monitored returns the pools of the Service whose members the cloud checks.
func (h *Health) monitored(service *corev1.Service, key owner.Key) []lb.Pool {
	of := h.Finder.Owner(service)
	of.Sharer = h.Memory.Shares(key)
	return h.Memory.PoolsOf(key, func(l lb.Listener) bool { return of.OwnsListener(l) && status.Monitored(*l.Pool) })
}
