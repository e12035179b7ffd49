// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"regexp"

	"github.com/google/uuid"
)

// requestIDHeader carries, in a request, the id that the service takes as the global one and hands on to the services that
// it calls itself; in an answer, the service's own id of the request.
const requestIDHeader = "X-Openstack-Request-Id"

type requestIDKey struct{}

// validRequestID is the form that OpenStack's services accept; others they disregard.
var validRequestID = regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// NewRequestID returns a fresh id, "req-" and a random UUID.
func NewRequestID() string { return "req-" + uuid.NewString() }

// WithRequestID returns a context whose calls all carry id as their global request id, so that they can be found together in
// the logs of the cloud. An id not of the form that NewRequestID gives has no effect: each call then has its own.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id that WithRequestID put into ctx, or nothing.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestIDs gives every request its id, and every answer one: the service's, or the one sent if the service names none.
type requestIDs struct{ next http.RoundTripper }

func (t requestIDs) RoundTrip(req *http.Request) (*http.Response, error) {
	id := RequestID(req.Context())
	if !validRequestID.MatchString(id) {
		id = NewRequestID()
	}
	req = req.Clone(req.Context())
	req.Header.Set(requestIDHeader, id)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if own := requestIDOf(resp.Header); own == "" {
		resp.Header.Set(requestIDHeader, id)
	}
	return resp, nil
}

// requestIDOf finds the service's id of a request in an answer. Nova has a header of its own besides the common one.
func requestIDOf(h http.Header) string {
	if id := h.Get(requestIDHeader); id != "" {
		return id
	}
	return h.Get("X-Compute-Request-Id")
}
