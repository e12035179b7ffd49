// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"strings"
)

// Class describes what a failed call means for its caller. Only this file assigns classes.
type Class string

// The classes.
const (
	// Busy: the object is immutable because the load balancer is PENDING_*; the watcher reports when that ends. Or
	// Octavia holds the project's quota lock for another call.
	Busy Class = "Busy"
	// Conflict: something else prevents the call, such as a port in use or an object that already exists. The
	// caller must read again, then decide.
	Conflict Class = "Conflict"
	// Throttled: the service limits the call rate. The session has slowed down; Error.RetryAfter has the wait, if
	// known.
	Throttled Class = "Throttled"
	// Invalid: the request is wrong or not permitted. Retrying the same request does not help.
	Invalid Class = "Invalid"
	// Quota: the quota of the project is exhausted.
	Quota Class = "Quota"
	// Gone: the object does not exist.
	Gone Class = "Gone"
	// Unauthorized: Keystone rejects the credentials, or a given token has expired.
	Unauthorized Class = "Unauthorized"
	// Foreign: this cluster does not own the object. Callers determine that, with NewForeign.
	Foreign Class = "NotOwned"
	// Transient: a failure of the service, a gateway or the network that may be temporary.
	Transient Class = "Transient"
)

// Classify returns the class of an error of a Session's services, wrapped or not. It is empty for nil.
func Classify(err error) Class {
	if err == nil {
		return ""
	}
	return describe(err).Class
}

// Denied reports whether a service refuses the call to these credentials, which Keystone accepts: by its policy, or
// because the access rules of an application credential do not allow it.
func Denied(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Rejected || e.Status == http.StatusForbidden && e.Class == Invalid)
}

// CannotReadCertificate reports whether Octavia refuses a listener or a load balancer because it cannot read a
// certificate. Before that, it checks the quota, and whether the load balancer may be changed. Its answer is the same
// for a certificate that does not exist. A certificate that it can read but not use is refused with another message, or
// by its driver with the same message and a single reference instead of the list (Octavia 11 to 19).
func CannotReadCertificate(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == http.StatusBadRequest && strings.HasPrefix(e.Message, "Could not retrieve certificate: [")
}

// UnlessGone reports whether err means that the object does not exist, and returns every other error.
func UnlessGone(err error) (gone bool, other error) {
	if Classify(err) == Gone {
		return true, nil
	}
	return false, err
}

// classOfStatus returns the class of a response that is not a success.
func classOfStatus(status int, f fault, retryAfter bool) Class {
	switch {
	case status == http.StatusUnauthorized:
		return Unauthorized
	case status == http.StatusForbidden && f.isQuota(), status == http.StatusBadRequest && f.kind == "RoutesExhausted":
		return Quota
	case status == http.StatusNotFound && f.namesMissing():
		return Invalid
	case status == http.StatusNotFound || status == http.StatusGone:
		return Gone
	case status == http.StatusConflict:
		return classOfConflict(f)
	case status == http.StatusPreconditionFailed:
		return Conflict // the caller read an outdated revision
	case status == http.StatusServiceUnavailable && strings.Contains(f.message, "Unable to lock the project"):
		return Busy
	case throttles(status, retryAfter):
		return Throttled
	case status == http.StatusRequestTimeout:
		return Transient
	case status == http.StatusNotImplemented:
		return Invalid
	case status == http.StatusInternalServerError && f.isQuota():
		return Quota // Octavia passes on Neutron's refusal of a VIP port
	case status == http.StatusInternalServerError && f.isVIPInUse():
		return Conflict // ... of a VIP address in use, or of one more VIP
	case status == http.StatusInternalServerError && f.isUnexplainedConflict():
		return Conflict // ... of either, or of an exhausted quota
	case status == http.StatusInternalServerError && f.isWrongVIP():
		return Invalid // ... and of an invalid VIP address or subnet
	case status >= 500:
		return Transient
	case status >= 400:
		return Invalid
	}
	return Transient // an unexpected success or redirect
}

// throttles reports whether a response means that the client should slow down. Nova's 413 does so
// only with a Retry-After.
func throttles(status int, retryAfter bool) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusRequestEntityTooLarge:
		return retryAfter
	}
	return false
}

func classOfConflict(f fault) Class {
	switch {
	case f.isQuota():
		return Quota
	case strings.Contains(f.message, "immutable"), strings.Contains(f.message, "Invalid state PENDING_"):
		return Busy
	}
	return Conflict
}
