// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the controller's own metrics; package openstack counts calls.
// It may import openstack.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Metrics counts what the controller does to the cloud. Calls are counted by
// package openstack.
type Metrics struct {
	// ops counts writes to the cloud by kind and class of error, duration times them.
	ops      *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// Drift, Repaired and Reported count by kind of object, as does Orphans.
	Drift, Repaired, Reported *prometheus.CounterVec
	Orphans                   *prometheus.GaugeVec
	// LeftBehind counts load balancers, not their parts.
	LeftBehind prometheus.Counter
	// ForeignWrites counts by where they were, Contested counts Services.
	ForeignWrites *prometheus.CounterVec
	Contested     prometheus.Gauge
	// Observed counts Services that are only observed, by reason.
	Observed *prometheus.GaugeVec
	// Unattached and Addressless count nodes.
	Unattached, Addressless prometheus.Gauge
}

// New registers the controller's metrics. A second controller of the
// process, started after the first has ended, goes on with the first's.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		ops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_ops_total",
			Help: "Writes to the cloud, by kind and by the class of their error, empty for success.",
		}, []string{"kind", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kube_octavia_op_duration_seconds",
			Help:    "How long the cloud took to accept a write; what it then does in the background is not counted.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 13),
		}, []string{"kind"}),
		Drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_detected_total",
			Help: "Services whose load balancer or floating IP a sweep found changed, failed or gone since the controller last touched it, by kind.",
		}, []string{"kind"}),
		Repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_repaired_total",
			Help: "Writes that made again what somebody else had changed, by kind of object.",
		}, []string{"kind"}),
		Reported: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_reported_total",
			Help: "Writes that would make again what somebody else has changed, and that a Service's drift-policy asks to leave out, by kind of object.",
		}, []string{"kind"}),
		Orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_orphans",
			Help: "Objects in the cloud that bear the cluster's uid and that of no Service of it, by kind.",
		}, []string{"kind"}),
		LeftBehind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kube_octavia_left_behind_total",
			Help: "Load balancers that Octavia made ACTIVE and left with parts that are not, whose parts were replaced or written once more.",
		}),
		ForeignWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_foreign_writes_total",
			Help: "Writes of somebody else to what is ours, on a Service (kubernetes) or in what it has (cloud).",
		}, []string{"where"}),
		Observed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_only_observed_services",
			Help: "Services for which nothing is written because of --adopt=observe, by the reason of their condition Programmed.",
		}, []string{"reason"}),
		Contested: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_contested_services",
			Help: "Services on which work has stopped because somebody else writes to them again and again.",
		}),
		Unattached: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_security_group_nodes_unattached",
			Help: "Nodes that take traffic and cannot have the security group by which load balancers reach nodes.",
		}),
		Addressless: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_nodes_without_address",
			Help: "Nodes that are to take traffic and have no address of a Service's IP family.",
		}),
	}
	return m, errors.Join(register(registry, &m.ops), register(registry, &m.duration), register(registry, &m.Drift),
		register(registry, &m.Repaired), register(registry, &m.Reported), register(registry, &m.Orphans),
		register(registry, &m.LeftBehind), register(registry, &m.ForeignWrites), register(registry, &m.Contested), register(registry, &m.Observed),
		register(registry, &m.Unattached), register(registry, &m.Addressless))
}

// register registers a collector, or takes the one that is registered already.
func register[C prometheus.Collector](registry prometheus.Registerer, collector *C) error {
	err := registry.Register(*collector)
	var there prometheus.AlreadyRegisteredError
	if errors.As(err, &there) {
		if same, ok := there.ExistingCollector.(C); ok {
			*collector = same
			return nil
		}
	}
	return err
}

// Write counts a write to the cloud of the kind, which ended with err.
func (m *Metrics) Write(kind string, err error, took time.Duration) {
	m.ops.WithLabelValues(kind, string(openstack.Classify(err))).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}
