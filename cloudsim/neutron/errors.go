// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// The errors of Go calls. Returned errors wrap one of these and add the object and the reason.
var (
	// ErrNotFound means that a network, subnet or port does not exist, or is not visible to this
	// project.
	ErrNotFound = errors.New("not found")
	// ErrAddressInUse means that the requested address is in use.
	ErrAddressInUse = errors.New("address in use")
	// ErrInvalidAddress means that the subnet, network or port cannot provide the address.
	ErrInvalidAddress = errors.New("invalid address")
	// ErrAmbiguous means that several addresses match and the request chooses none of them.
	ErrAmbiguous = errors.New("ambiguous address")
	// ErrQuota means that the quota of the project is exhausted.
	ErrQuota = errors.New("quota exceeded")
	// ErrNoAddresses means that the allocation pools are exhausted.
	ErrNoAddresses = errors.New("no addresses left")
)

// PortInUseError means that a port already has a device.
type PortInUseError struct{ PortID, DeviceID string }

// Error names the port and the device.
func (e *PortInUseError) Error() string {
	return "port " + e.PortID + " is used by device " + e.DeviceID
}

// apiError is an error answer of the API, with the error above that it is for Go callers, if any.
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

// badBody returns the refusal of a request whose body does not match the resource.
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

// forbiddenAttribute returns the refusal of an attribute that the caller may not set.
func forbiddenAttribute(action, attribute string) *apiError {
	return forbidden(fmt.Sprintf("(rule:%s and rule:%s:%s)", action, action, attribute))
}

func overQuota(resource string) *apiError {
	return conflict("OverQuota", "Quota exceeded for resources: ['%s'].", resource).because(ErrQuota)
}

// writeError answers with the apiError, or with 500 for any other error.
func writeError(w http.ResponseWriter, err error) {
	var e *apiError
	if !errors.As(err, &e) {
		e = refuse(http.StatusInternalServerError, "HTTPInternalServerError", "Request Failed: internal server error while processing your request.")
	}
	wire.JSON(w, e.status, map[string]any{"NeutronError": map[string]string{"type": e.kind, "message": e.message, "detail": ""}})
}

// NotAllowed answers a request whose method the path does not have.
func NotAllowed(w http.ResponseWriter, _ *http.Request) {
	writeError(w, refuse(http.StatusMethodNotAllowed, "HTTPMethodNotAllowed",
		"The server could not comply with the request since it is either malformed or otherwise incorrect."))
}

// NotFound answers a request for a path that the API does not have.
func NotFound(w http.ResponseWriter, _ *http.Request) {
	writeError(w, refuse(http.StatusNotFound, "HTTPNotFound", "The resource could not be found."))
}
