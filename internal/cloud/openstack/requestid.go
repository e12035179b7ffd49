// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/http"
	"regexp"

	"github.com/google/uuid"
)

// requestIDHeader is, in a request, the global id that the service passes on to the services that it calls; in a
// response, the service's own id of the request.
const requestIDHeader = "X-Openstack-Request-Id"

type requestIDKey struct{}

// validRequestID matches the form that OpenStack services accept; they ignore others.
var validRequestID = regexp.MustCompile(`^req-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// NewRequestID returns a new id: "req-" and a random UUID.
func NewRequestID() string { return "req-" + uuid.NewString() }

// WithRequestID returns a context whose calls all carry id as their global request id, so that they can be found
// together in the logs of the cloud. An id of another form than NewRequestID's is ignored: then each call gets its
// own.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the id that WithRequestID put into ctx, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestIDs sets the id of each request, and of each response that has none of the service's.
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
	if requestIDOf(resp.Header) == "" {
		resp.Header.Set(requestIDHeader, id)
	}
	return resp, nil
}

// requestIDOf returns the service's id of a request from its response. Nova also uses its own header.
func requestIDOf(h http.Header) string {
	if id := h.Get(requestIDHeader); id != "" {
		return id
	}
	return h.Get("X-Compute-Request-Id")
}
