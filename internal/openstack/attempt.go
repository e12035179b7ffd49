// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// attempts limits the time of each call, from the connection to the end of the response body, and records whether a
// call without an answer may have reached the service.
type attempts struct {
	next    http.RoundTripper
	timeout time.Duration
}

func (t attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err != nil {
		failure := &attemptError{requestID: req.Header.Get(requestIDHeader), sent: sent.Load(), err: err}
		if ctx.Err() == context.DeadlineExceeded && req.Context().Err() == nil {
			failure.timeout = t.timeout
		}
		cancel()
		return nil, failure
	}
	resp.Body = boundedBody{resp.Body, cancel}
	return resp, nil
}

// boundedBody releases the time limit of a call when its body is closed.
type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
