// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// What can be wrong with a Go call; errors wrap one of these with the object
// and the reason.
var (
	// ErrNotFound says that a network, subnet or port does not exist, or not
	// for this project.
	ErrNotFound = errors.New("not found")
	// ErrAddressInUse says that the address asked for is taken.
	ErrAddressInUse = errors.New("address in use")
	// ErrInvalidAddress says that the address cannot be had from that subnet,
	// network or port.
	ErrInvalidAddress = errors.New("invalid address")
	// ErrAmbiguous says that several addresses fit and none was chosen.
	ErrAmbiguous = errors.New("ambiguous address")
	// ErrQuota says that the project has no quota left.
	ErrQuota = errors.New("quota exceeded")
	// ErrNoAddresses says that the allocation pools are used up.
	ErrNoAddresses = errors.New("no addresses left")
)

// PortInUseError says that a port has a device already.
type PortInUseError struct{ PortID, DeviceID string }

// Error names port and device.
func (e *PortInUseError) Error() string {
	return "port " + e.PortID + " is used by device " + e.DeviceID
}

// apiError is a refusal: what the API answers, and which of the errors above it
// is to Go callers, if any.
type apiError struct {
	status        int
	kind, message string
	cause         error
}

func (e *apiError) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("%s (%s)", e.message, e.kind)
	}
	return fmt.Sprintf("%v: %s (%s)", e.cause, e.message, e.kind)
}

func (e *apiError) Unwrap() error { return e.cause }

func refuse(status int, kind, format string, args ...any) *apiError {
	return &apiError{status: status, kind: kind, message: fmt.Sprintf(format, args...)}
}

func notFound(kind, format string, args ...any) *apiError {
	e := refuse(http.StatusNotFound, kind, format, args...)
	e.cause = ErrNotFound
	return e
}

func conflict(kind, format string, args ...any) *apiError {
	return refuse(http.StatusConflict, kind, format, args...)
}

func (e *apiError) because(cause error) *apiError {
	e.cause = cause
	return e
}

// badBody is the refusal of a request that does not fit the resource's form.
func badBody(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "HTTPBadRequest", format, args...)
}

func badRequest(resource, format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "BadRequest", "Bad %s request: %s.", resource, fmt.Sprintf(format, args...))
}

func invalidInput(format string, args ...any) *apiError {
	return refuse(http.StatusBadRequest, "InvalidInput", "Invalid input for operation: %s.", fmt.Sprintf(format, args...))
}

func forbidden(rule string) *apiError {
	return refuse(http.StatusForbidden, "PolicyNotAuthorized", "%s is disallowed by policy", rule)
}

// forbiddenAttribute is the refusal of an attribute that the caller may not set.
func forbiddenAttribute(action, attribute string) *apiError {
	return forbidden(fmt.Sprintf("(rule:%s and rule:%s:%s)", action, action, attribute))
}

func overQuota(resource string) *apiError {
	return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource).because(ErrQuota)
}

// writeError answers with the refusal, or with 500 if the error is none.
func writeError(w http.ResponseWriter, err error) {
	var e *apiError
	if !errors.As(err, &e) {
		e = refuse(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request.")
	}
	wire.JSON(w, e.status, map[string]any{"NeutronError": map[string]string{"type": e.kind, "message": e.message, "detail": ""}})
}

// NotAllowed answers a method that a path has not.
func NotAllowed(w http.ResponseWriter, _ *http.Request) {
	writeError(w, refuse(http.StatusMethodNotAllowed, "HTTPMethodNotAllowed",
		"The server could not comply with the request since it is either malformed or otherwise incorrect."))
}

// NotFound answers a request for a path that the API has not.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found."))
}
