// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package controller assembles the controller: queues, watches, and the loops that run beside them.
package controller

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/kube-octavia/kube-octavia/internal/cloud/octavia"
	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/memory"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/nodegroup"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/pass"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/planner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/readiness"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/service"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/survey"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/sweep"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/timing"
)

// backlog is the number of load balancers that may finish their changes at once before the watcher
// must wait for the queue.
const backlog = 1024

// Options configure the controller.
type Options struct {
	// Planner is what the planner needs, but for what the controller itself makes: its memory, its survey and the readiness
	// gates.
	Planner planner.Options
	Metrics *metrics.Metrics
	// Registry is the registry for the gauges of PENDING load balancers and of Services.
	Registry prometheus.Registerer
	Logger   logr.Logger
	// Concurrency is the number of Services that are processed concurrently. A pass takes as long
	// as its few calls. It never waits for a change in Octavia.
	Concurrency int
	// SweepInterval is the time between two sweeps, which check everything.
	SweepInterval time.Duration
	// OrphanGrace is the time before orphans are deleted, or orphan.Never.
	OrphanGrace time.Duration
	// Others searches for other controllers of the same Services before anything is written, and at each
	// sweep.
	Others *Others
	// ReadinessGates is whether readiness gates of Pods are set.
	ReadinessGates bool
	// Timing has the delays; timing.Default is for real clouds.
	Timing timing.Delays
}

// SetUp adds the Service reconciler, the watcher and the sweeper to the manager.
func SetUp(m manager.Manager, o Options) error {
	wake := make(chan event.TypedGenericEvent[owner.Key], backlog)
	stopped := make(chan struct{})
	enqueue := func(key owner.Key) {
		select {
		case wake <- event.TypedGenericEvent[owner.Key]{Object: key}:
		case <-stopped:
		}
	}
	ending := manager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		close(stopped)
		return nil
	})
	known := memory.NewStore()
	surveyed := newSurvey(o, enqueue)
	var reconciler *pass.Reconciler
	watcher := octavia.NewWatcher(octavia.WatcherOptions{
		List:          o.Planner.Octavia.ProjectHeads,
		Get:           o.Planner.Octavia.Head,
		ExistingPorts: o.Planner.Neutron.ExistingPorts,
		Logger:        o.Logger.WithName("watcher"),
		Changed:       func(id string, head octavia.Head) { reconciler.Settled(id, head) },
	})
	counted := services{reader: m.GetClient(), policy: o.Planner.Policy, elected: m.Elected(), log: o.Logger.WithName("metrics")}
	for _, c := range []prometheus.Collector{watcher, counted} {
		// Tests run one controller after the other in a process.
		o.Registry.Unregister(c)
		if err := o.Registry.Register(c); err != nil {
			return fmt.Errorf("register metrics: %w", err)
		}
	}
	recorder := m.GetEventRecorder("kube-octavia")
	options := pass.Options{
		Client: m.GetClient(), Uncached: m.GetAPIReader(), Recorder: recorder, Watcher: watcher,
		Metrics: o.Metrics, Logger: o.Logger, Memory: known, Timing: o.Timing, Enqueue: enqueue,
		First: sources[owner.Key](o.Others), Others: o.Others.Serving,
	}
	if err := setUpOptional(m, o, &options); err != nil {
		return err
	}
	o.Planner.Remembered, o.Planner.Survey = known, surveyed
	if options.Readiness != nil {
		o.Planner.Gates = options.Readiness
	}
	options.Planner = planner.New(o.Planner)
	reconciler = pass.New(options)
	sweeping := sweep.Options{
		Finder: options.Planner.Finder(), Uncached: m.GetAPIReader(), Capabilities: o.Planner.Capabilities, Memory: known,
		Interval: o.SweepInterval, OrphanGrace: o.OrphanGrace, Enqueue: enqueue,
		Recorder: recorder, Metrics: o.Metrics, Logger: o.Logger, Swept: surveyed.Drop, Look: o.Others.Look,
	}
	for _, r := range []manager.Runnable{ending, manager.RunnableFunc(watcher.Run), surveyed, sweep.New(sweeping), sweep.NewHealth(sweeping)} {
		if err := m.Add(r); err != nil {
			return fmt.Errorf("add to the manager: %w", err)
		}
	}
	return reconciler.SetUp(m, o.Concurrency, wake)
}

// setUpOptional adds what runs only if a setting requests it: the reconcilers of the nodes' security groups and of
// readiness gates.
func setUpOptional(m manager.Manager, o Options, options *pass.Options) (err error) {
	if o.Planner.Config.ManageSecurityGroups {
		options.Requirements, err = nodegroup.SetUp(m, nodegroup.Options{
			Kinds: o.Planner.Kinds, Reader: m.GetClient(), Cloud: o.Planner.Neutron, Policy: o.Planner.Policy, Config: o.Planner.Config,
			Observe: o.Planner.Adopt == claim.AdoptObserve, Memory: options.Memory, Recorder: options.Recorder, Metrics: o.Metrics,
			Timing: o.Timing, Interval: o.SweepInterval, Enqueue: options.Enqueue, Now: time.Now, First: sources[reconcile.Request](o.Others),
		})
		if err != nil {
			return err
		}
	}
	if !o.ReadinessGates {
		return nil
	}
	options.Readiness, err = readiness.SetUp(m, readiness.Options{
		Client: m.GetClient(), Uncached: m.GetAPIReader(), Recorder: options.Recorder,
		Services: service.Kind{Policy: o.Planner.Policy, Config: o.Planner.Config}, Enqueue: options.Enqueue, Timing: o.Timing, First: sources[reconcile.Request](o.Others),
	})
	return err
}

// newSurvey returns the survey of the planner's project.
func newSurvey(o Options, enqueue func(owner.Key)) *survey.Survey {
	return survey.New(survey.Options{
		LoadBalancers: o.Planner.Octavia.Listed, FloatingIPs: o.Planner.Neutron.FloatingIPs, Enqueue: enqueue, Logger: o.Logger,
	})
}
