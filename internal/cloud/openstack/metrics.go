// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// metrics has the metrics of the session. Their labels have few values: services, methods and statuses are fixed
// sets, and routes contain no ids.
type metrics struct {
	duration  *prometheus.HistogramVec
	throttled *prometheus.CounterVec
	renewals  *prometheus.CounterVec
	reloads   *prometheus.CounterVec
	rejected  prometheus.Gauge
	expiry    *prometheus.GaugeVec
}

// newMetrics registers the metrics, if there is a registry. Sessions with the same registry share them.
func newMetrics(registry prometheus.Registerer) (metrics, error) {
	m := metrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "kube_octavia_openstack_request_duration_seconds",
			Help:    "Time from sending a request to OpenStack until its response headers; status is none without a response.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}, []string{"service", "method", "route", "status"}),
		throttled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_openstack_throttled_total",
			Help: "Requests that OpenStack throttled (reason is the HTTP status), or that were not sent " +
				"because they would have waited too long (reason is rate or pause).",
		}, []string{"service", "reason"}),
		renewals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_openstack_reauthentications_total",
			Help: "Tokens that were renewed, after a 401 or to check the credentials. Result is renewed or failed.",
		}, []string{"result"}),
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "kube_octavia_openstack_credential_reloads_total",
			Help: "Changes of the credentials in cloud.conf; result is replaced, or rejected if the old ones stay in use.",
		}, []string{"result"}),
		rejected: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "kube_octavia_openstack_configuration_rejected",
			Help: "1 while the current cloud.conf cannot be used and older credentials are in use; else 0.",
		}),
		expiry: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "kube_octavia_openstack_credential_expiry_timestamp_seconds",
			Help: "Unix time when the credentials in use expire; absent if they do not expire or the expiry is unknown.",
		}, []string{"kind"}),
	}
	if registry == nil {
		return m, nil
	}
	return m, errors.Join(Register(registry, &m.duration), Register(registry, &m.throttled), Register(registry, &m.renewals),
		Register(registry, &m.reloads), Register(registry, &m.rejected), Register(registry, &m.expiry))
}

// Register registers a collector, or replaces it by the one that is already registered under its name.
func Register[C prometheus.Collector](registry prometheus.Registerer, collector *C) error {
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

// measured counts and times calls.
type measured struct {
	next    http.RoundTripper
	routes  *calls.Routes
	metrics metrics
	now     func() time.Time
}

func (t measured) RoundTrip(req *http.Request) (*http.Response, error) {
	service, route := t.routes.Find(req.URL)
	start := t.now()
	resp, err := t.next.RoundTrip(req)
	status := "none"
	if err == nil {
		status = strconv.Itoa(resp.StatusCode)
	}
	t.metrics.duration.WithLabelValues(service, req.Method, route, status).Observe(t.now().Sub(start).Seconds())
	return resp, err
}
