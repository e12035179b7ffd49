// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/diff"
	"github.com/kube-octavia/kube-octavia/internal/openstack"
)

// Metrics counts what the controller does to the cloud. Calls are counted by
// package openstack.
type Metrics struct {
	ops      *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// drift, repaired and reported count by kind of object, as does orphans.
	drift, repaired, reported *prometheus.CounterVec
	orphans                   *prometheus.GaugeVec
	// leftBehind counts load balancers, not their parts.
	leftBehind prometheus.Counter
	// foreignWrites counts by where they were, contested Services.
	foreignWrites *prometheus.CounterVec
	contested     prometheus.Gauge
	// observed counts Services that are only observed, by reason.
	observed *prometheus.GaugeVec
	// unattached and addressless count nodes.
	unattached, addressless prometheus.Gauge
}

// NewMetrics registers the controller's metrics. A second controller of the
// process, started after the first has ended, goes on with the first's.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
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
		drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_detected_total",
			Help: "Services whose load balancer or floating IP a sweep found changed, failed or gone since the controller last touched it, by kind.",
		}, []string{"kind"}),
		repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_repaired_total",
			Help: "Writes that made again what somebody else had changed, by kind of object.",
		}, []string{"kind"}),
		reported: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_reported_total",
			Help: "Writes that would make again what somebody else has changed, and that a Service's drift-policy asks to leave out, by kind of object.",
		}, []string{"kind"}),
		orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_orphans",
			Help: "Objects in the cloud that bear the cluster's uid and that of no Service of it, by kind.",
		}, []string{"kind"}),
		leftBehind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kube_octavia_left_behind_total",
			Help: "Load balancers that Octavia made ACTIVE and left with parts that are not, whose parts were replaced or written once more.",
		}),
		foreignWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_foreign_writes_total",
			Help: "Writes of somebody else to what is ours, on a Service (kubernetes) or in what it has (cloud).",
		}, []string{"where"}),
		observed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_only_observed_services",
			Help: "Services for which nothing is written because of --adopt=observe, by the reason of their condition Programmed.",
		}, []string{"reason"}),
		contested: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_contested_services",
			Help: "Services on which work has stopped because somebody else writes to them again and again.",
		}),
		unattached: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_security_group_nodes_unattached",
			Help: "Nodes that take traffic and cannot have the security group by which load balancers reach nodes.",
		}),
		addressless: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_nodes_without_address",
			Help: "Nodes that are to take traffic and have no address of a Service's IP family.",
		}),
	}
	return m, errors.Join(register(registry, &m.ops), register(registry, &m.duration), register(registry, &m.drift),
		register(registry, &m.repaired), register(registry, &m.reported), register(registry, &m.orphans),
		register(registry, &m.leftBehind), register(registry, &m.foreignWrites), register(registry, &m.contested), register(registry, &m.observed),
		register(registry, &m.unattached), register(registry, &m.addressless))
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

func (m *Metrics) op(op diff.Op, err error, took time.Duration) {
	m.write(diff.Kind(op), err, took)
}

// write counts a write of the kind.
func (m *Metrics) write(kind string, err error, took time.Duration) {
	m.ops.WithLabelValues(kind, string(openstack.Classify(err))).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}
