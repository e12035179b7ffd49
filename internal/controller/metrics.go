// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
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
	drift    prometheus.Counter
}

// NewMetrics registers the controller's metrics.
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
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kube_octavia_drift_detected_total",
			Help: "Load balancers that a sweep found changed, failed or gone since the controller last touched them.",
		}),
	}
	for _, c := range []prometheus.Collector{m.ops, m.duration, m.drift} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *Metrics) op(op diff.Op, err error, took time.Duration) {
	m.ops.WithLabelValues(diff.Kind(op), string(openstack.Classify(err))).Inc()
	m.duration.WithLabelValues(diff.Kind(op)).Observe(took.Seconds())
}
