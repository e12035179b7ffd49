// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"time"

	"github.com/go-logr/logr"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
)

// logged logs each call at V(4), with the logger of the call's context if there is one. It never logs headers,
// bodies or queries, so it logs no tokens and passwords.
type logged struct {
	next   http.RoundTripper
	routes *calls.Routes
	logger logr.Logger
	now    func() time.Time
}

func (t logged) RoundTrip(req *http.Request) (*http.Response, error) {
	logger, err := logr.FromContext(req.Context())
	if err != nil {
		logger = t.logger
	}
	logger = logger.V(4)
	if !logger.Enabled() {
		return t.next.RoundTrip(req)
	}
	service, route := t.routes.Find(req.URL)
	start := t.now()
	resp, err := t.next.RoundTrip(req)
	values := []any{
		"service", service, "method", req.Method, "route", route,
		"duration", t.now().Sub(start).String(), "requestID", req.Header.Get(requestIDHeader),
	}
	if err != nil {
		logger.Info("no answer to an OpenStack call", append(values, "reason", err.Error())...)
		return nil, err
	}
	logger.Info("OpenStack call", append(values, "status", resp.StatusCode, "serviceRequestID", requestIDOf(resp.Header))...)
	return resp, nil
}
