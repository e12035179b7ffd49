// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/status"
)

var (
	servicesGauge = prometheus.NewDesc("kube_octavia_services",
		"Services of this controller, by reason of condition Programmed; NotProcessed without the condition.", []string{"reason"}, nil)
	notProgrammedGauge = prometheus.NewDesc("kube_octavia_longest_not_programmed_seconds",
		"Longest time that a Service with this reason of condition Programmed has not been programmed; 0 if there is none.", []string{"reason"}, nil)
	servingGauge = prometheus.NewDesc("kube_octavia_services_serving",
		"Services of this controller, by reason of condition Serving; NotProcessed without the condition.", []string{"reason"}, nil)
	notServingGauge = prometheus.NewDesc("kube_octavia_longest_not_serving_seconds",
		"Longest time that condition Serving of a Service with this reason has been False; 0 if there is none.", []string{"reason"}, nil)
)

// listLimit is the longest time that a scrape waits for the cache of Services.
const listLimit = time.Second

// services counts the Services in the cache at each scrape, so that the numbers agree with the conditions
// that users see. It implements prometheus.Collector.
type services struct {
	reader client.Reader
	policy claim.Policy
	// elected is closed when this replica is active. Only the active replica counts: the others have no cache,
	// and their numbers would be counted twice.
	elected <-chan struct{}
	log     logr.Logger
}

// Describe implements prometheus.Collector.
func (s services) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- servicesGauge
	descriptions <- notProgrammedGauge
	descriptions <- servingGauge
	descriptions <- notServingGauge
}

// Collect implements prometheus.Collector.
func (s services) Collect(metrics chan<- prometheus.Metric) {
	select {
	case <-s.elected:
	default:
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), listLimit)
	defer cancel()
	var all corev1.ServiceList
	// The Services are only read, and there may be thousands.
	if err := s.reader.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		s.log.V(1).Info("the Services are not counted in the metrics", "error", err.Error())
		return
	}
	ours := func(yield func(*corev1.Service) bool) {
		for i := range all.Items {
			if v := &all.Items[i]; (s.policy.Serves(v) || s.policy.Leaves(v)) && !yield(v) {
				return
			}
		}
	}
	for reason, tally := range status.TallyByReason(ours, time.Now()) {
		metrics <- prometheus.MustNewConstMetric(servicesGauge, prometheus.GaugeValue, float64(tally.Services), reason)
		metrics <- prometheus.MustNewConstMetric(notProgrammedGauge, prometheus.GaugeValue, tally.Longest.Seconds(), reason)
	}
	for reason, tally := range status.TallyByServing(ours, time.Now()) {
		metrics <- prometheus.MustNewConstMetric(servingGauge, prometheus.GaugeValue, float64(tally.Services), reason)
		metrics <- prometheus.MustNewConstMetric(notServingGauge, prometheus.GaugeValue, tally.Longest.Seconds(), reason)
	}
}
