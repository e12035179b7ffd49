// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
)

func TestObservedServicesAreCountedByTheReasonOfTheirCondition(t *testing.T) {
	metrics, err := New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	const ready, changes = "ReadyForAdoption", "ChangesOnAdoption"
	o, key := NewObservedServices(metrics), owner.ServiceKey("ns", "web")
	counted := func(reason string) float64 { return testutil.ToFloat64(metrics.Observed.WithLabelValues(reason)) }
	for i, step := range []struct {
		reason         string
		ready, changes float64
	}{{ready, 1, 0}, {ready, 1, 0}, {changes, 0, 1}, {"", 0, 0}, {ready, 1, 0}, {"", 0, 0}, {"", 0, 0}} {
		o.Note(key, step.reason)
		if r, c := counted(ready), counted(changes); r != step.ready || c != step.changes {
			t.Errorf("step %d: %v are ready, %v would change", i, r, c)
		}
	}
}
