// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is the HTTP frame of every service of the simulator: authentication, request ids,
// the record of calls, faults and latency, and the filtering, sorting, paging and projection of
// lists. It does not depend on a service, and imports nothing of the project.
package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// Identity is the owner of a request's token.
type Identity struct {
	UserID, ProjectID string
	Roles             []string
	// Delegated means that the token was issued for an application credential or a trust: then no
	// service can exchange it for another token to act in the caller's name.
	Delegated bool
	// Allowed reports whether the token may be used for a request; nil allows all.
	Allowed func(service, method, path string) bool
}

// Admin reports whether the caller has the role admin.
func (i Identity) Admin() bool { return i.HasRole("admin") }

// HasRole reports whether the caller has the named role.
func (i Identity) HasRole(role string) bool { return slices.Contains(i.Roles, role) }

type contextKey int

const (
	callerKey contextKey = iota
	requestIDKey
	errorStateKey
	errorChildrenKey
)

// May reports whether the access rules of the token's application credential allow a request;
// without access rules all are allowed. They also apply if a service calls another service with the
// caller's token.
func (i Identity) May(service, method, path string) bool {
	return i.Allowed == nil || i.Allowed(service, method, path)
}

// Caller returns the identity of the request's caller. It is the zero Identity on routes that need
// no token.
func Caller(ctx context.Context) Identity {
	i, _ := ctx.Value(callerKey).(Identity)
	return i
}

// WithCaller returns a context whose Caller is i.
func WithCaller(ctx context.Context, i Identity) context.Context {
	return context.WithValue(ctx, callerKey, i)
}

// RequestID returns the id of the request, "req-" and a UUID, which the answer
// carries in x-openstack-request-id. It is empty outside a request.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey).(string)
	return id
}

// FaultError reports whether a fault of kind FaultErrorState affects the request: the object that
// it changes ends in ERROR.
func FaultError(ctx context.Context) bool {
	hit, _ := ctx.Value(errorStateKey).(bool)
	return hit
}

// WithFaultError returns a context whose FaultError is true.
func WithFaultError(ctx context.Context) context.Context {
	return context.WithValue(ctx, errorStateKey, true)
}

// FaultErrorOfChildren reports whether a fault of kind FaultErrorChildren affects the request: the children that it
// changes end in ERROR.
func FaultErrorOfChildren(ctx context.Context) bool {
	hit, _ := ctx.Value(errorChildrenKey).(bool)
	return hit
}

// WithFaultErrorOfChildren returns a context whose FaultErrorOfChildren is true.
func WithFaultErrorOfChildren(ctx context.Context) context.Context {
	return context.WithValue(ctx, errorChildrenKey, true)
}

// JSON answers with the status and with v as JSON.
func JSON(w http.ResponseWriter, status int, v any) {
	body, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the simulator cannot encode its answer: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body) // an error means that the client has disconnected
}
