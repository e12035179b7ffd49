// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neterror"
)

// attempts limits the time of each call, from the connection to the end of the response body, and records whether a
// call without an answer may have reached the service.
type attempts struct {
	next    http.RoundTripper
	routes  *calls.Routes
	timeout time.Duration
}

func (t attempts) RoundTrip(req *http.Request) (*http.Response, error) {
	var sent atomic.Bool
	ctx, cancel := context.WithTimeout(req.Context(), t.timeout)
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	resp, err := t.next.RoundTrip(req.WithContext(ctx))
	if err == nil {
		err = needsTLS(resp)
	}
	if err != nil {
		failure := &attemptError{requestID: req.Header.Get(requestIDHeader), sent: sent.Load(), err: err}
		failure.service, _ = t.routes.Find(req.URL)
		if ctx.Err() == context.DeadlineExceeded && req.Context().Err() == nil {
			failure.timeout = t.timeout
		}
		cancel()
		return nil, failure
	}
	resp.Body = boundedBody{resp.Body, cancel}
	return resp, nil
}

// maxComplaint limits how much of the answer of a server that expects TLS is read.
const maxComplaint = 4096

// needsTLS returns an error if the answer to a request without TLS comes from a server that expects
// TLS.
func needsTLS(resp *http.Response) error {
	if resp.TLS != nil || resp.StatusCode != http.StatusBadRequest {
		return nil
	}
	body := bufio.NewReaderSize(resp.Body, maxComplaint)
	start, _ := body.Peek(maxComplaint) // the reader of the body gets the error
	if neterror.NeedsTLS(resp.StatusCode, start) {
		return errors.Join(neterror.ErrNeedsTLS, resp.Body.Close())
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	return nil
}

// boundedBody ends the time limit of a call when its body is closed.
type boundedBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// attemptError is a call that got no answer.
type attemptError struct {
	service   string // its type in the catalogue
	requestID string
	sent      bool // there was a connection, so the request may have arrived
	timeout   time.Duration
	err       error
}

func (e *attemptError) Error() string {
	switch {
	case e.timeout > 0 && e.sent:
		return fmt.Sprintf("no answer within %v", e.timeout)
	case e.timeout > 0:
		return fmt.Sprintf("no connection within %v", e.timeout)
	case errors.Is(e.err, context.Canceled):
		return "cancelled before the answer arrived"
	}
	return "no answer: " + neterror.Text(e.err)
}

// advice returns what to change, or "".
func (e *attemptError) advice() string {
	switch {
	case e.timeout > 0 && e.sent:
		return "" // the service was reached, but was slow
	case errors.Is(e.err, context.Canceled):
		return ""
	}
	return hint(neterror.CauseOf(e.err), e.service)
}

func (e *attemptError) Unwrap() error { return e.err }
