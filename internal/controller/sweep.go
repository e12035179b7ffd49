// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/lb"
	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/octavia"
	"github.com/kube-octavia/kube-octavia/internal/timing"
)

// Sweeper looks now and then at everything that the cluster has in the cloud, with
// one list call per thousand objects of a kind. It brings back the Services of
// which somebody else changed something, so that it is repaired, and hands what
// belongs to no Service to the collector of orphans.
type Sweeper struct {
	// Heads lists the load balancers of the cluster, FloatingIPs all floating IPs
	// of the project.
	Heads       func(context.Context) ([]octavia.Head, error)
	FloatingIPs func(context.Context) ([]lb.FloatingIP, error)
	// Groups looks at the security groups of Services that may be gone; nil where none are managed.
	Groups func(context.Context, ...string) (groupInventory, error)
	// Certificates lists those that were stored for Services of the cluster.
	Certificates func(context.Context) ([]lb.Certificate, error)
	// Listed reports whether a load balancer that exists is among them: those that
	// were adopted and not marked yet are not.
	Listed func(lb.LoadBalancer) bool
	// ClusterUID is the cluster's.
	ClusterUID string
	// Interval lies between two sweeps; up to a fifth is added to it.
	Interval time.Duration
	// Enqueue asks for a pass over a Service.
	Enqueue func(types.NamespacedName)
	Metrics *metrics.Metrics
	Logger  logr.Logger

	orphans *collector
	// nodes looks at the nodes at the same time.
	nodes  func(context.Context) error
	memory *memory
	now    func() time.Time
}

// inventory is what one sweep saw: all that it asked for, or nothing.
type inventory struct {
	heads       []octavia.Head
	floatingIPs []lb.FloatingIP
	groups      groupInventory
	// certificates are those that were stored for Services.
	certificates []lb.Certificate
}

// Start sweeps until the context ends. A sweep that fails changes nothing and
// is made again at the next turn.
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
			s.Logger.Error(err, "the sweep failed; nothing is taken for changed, gone or forgotten because of it")
		}
	}
}

// sweep makes one sweep. Drift of load balancers is seen also while Neutron fails,
// and the other way round; orphans are judged only by what was seen completely.
func (s *Sweeper) sweep(ctx context.Context) error {
	began := s.now()
	var found inventory
	var balancers, addresses, certificates error
	if found.heads, balancers = s.Heads(ctx); balancers == nil {
		s.lookAtLoadBalancers(found.heads, began)
	}
	if found.floatingIPs, addresses = s.FloatingIPs(ctx); addresses == nil {
		s.lookAtFloatingIPs(found.floatingIPs, began)
	}
	if found.certificates, certificates = s.Certificates(ctx); certificates == nil {
		s.lookAtCertificates(found.certificates)
	}
	if err := errors.Join(balancers, addresses, s.nodes(ctx)); err != nil {
		return err
	}
	for _, key := range s.memory.reread(mostReread, began) {
		s.Enqueue(key)
	}
	if certificates != nil {
		return certificates
	}
	if s.Groups != nil {
		var err error
		if found.groups, err = s.Groups(ctx); err != nil {
			return err
		}
	}
	if err := s.orphans.collect(ctx, found); err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	return nil
}

func (s *Sweeper) lookAtLoadBalancers(heads []octavia.Head, began time.Time) {
	byID := make(map[string]octavia.Head, len(heads))
	for _, h := range heads {
		byID[h.ID] = h
	}
	for _, key := range s.memory.doubt(byID, s.Listed, began) {
		s.Logger.Info("the load balancer was changed by somebody else; reading it again", "service", key.String())
		s.Metrics.Drift.WithLabelValues(diff.Object(diff.CreateLoadBalancer{})).Inc()
		s.Enqueue(key)
	}
	for _, key := range s.memory.seconds(heads, began) {
		s.Logger.Info("the Service has another load balancer that is not remembered; reading all of it again", "service", key.String())
		s.Enqueue(key)
	}
}

// lookAtCertificates brings back the Services that have certificates which they do not
// use: left by a controller that was killed, or made by a call whose answer was lost.
func (s *Sweeper) lookAtCertificates(all []lb.Certificate) {
	for _, key := range s.memory.idle(all, s.ClusterUID) {
		s.Logger.V(1).Info("a certificate was stored for the Service that it does not use", "service", key.String())
		s.Enqueue(key)
	}
}

// mostReread is how many load balancers are read in full after one sweep because
// they were written since they last were: a node that joins has all of them written.
const mostReread = 20

func (s *Sweeper) lookAtFloatingIPs(all []lb.FloatingIP, began time.Time) {
	for _, key := range s.memory.moved(all, s.ClusterUID, began) {
		s.Logger.Info("a floating IP was changed by somebody else", "service", key.String())
		s.Metrics.Drift.WithLabelValues(diff.Object(diff.CreateFloatingIP{})).Inc()
		s.Enqueue(key)
	}
}
