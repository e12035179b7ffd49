// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
)

// Class says what the failure of a call means for whoever made it. Each failure has one, and this file alone decides it.
type Class string

// The classes.
const (
	// Busy: the object is immutable just now, since the load balancer is PENDING_*. The watcher says when to go on. Or Octavia
	// is counting the project's objects for another call.
	Busy Class = "Busy"
	// Conflict: something else is in the way, such as a port in use or an object that exists already. Look again, then decide.
	Conflict Class = "Conflict"
	// Throttled: the service asks for patience. The session has slowed down; Error.RetryAfter says for how long, if known.
	Throttled Class = "Throttled"
	// Invalid: the request is refused for what it says or for who sends it. Sending it again is no use.
	Invalid Class = "Invalid"
	// Quota: the project may have no more of these.
	Quota Class = "Quota"
	// Gone: the object is not there, or not any more.
	Gone Class = "Gone"
	// Unauthorized: Keystone takes the credentials no more, or a given token has expired.
	Unauthorized Class = "Unauthorized"
	// Foreign: the object is not owned by this cluster. Callers decide that, with NewForeign.
	Foreign Class = "NotOwned"
	// Transient: a failure that may pass: of the service, of a gateway, or of the network.
	Transient Class = "Transient"
)

// Classify returns the class of an error that came from a Session's services, wrapped or not. Of nil it is empty.
func Classify(err error) Class {
	if err == nil {
		return ""
	}
	return describe(err).Class
}

// UnlessGone reports whether err says that what was asked for is not there, and returns every other error.
func UnlessGone(err error) (gone bool, other error) {
	if Classify(err) == Gone {
		return true, nil
	}
	return false, err
}

// classOfStatus decides the class of an answer that is not a success.
func classOfStatus(status int, f fault, retryAfter bool) Class {
	switch {
	case status == http.StatusUnauthorized:
		return Unauthorized
	case status == http.StatusForbidden && f.isQuota():
		return Quota
	case status == http.StatusNotFound || status == http.StatusGone:
		return Gone
	case status == http.StatusConflict:
		return classOfConflict(f)
	case status == http.StatusPreconditionFailed:
		return Conflict // the revision that the caller read is not the latest
	case status == http.StatusServiceUnavailable && strings.Contains(f.message, "Unable to lock the project"):
		return Busy
	case throttles(status, retryAfter):
		return Throttled
	case status == http.StatusRequestTimeout:
		return Transient
	case status == http.StatusNotImplemented:
		return Invalid
	case status == http.StatusInternalServerError && f.isQuota():
		return Quota // Octavia passes Neutron's refusal of a port for the VIP on
	case status == http.StatusInternalServerError && strings.Contains(f.message, "already allocated in subnet"):
		return Conflict // ... and that of a VIP address which somebody has
	case status >= 500:
		return Transient
	case status >= 400:
		return Invalid
	}
	return Transient // a success or a redirect that nobody expected here
}

// throttles reports whether an answer asks to slow down. Nova's 413 does only with a Retry-After.
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
