// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import "github.com/kube-octavia/kube-octavia/internal/cloud/calls"

// Advice returns what to do about the error of a call: its own advice or, if it has none, the advice for its class, or
// "".
func Advice(err error) string {
	if err == nil {
		return ""
	}
	e := describe(err)
	if e.Advice != "" {
		return e.Advice
	}
	switch e.Class {
	case Throttled:
		return "the service limits calls, or is overloaded: try again later, and make fewer calls at once with --cloud-rate and --cloud-burst"
	case Transient:
		return transientAdvice(e)
	case Gone:
		return "the service does not have what was requested: compare its endpoint with `openstack catalog list`, or ask the operator of the cloud which extensions it has"
	}
	return ""
}

// transientAdvice returns what to do about a failure that may be temporary.
func transientAdvice(e Error) string {
	switch {
	case isWebPage(&e):
		return "another program answers instead of the service, such as a proxy or a login page: check the endpoint with `openstack catalog list`, and HTTPS_PROXY and NO_PROXY"
	case e.Status == 0 && e.Unanswered:
		return "the service was reached, but did not answer correctly: try again later. If that does not help, ask the operator of the cloud, who finds the call in the logs by its request id"
	case e.Status >= 500:
		return "the service fails: try again later. If that does not help, ask the operator of the cloud, who finds the call in the logs by its request id"
	}
	return ""
}

// Call returns the call that was answered, if it is in the table of calls.
func (e *Error) Call() (calls.Call, bool) {
	answer := answerOf(e)
	if answer.URL == "" {
		return calls.Call{}, false
	}
	return callOf(answer)
}
