// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep periodically checks all cloud objects of the cluster. It finds changes by other
// clients, orphans, and nodes that load balancers cannot reach.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/diff"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// Options configure a Sweeper.
type Options struct {
	// Finder has the clients of OpenStack and Kubernetes.
	Finder *orphan.Finder
	// Uncached reads from the API server.
	Uncached     client.Reader
	Capabilities lb.Capabilities
	Memory       *memory.Store
	// Interval is the time between two sweeps, to which up to a fifth is added.
	Interval time.Duration
	// OrphanGrace is how long orphans stay, or orphan.Never.
	OrphanGrace time.Duration
	// Enqueue requests a pass over a Service.
	Enqueue func(owner.Key)
	// Look looks for other controllers of the same Services before each sweep. Swept is called after it.
	Look     func(context.Context)
	Swept    func()
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	Logger   logr.Logger
}

// Sweeper sweeps at an interval, with one list call per thousand objects of a kind. It requests
// passes over the Services with changes by other clients; these passes repair them.
type Sweeper struct {
	Options
	heads        func(context.Context) ([]octavia.Head, error)
	headsOf      func(context.Context, []string) ([]octavia.Head, error)
	floatingIPs  func(context.Context) ([]lb.FloatingIP, error)
	certificates func(context.Context) ([]lb.Certificate, error)
	nodes        func(context.Context) error
	orphans      func(context.Context, orphan.Inventory) error
}

// New returns a Sweeper.
func New(o Options) *Sweeper {
	f := o.Finder
	collector := &orphan.Collector{
		Finder: f, Uncached: o.Uncached, Grace: o.OrphanGrace, Recorder: o.Recorder, Metrics: o.Metrics, Logger: o.Logger.WithName("orphans"),
	}
	o.Logger = o.Logger.WithName("sweeper")
	return &Sweeper{
		Options: o,
		heads: func(ctx context.Context) ([]octavia.Head, error) {
			return f.Octavia.Heads(ctx, lb.ClusterTag(f.Policy.ClusterUID))
		},
		headsOf:     f.Octavia.HeadsOf,
		floatingIPs: f.Neutron.FloatingIPs,
		certificates: func(ctx context.Context) ([]lb.Certificate, error) {
			return f.Barbican.Stored(ctx, f.Policy.ClusterUID)
		},
		nodes:   (&nodes{Options: o}).check,
		orphans: collector.Collect,
	}
}

// Start sweeps until the context ends. A sweep that fails is repeated after the interval.
func (s *Sweeper) Start(ctx context.Context) error {
	for {
		timer := time.NewTimer(timing.Jitter(s.Interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		s.Look(ctx)
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error(err, "the sweep failed; it reports no drift and no orphans")
		}
		s.Swept()
	}
}

// mostReread limits how many load balancers are read in full after one sweep because they were
// written: when a node joins, all of them are.
const mostReread = 20

// sweep makes one sweep. If one OpenStack service fails, drift in the others is still found. Orphans
// are only looked for if all lists are complete.
func (s *Sweeper) sweep(ctx context.Context) error {
	began := time.Now()
	var found orphan.Inventory
	var loadBalancers, floatingIPs, certificates error
	found.LoadBalancers, loadBalancers = s.heads(ctx)
	if loadBalancers == nil {
		s.drifted(diff.CreateLoadBalancer{}, s.Memory.StaleLoadBalancers(s.withUnlisted(ctx, found.LoadBalancers, began), s.listed, began))
		s.enqueue(s.Logger, "the Service has a load balancer that is not in memory; reading everything again", s.Memory.UnknownLoadBalancers(found.LoadBalancers, began))
	}
	found.FloatingIPs, floatingIPs = s.floatingIPs(ctx)
	if floatingIPs == nil {
		s.drifted(diff.CreateFloatingIP{}, s.Memory.StaleFloatingIPs(found.FloatingIPs, s.Finder.Policy.ClusterUID, began))
	}
	found.Certificates, certificates = s.certificates(ctx)
	if certificates == nil {
		// The controller was killed after it stored them, or the answer was lost.
		s.enqueue(s.Logger.V(1), "found a stored certificate that the Service does not use", s.Memory.UnusedCertificates(found.Certificates, s.Finder.Policy.ClusterUID, began))
	}
	if err := errors.Join(loadBalancers, floatingIPs, s.nodes(ctx)); err != nil {
		return err
	}
	s.enqueue(s.Logger.V(1), "reading the load balancer again, because it was written after it was last read", s.Memory.DueForReading(mostReread, began))
	if certificates != nil {
		return certificates
	}
	var err error
	found.SecurityGroups, err = s.Finder.SecurityGroups(ctx)
	if err != nil {
		return err
	}
	if err := s.orphans(ctx, found); err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	return nil
}

// withUnlisted returns the heads with those of the load balancers that Services have without the tag of the cluster: of
// another client, not taken over yet, or without the tag that another client has removed. One that cannot be read is
// left out, and nothing is known of it.
func (s *Sweeper) withUnlisted(ctx context.Context, heads []octavia.Head, began time.Time) []octavia.Head {
	ids := s.Memory.UnlistedLoadBalancers(heads, s.listed, began)
	if len(ids) == 0 {
		return heads
	}
	more, err := s.headsOf(ctx, ids)
	if err != nil && ctx.Err() == nil {
		s.Logger.Error(err, "cannot read load balancers without the tag of this cluster; the next sweep looks at them again")
	}
	return slices.Concat(heads, more)
}

// listed reports whether the list contains the load balancer if it exists: it has the cluster's tag, or Octavia has no
// tags.
func (s *Sweeper) listed(l lb.LoadBalancer) bool {
	return !s.Capabilities.Has(lb.FeatureTags) || slices.Contains(l.Tags, lb.ClusterTag(s.Finder.Policy.ClusterUID))
}

// drifted counts and enqueues the Services with an object that another client changed or that
// failed. Object is the op that creates such an object.
func (s *Sweeper) drifted(object diff.Op, services []owner.Key) {
	kind := diff.Object(object)
	for range services {
		s.Metrics.Drift.WithLabelValues(kind).Inc()
	}
	s.enqueue(s.Logger.WithValues("kind", kind), "another client changed an object of the Service, or it failed", services)
}

// enqueue requests a pass over each of the Services.
func (s *Sweeper) enqueue(log logr.Logger, why string, services []owner.Key) {
	for _, key := range services {
		log.Info(why, "service", key.String())
		s.Enqueue(key)
	}
}
