// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"sync"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

// ObservedServices counts the Services that are only observed, by the reason of their condition Programmed. It is safe for
// concurrent use.
type ObservedServices struct {
	metrics *Metrics

	mu      sync.Mutex
	reasons map[owner.Key]string
}

// NewObservedServices returns one that counts nothing yet.
func NewObservedServices(metrics *Metrics) *ObservedServices {
	metrics.Observed.Reset()
	return &ObservedServices{metrics: metrics, reasons: map[owner.Key]string{}}
}

// Note counts the Service by the reason; it stops counting it if that is "".
func (o *ObservedServices) Note(key owner.Key, reason string) {
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
