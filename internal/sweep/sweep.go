// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package sweep looks at everything that the cluster has in the cloud, at an interval. It
// finds what another client has changed, what has no Service any more, and nodes that load
// balancers cannot reach.
//
// It may import orphan and what that imports, build, octavia and timing. What the controller
// remembers it asks through Memory.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/orphan"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Memory is what the controller remembers of the cloud. Its methods compare that with lists
// that began at the given time, and return the Services to make a pass over. What differs is
// stale, and is not planned on any more.
type Memory interface {
	// StaleLoadBalancers returns the Services whose load balancer is not as it is in the list,
	// which holds heads by id. Listed reports whether the list holds a load balancer if that
	// exists.
	StaleLoadBalancers(heads map[string]octavia.Head, listed func(lb.LoadBalancer) bool, began time.Time) []types.NamespacedName
	// UnknownLoadBalancers returns the Services that have a load balancer in the list which is
	// not remembered.
	UnknownLoadBalancers(heads []octavia.Head, began time.Time) []types.NamespacedName
	// StaleFloatingIPs returns the Services whose floating IPs are not as they are in the list
	// of all.
	StaleFloatingIPs(all []lb.FloatingIP, clusterUID string, began time.Time) []types.NamespacedName
	// UnusedCertificates returns the Services that have certificates in the list which their
	// load balancers do not use.
	UnusedCertificates(all []lb.Certificate, clusterUID string) []types.NamespacedName
	// DueForReading returns the Services whose load balancer is to be read in full, since
	// another client may have changed it unseen; at most so many.
	DueForReading(most int, began time.Time) []types.NamespacedName
	// DualStack reports whether the Service has a load balancer of both families.
	DualStack(types.NamespacedName) bool
}

// Options are what a Sweeper is made of.
type Options struct {
	// Finder has the clients of cloud and cluster.
	Finder *orphan.Finder
	// Uncached asks the API server.
	Uncached     client.Reader
	Capabilities lb.Capabilities
	Memory       Memory
	// Interval lies between two sweeps; up to a fifth is added to it.
	Interval time.Duration
	// OrphanGrace is how long orphans stay, or orphan.Never.
	OrphanGrace time.Duration
	// Enqueue asks for a pass over a Service.
	Enqueue  func(types.NamespacedName)
	Recorder events.EventRecorder
	Metrics  *metrics.Metrics
	Logger   logr.Logger
}

// Sweeper sweeps at an interval, with one list call per thousand objects of a kind. It brings
// back the Services of which another client changed something, so that it is repaired.
type Sweeper struct {
	Options
	heads        func(context.Context) ([]octavia.Head, error)
	floatingIPs  func(context.Context) ([]lb.FloatingIP, error)
	certificates func(context.Context) ([]lb.Certificate, error)
	// nodes looks at the nodes, and orphans at what has no Service.
	nodes   func(context.Context) error
	orphans func(context.Context, orphan.Inventory) error
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
			return f.Octavia.Heads(ctx, lb.ClusterTag(f.ClusterUID))
		},
		floatingIPs:  f.Neutron.FloatingIPs,
		certificates: func(ctx context.Context) ([]lb.Certificate, error) { return f.Barbican.Stored(ctx, f.ClusterUID) },
		nodes:        (&nodes{Options: o}).check,
		orphans:      collector.Collect,
	}
}

// Start sweeps until the context ends. A sweep that fails changes nothing and is made again
// at the next turn.
func (s *Sweeper) Start(ctx context.Context) error {
	for {
		timer := time.NewTimer(timing.Jitter(s.Interval))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.Logger.Error(err, "the sweep failed; it reports no drift and no orphans")
		}
	}
}

// mostReread is how many load balancers are read in full after one sweep because they were
// written since they last were: a node that joins has all of them written.
const mostReread = 20

// sweep makes one sweep. Drift of load balancers is found also while Neutron fails, and the
// other way round; orphans are judged only by what was seen completely.
func (s *Sweeper) sweep(ctx context.Context) error {
	began := time.Now()
	var found orphan.Inventory
	var loadBalancers, floatingIPs, certificates error
	if found.LoadBalancers, loadBalancers = s.heads(ctx); loadBalancers == nil {
		s.compareLoadBalancers(found.LoadBalancers, began)
	}
	if found.FloatingIPs, floatingIPs = s.floatingIPs(ctx); floatingIPs == nil {
		s.drifted(diff.CreateFloatingIP{}, s.Memory.StaleFloatingIPs(found.FloatingIPs, s.Finder.ClusterUID, began))
	}
	if found.Certificates, certificates = s.certificates(ctx); certificates == nil {
		// Left by a controller that was killed, or made by a call whose answer was lost.
		s.enqueue(s.Logger.V(1), "found a stored certificate that the Service does not use", s.Memory.UnusedCertificates(found.Certificates, s.Finder.ClusterUID))
	}
	if err := errors.Join(loadBalancers, floatingIPs, s.nodes(ctx)); err != nil {
		return err
	}
	s.enqueue(s.Logger.V(1), "reading the load balancer again, because it was written after it was last read", s.Memory.DueForReading(mostReread, began))
	if certificates != nil {
		return certificates
	}
	var err error
	if found.SecurityGroups, err = s.Finder.SecurityGroups(ctx); err != nil {
		return err
	}
	if err := s.orphans(ctx, found); err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	return nil
}

func (s *Sweeper) compareLoadBalancers(heads []octavia.Head, began time.Time) {
	byID := make(map[string]octavia.Head, len(heads))
	for _, h := range heads {
		byID[h.ID] = h
	}
	s.drifted(diff.CreateLoadBalancer{}, s.Memory.StaleLoadBalancers(byID, s.listed, began))
	s.enqueue(s.Logger, "the Service has a load balancer that is not in memory; reading everything again", s.Memory.UnknownLoadBalancers(heads, began))
}

// listed reports whether the list of load balancers holds one if it exists: it does not hold
// those that were adopted and are not marked yet.
func (s *Sweeper) listed(l lb.LoadBalancer) bool {
	return !s.Capabilities.Has(lb.FeatureTags) || slices.Contains(l.Tags, lb.ClusterTag(s.Finder.ClusterUID))
}

// drifted counts the Services of which another client changed an object, or that has failed.
// The op that creates the object gives its kind.
func (s *Sweeper) drifted(object diff.Op, services []types.NamespacedName) {
	kind := diff.Object(object)
	for range services {
		s.Metrics.Drift.WithLabelValues(kind).Inc()
	}
	s.enqueue(s.Logger.WithValues("kind", kind), "another client changed an object of the Service, or it failed", services)
}

// enqueue asks for a pass over each of the Services.
func (s *Sweeper) enqueue(log logr.Logger, why string, services []types.NamespacedName) {
	for _, key := range services {
		log.Info(why, "service", key.String())
		s.Enqueue(key)
	}
}
