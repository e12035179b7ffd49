// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// attempts bounds the time of each call, from the connection to the end of the answer's body, and says of a call without an
// answer whether the service may have seen it.
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
	resp.Body = &boundedBody{ReadCloser: resp.Body, cancel: cancel}
	return resp, nil
}

// boundedBody ends the time limit of a call when its body is closed.
type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
	once   sync.Once
}

// Close closes the body.
func (b *boundedBody) Close() error {
	err := b.ReadCloser.Close()
	b.once.Do(b.cancel)
	return err
}
