// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metrics holds the controller's own metrics; package openstack counts calls.
package metrics

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

// Metrics are the metrics of the controller.
type Metrics struct {
	// ops counts writes to the cloud by operation and error class, duration measures them.
	ops      *prometheus.CounterVec
	duration *prometheus.HistogramVec
	// Drift, Repaired, Reported and Orphans count by kind of object.
	Drift, Repaired, Reported *prometheus.CounterVec
	Orphans                   *prometheus.GaugeVec
	// LeftBehind counts load balancers, not their children.
	LeftBehind prometheus.Counter
	// ForeignWrites counts writes of other clients by place; Contested counts Services.
	ForeignWrites *prometheus.CounterVec
	Contested     prometheus.Gauge
	// Observed counts Services that are only observed, by reason.
	Observed *prometheus.GaugeVec
	// OtherControllers counts other controllers of the same Services, by kind.
	OtherControllers *prometheus.GaugeVec
	// Unattached and Addressless count nodes.
	Unattached, Addressless prometheus.Gauge
	// Health is the time when the health of members was last read.
	Health prometheus.Gauge
}

// New registers the metrics. A second controller in the same process, started after the first has ended, shares
// them.
func New(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		ops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_ops_total",
			Help: "Writes to the cloud, by operation and error class (empty for success).",
		}, []string{"kind", "class"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kube_octavia_op_duration_seconds",
			Help:    "Time until the cloud accepted a write, without the work that it then does in the background.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 13),
		}, []string{"kind"}),
		Drift: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_detected_total",
			Help: "Load balancers and floating IPs that a sweep found changed, failed or deleted since kube-octavia last wrote them, and changes of the nodes' security group, by kind.",
		}, []string{"kind"}),
		Repaired: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_repaired_total",
			Help: "Writes that undid changes made outside kube-octavia, by kind of object.",
		}, []string{"kind"}),
		Reported: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_drift_reported_total",
			Help: "Writes that would undo changes made outside kube-octavia, left out because of drift-policy report, by kind of object.",
		}, []string{"kind"}),
		Orphans: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_orphans",
			Help: "Cloud objects of this cluster that no Service uses, by kind.",
		}, []string{"kind"}),
		LeftBehind: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "kube_octavia_incomplete_load_balancers_total",
			Help: "ACTIVE load balancers with children that Octavia did not finish, which were replaced or written again.",
		}),
		ForeignWrites: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_conflicting_writes_total",
			Help: "Writes of other clients to what kube-octavia manages: on Services (kubernetes) or on their cloud objects (cloud).",
		}, []string{"where"}),
		Observed: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_observe_only_services",
			Help: "Services that are only observed because of --adopt=observe, by reason of condition Programmed.",
		}, []string{"reason"}),
		Contested: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_conflicting_controller_services",
			Help: "Services that kube-octavia has stopped changing because another controller keeps changing them.",
		}),
		OtherControllers: newOtherControllers(),
		Unattached: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_security_group_nodes_unattached",
			Help: "Nodes that should be members but to which the security group for load balancer traffic cannot be attached.",
		}),
		Addressless: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_nodes_without_address",
			Help: "Nodes that should be members but have no address of a Service's IP family.",
		}),
		Health: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_member_health_timestamp_seconds",
			Help: "Unix time when the health of members was last read, or found not to be monitored; 0 before the first time.",
		}),
	}
	m.zero()
	return m, errors.Join(openstack.Register(registry, &m.ops), openstack.Register(registry, &m.duration), openstack.Register(registry, &m.Drift),
		openstack.Register(registry, &m.Repaired), openstack.Register(registry, &m.Reported), openstack.Register(registry, &m.Orphans),
		openstack.Register(registry, &m.LeftBehind), openstack.Register(registry, &m.ForeignWrites), openstack.Register(registry, &m.Contested), openstack.Register(registry, &m.Observed),
		openstack.Register(registry, &m.OtherControllers), openstack.Register(registry, &m.Unattached), openstack.Register(registry, &m.Addressless),
		openstack.Register(registry, &m.Health))
}

func newOtherControllers() *prometheus.GaugeVec {
	return prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "kube_octavia_other_controllers",
		Help: "Other controllers that serve the same Services, by kind.",
	}, []string{"kind"})
}

// zero creates the series with a fixed set of labels. Otherwise they would begin with 1, and rate and increase would
// miss the first event.
func (m *Metrics) zero() {
	for _, where := range []string{"kubernetes", "cloud"} {
		m.ForeignWrites.WithLabelValues(where)
	}
	for _, kind := range []string{"loadbalancer", "floatingip", "security group"} {
		m.Drift.WithLabelValues(kind)
	}
	for _, kind := range []string{"loadbalancer", "listener", "pool", "member", "healthmonitor", "floatingip", "tags"} {
		m.Repaired.WithLabelValues(kind)
		m.Reported.WithLabelValues(kind)
	}
}

// Write counts a write to the cloud that ended with err.
func (m *Metrics) Write(kind string, err error, took time.Duration) {
	m.ops.WithLabelValues(kind, string(openstack.Classify(err))).Inc()
	m.duration.WithLabelValues(kind).Observe(took.Seconds())
}
