// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package conflict

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kube-octavia/kube-octavia/internal/model/owner"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/metrics"
)

func newTracker(t *testing.T) *Tracker {
	t.Helper()
	m, err := metrics.New(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	return New(Options{Timing: delays, Now: func() time.Time { return noon }, Metrics: m, Logger: logr.Discard()})
}

// publishing returns a Service that publishes an address with the mode.
func publishing(mode corev1.LoadBalancerIPMode) *corev1.Service {
	v := withReason("Programmed")
	v.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
	if mode != "" {
		v.Status.LoadBalancer.Ingress[0].IPMode = &mode
	}
	return v
}

func TestOwnWritesAreRecognised(t *testing.T) {
	written := func() error { return nil }
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "services"}, "web", errors.New("changed"))
	for name, test := range map[string]struct {
		write  func(*Tracker)
		events []*corev1.Service
		ours   []bool
	}{
		"another client wrote": {write: func(*Tracker) {}, events: []*corev1.Service{withReason("Creating")}, ours: []bool{false}},
		"we wrote":             {write: func(tr *Tracker) { _ = tr.Track(ownerOf(withReason("Creating")), written) }, events: []*corev1.Service{withReason("Creating")}, ours: []bool{true}},
		"we wrote only once":   {write: func(tr *Tracker) { _ = tr.Track(ownerOf(withReason("Creating")), written) }, events: []*corev1.Service{withReason("Creating"), withReason("Creating")}, ours: []bool{true, false}},
		"another client reverted it": {
			write: func(tr *Tracker) {
				_ = tr.Track(ownerOf(withReason("Creating")), written)
				_ = tr.Track(ownerOf(withReason("Programmed")), written)
			},
			events: []*corev1.Service{withReason("Creating"), withReason("Programmed"), withReason("Creating")}, ours: []bool{true, true, false},
		},
		"one event for two of our writes": {
			write: func(tr *Tracker) {
				_ = tr.Track(ownerOf(withReason("Creating")), written)
				_ = tr.Track(ownerOf(withReason("Programmed")), written)
			},
			events: []*corev1.Service{withReason("Programmed"), withReason("Creating")}, ours: []bool{true, false},
		},
		"our write was rejected": {
			write:  func(tr *Tracker) { _ = tr.Track(ownerOf(withReason("Creating")), func() error { return conflict }) },
			events: []*corev1.Service{withReason("Creating")}, ours: []bool{false},
		},
		"an API server without ipMode kept the rest": {
			write: func(tr *Tracker) { _ = tr.Track(ownerOf(publishing(corev1.LoadBalancerIPModeVIP)), written) }, events: []*corev1.Service{publishing("")}, ours: []bool{true},
		},
		"another client changed ipMode": {
			write:  func(tr *Tracker) { _ = tr.Track(ownerOf(publishing(corev1.LoadBalancerIPModeProxy)), written) },
			events: []*corev1.Service{publishing(corev1.LoadBalancerIPModeVIP)}, ours: []bool{false},
		},
		"an API server without ipMode rejected our write": {
			write: func(tr *Tracker) {
				_ = tr.Track(ownerOf(publishing(corev1.LoadBalancerIPModeVIP)), func() error { return conflict })
			},
			events: []*corev1.Service{publishing("")}, ours: []bool{false},
		},
		"the answer was lost": {
			write: func(tr *Tracker) {
				_ = tr.Track(ownerOf(withReason("Creating")), func() error { return context.DeadlineExceeded })
			},
			events: []*corev1.Service{withReason("Creating")}, ours: []bool{true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTracker(t)
			test.write(tr)
			for i, v := range test.events {
				if got := tr.Made(ownerOf(v)); got != test.ours[i] {
					t.Errorf("event %d is ours: %v, want %v", i+1, got, test.ours[i])
				}
			}
		})
	}
}

func TestTrackerKeepsTheStateOfEachService(t *testing.T) {
	tr, now := newTracker(t), noon
	tr.Now = func() time.Time { return now }
	web, other := withReason("Programmed"), withReason("Programmed")
	other.Name = "other"
	overwrite := func(field string) { tr.Wrote(ownerOf(web), Write{Kind: OnService, Texts: []string{field}}) }
	overwrite("a")
	now = now.Add(time.Second)
	if resumed, fields := tr.Resume(ownerOf(web)); resumed || cmp.Diff([]string{"a"}, fields) != "" {
		t.Errorf("after one write: resumed %t, overwritten %v", resumed, fields)
	}
	if _, fields := tr.Resume(ownerOf(web)); len(fields) > 0 {
		t.Errorf("overwritten fields are returned twice: %v", fields)
	}
	for _, field := range []string{"b", "c", "d"} {
		overwrite(field)
	}
	tr.Reported(ownerOf(web))
	if s := tr.State(ownerOf(web)); !s.Stopped || !s.Reported || tr.State(ownerOf(other)).Stopped || testutil.ToFloat64(tr.Metrics.Contested) != 1 {
		t.Errorf("after four writes: %+v", s)
	}
	mayRestore := func() bool { return tr.State(ownerOf(web)).MayRestore(now, tr.Timing) }
	before := mayRestore()
	tr.Restored(ownerOf(web))
	if !before || mayRestore() {
		t.Error("the finalizer may be restored never, or too often")
	}
	_ = tr.Track(ownerOf(web), func() error { return nil })
	now = tr.State(ownerOf(web)).Until
	if resumed, fields := tr.Resume(ownerOf(web)); !resumed || len(fields) > 0 {
		t.Errorf("after the stop: resumed %t, overwritten %v", resumed, fields)
	}
	if s := tr.State(ownerOf(web)); s.Stopped || s.Reported || !tr.Made(ownerOf(web)) {
		t.Errorf("after the stop: %+v", s)
	}
	overwrite("e")
	overwrite("f")
	later := withReason("Programmed")
	later.UID = "later"
	if s := tr.State(ownerOf(later)); s.Stopped {
		t.Errorf("a later Service with the same name: %+v", s)
	}
	tr.Forget(owner.ServiceKey(web.Namespace, web.Name))
	if s := tr.State(ownerOf(web)); s.Stopped || testutil.ToFloat64(tr.Metrics.Contested) != 0 {
		t.Errorf("after it was forgotten: %+v", s)
	}
}
