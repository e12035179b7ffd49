// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package service

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/metrics"
	"github.com/kube-octavia/kube-octavia/internal/status"
)

// observers counts the Services that are only observed, by the reason of their condition
// Programmed. It is safe for concurrent use.
type observers struct {
	metrics *metrics.Metrics

	mu      sync.Mutex
	reasons map[types.NamespacedName]string
}

func newObservers(metrics *metrics.Metrics) *observers {
	metrics.Observed.Reset()
	return &observers{metrics: metrics, reasons: map[types.NamespacedName]string{}}
}

// note counts the Service by the current reason of its condition.
func (o *observers) note(service *corev1.Service) {
	reason := ""
	if c := meta.FindStatusCondition(service.Status.Conditions, status.Programmed); c != nil {
		reason = c.Reason
	}
	o.set(client.ObjectKeyFromObject(service), reason)
}

// forget stops counting the Service.
func (o *observers) forget(key types.NamespacedName) { o.set(key, "") }

func (o *observers) set(key types.NamespacedName, reason string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.reasons[key]
	if before == reason {
		return
	}
	if before != "" {
		o.metrics.Observed.WithLabelValues(before).Dec()
	}
	if delete(o.reasons, key); reason != "" {
		o.reasons[key] = reason
		o.metrics.Observed.WithLabelValues(reason).Inc()
	}
}
