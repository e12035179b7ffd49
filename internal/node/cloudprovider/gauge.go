// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudprovider

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/node/instances"
)

var (
	uninitializedGauge = prometheus.NewDesc("kube_octavia_nodes_uninitialized",
		"Nodes with the taint node.cloudprovider.kubernetes.io/uninitialized.", nil, nil)
	longestUninitializedGauge = prometheus.NewDesc("kube_octavia_longest_node_uninitialized_seconds",
		"Age of the oldest Node with the taint node.cloudprovider.kubernetes.io/uninitialized; 0 if there is none.", nil, nil)
	withoutRouteGauge = prometheus.NewDesc("kube_octavia_nodes_without_route",
		"Nodes to whose Pods the router has no route.", nil, nil)
)

// gauges counts Nodes at each scrape, each gauge only if its controller runs. It implements prometheus.Collector.
type gauges struct {
	nodes       func() ([]*corev1.Node, error)
	node, route bool
}

// Describe implements prometheus.Collector.
func (gauges) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- uninitializedGauge
	descriptions <- longestUninitializedGauge
	descriptions <- withoutRouteGauge
}

// Collect implements prometheus.Collector.
func (g gauges) Collect(metrics chan<- prometheus.Metric) {
	nodes, err := g.nodes()
	if err != nil {
		metrics <- prometheus.NewInvalidMetric(uninitializedGauge, err)
		return
	}
	counted := count(nodes, time.Now())
	if g.node {
		metrics <- prometheus.MustNewConstMetric(uninitializedGauge, prometheus.GaugeValue, float64(counted.uninitialized))
		metrics <- prometheus.MustNewConstMetric(longestUninitializedGauge, prometheus.GaugeValue, counted.longest.Seconds())
	}
	if g.route {
		metrics <- prometheus.MustNewConstMetric(withoutRouteGauge, prometheus.GaugeValue, float64(counted.withoutRoute))
	}
}

// tally is the number of Nodes that lack something.
type tally struct {
	uninitialized, withoutRoute int
	// longest is the age of the oldest uninitialized Node.
	longest time.Duration
}

func count(nodes []*corev1.Node, now time.Time) (t tally) {
	for _, n := range nodes {
		if instances.IsUninitialized(n) {
			t.uninitialized++
			t.longest = max(t.longest, now.Sub(n.CreationTimestamp.Time))
		}
		if slices.ContainsFunc(n.Status.Conditions, lacksRoute) {
			t.withoutRoute++
		}
	}
	return t
}

// lacksRoute reports whether a condition was set by the route controller because there is no route. Network plug-ins
// set the same condition with other reasons.
func lacksRoute(c corev1.NodeCondition) bool {
	return c.Type == corev1.NodeNetworkUnavailable && c.Status == corev1.ConditionTrue && c.Reason == "NoRouteCreated"
}
