// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire is the HTTP frame that every service of the simulator stands
// in: who is calling, request ids, the record of calls, faults and latency,
// and how a list is filtered, sorted, paged and projected. It knows no
// service; it imports nothing of the project.
package wire

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
)

// Identity is who a request's token belongs to.
type Identity struct {
	UserID, ProjectID string
	Roles             []string
	// Delegated is whether the token was had for an application credential or a trust:
	// then no service gets another one for it, to act in the caller's name.
	Delegated bool
	// Allowed tells which requests the token may be used for; nil allows all.
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

// May reports whether the access rules of the application credential that the
// token was had for allow a request; without such rules all are allowed. A
// service that asks another one with the caller's token is held to them too.
func (i Identity) May(service, method, path string) bool {
	return i.Allowed == nil || i.Allowed(service, method, path)
}

// Caller returns who makes the request. It is the zero Identity on routes that
// need no token.
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

// FaultError reports whether a fault of kind FaultErrorState hit the request: the
// object that it changes is to end in ERROR.
func FaultError(ctx context.Context) bool {
	hit, _ := ctx.Value(errorStateKey).(bool)
	return hit
}

// WithFaultError returns a context whose FaultError is true.
func WithFaultError(ctx context.Context) context.Context {
	return context.WithValue(ctx, errorStateKey, true)
}

// FaultErrorOfChildren reports whether a fault of kind FaultErrorChildren hit the request: the children that it changes are
// to end in ERROR.
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
	_, _ = w.Write(body) // the client may have gone away; nobody is left to tell
}
