// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package octavia

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

var (
	pendingGauge = prometheus.NewDesc("kube_octavia_pending_load_balancers",
		"Load balancers in a PENDING status, and deleted ones whose VIP port still exists.", nil, nil)
	longestGauge = prometheus.NewDesc("kube_octavia_longest_pending_seconds",
		"How long the longest PENDING load balancer has been PENDING; 0 if there is none.", nil, nil)
)

// Describe implements prometheus.Collector.
func (w *Watcher) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- pendingGauge
	descriptions <- longestGauge
}

// Collect implements prometheus.Collector.
func (w *Watcher) Collect(metrics chan<- prometheus.Metric) {
	pending, now := w.Pending(), w.o.Clock.Now()
	var longest time.Duration
	for _, since := range pending {
		longest = max(longest, now.Sub(since))
	}
	metrics <- prometheus.MustNewConstMetric(pendingGauge, prometheus.GaugeValue, float64(len(pending)))
	metrics <- prometheus.MustNewConstMetric(longestGauge, prometheus.GaugeValue, longest.Seconds())
}
