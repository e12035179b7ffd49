// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neterror"
)

// Error is a failed call. Use errors.As to get it.
type Error struct {
	// Op is what was tried, and the object: "create load balancer kube_service_x".
	Op string
	// Class describes what the failure means.
	Class Class
	// Status is the HTTP status; 0 means no answer.
	Status int
	// Message is the message of the service, or what happened to the call.
	Message string
	// Advice is what to change. It is empty if that is unknown, or if the message contains it.
	Advice string
	// RequestID identifies the call in the logs of the service: the service's id of the request, or else the
	// one that was sent. It is empty if the call was not made.
	RequestID string
	// RetryAfter is the wait that a Throttled response requests, or 0.
	RetryAfter time.Duration
	// Unanswered means that the service may have carried out the write although the call failed: there was no
	// response, a partial one, or one from a gateway. It is meaningless for reads.
	Unanswered bool
	// Rejected means that the service rejects the call with 401 although Keystone has just accepted the credentials.
	Rejected bool
	// Err is the underlying error, or nil.
	Err error
}

// Error returns one line: op, status, message, advice, request id.
func (e *Error) Error() string {
	if e.Advice == "" {
		return e.Fact()
	}
	said := *e
	said.Message = strings.TrimSuffix(e.Message, ".") + "; " + e.Advice
	return said.Fact()
}

// Fact returns the line without the advice.
func (e *Error) Fact() string {
	var b strings.Builder
	if e.Op != "" {
		b.WriteString(e.Op + ": ")
	}
	if e.Status != 0 {
		b.WriteString(strconv.Itoa(e.Status) + ": ")
	}
	b.WriteString(e.Message)
	var notes []string
	if e.RequestID != "" {
		notes = append(notes, "request "+e.RequestID)
	}
	if e.RetryAfter > 0 {
		notes = append(notes, "retry after "+e.RetryAfter.Round(time.Millisecond).String())
	}
	if len(notes) > 0 {
		b.WriteString(" (" + strings.Join(notes, ", ") + ")")
	}
	return b.String()
}

// Reason returns the text of err without the parts that differ from call to call, so that a repeated failure can be
// recognized. It is "" for nil.
func Reason(err error) string {
	var e *Error
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &e):
		return err.Error()
	}
	same := *e
	same.RequestID, same.RetryAfter = "", 0
	return same.Error()
}

// Unwrap returns the underlying error.
func (e *Error) Unwrap() error { return e.Err }

// Wrap turns the error of a call into an *Error with what was tried. It returns nil for nil.
func Wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	e := describe(err)
	if e.Op != "" {
		op += ": " + e.Op
	}
	e.Op = op
	return &e
}

// NewForeign returns an *Error of class Foreign: op was not carried out because of the owner of the object, as
// message explains.
func NewForeign(op, message string) *Error {
	return &Error{Op: op, Class: Foreign, Message: message}
}

// Unreadable returns the error of a response that contains what instead of what was requested. A
// write may have been carried out nevertheless.
func Unreadable(op, what string) *Error {
	return &Error{Op: op, Class: Transient, Message: "there is " + what + " in the answer", Unanswered: true}
}

// describe classifies err, which is not nil.
func describe(err error) Error {
	var ours *Error
	var renewal *gophercloud.ErrUnableToReauthenticate
	var answer gophercloud.ErrUnexpectedResponseCode
	var fresh *gophercloud.ErrErrorAfterReauthentication
	var broken *attemptError
	switch {
	case errors.As(err, &ours):
		return *ours
	case errors.As(err, &renewal):
		return describeRenewal(renewal)
	case errors.As(err, &answer) && answer.Actual == http.StatusUnauthorized && errors.As(err, &fresh):
		e := describeAnswer(answer)
		e.Rejected = true
		e.Message = strings.TrimSuffix(e.Message, ".") + ". Keystone has just accepted the credentials, but this service rejects them: an application " +
			"credential is rejected like this if its access rules do not allow the call" + rejectedCall(answer)
		e.Advice = allowCall(answer)
		return e
	case errors.As(err, &answer):
		return describeAnswer(answer)
	case errors.As(err, &broken):
		return Error{
			Class: Transient, Message: broken.Error(), Advice: broken.advice(), RequestID: broken.requestID, Unanswered: broken.sent, Err: err,
		}
	case isInput(err):
		return Error{Class: Invalid, Message: err.Error(), Err: err}
	}
	// The rest failed after the response headers: a truncated body, or one of an unexpected form.
	return Error{Class: Transient, Message: "the answer cannot be read: " + neterror.Text(err), Unanswered: true, Err: err}
}

// describeAnswer describes a response that is not a success.
func describeAnswer(answer gophercloud.ErrUnexpectedResponseCode) Error {
	f := parseFault(answer.Actual, answer.Body)
	patience, asked := retryAfter(answer.ResponseHeader, time.Now())
	e := Error{
		Class:     classOfStatus(answer.Actual, f, asked),
		Status:    answer.Actual,
		Message:   f.message,
		Advice:    f.advice(answer),
		RequestID: requestIDOf(answer.ResponseHeader),
		Err:       answer,
	}
	if e.Class == Throttled {
		e.RetryAfter = patience
	}
	switch answer.Actual {
	case http.StatusBadGateway, http.StatusGatewayTimeout, http.StatusRequestTimeout:
		e.Unanswered = true
	case http.StatusServiceUnavailable, http.StatusNotImplemented:
	default:
		// A server error in a form that no service uses comes from a gateway. After an unexpected success the
		// effect of the call is unknown.
		e.Unanswered = answer.Actual < 400 || answer.Actual >= 500 && !f.known
	}
	return e
}

// describeRenewal describes a call that was rejected with an expired token that could not be renewed. The call
// itself was answered; its class is that of the failed renewal.
func describeRenewal(err *gophercloud.ErrUnableToReauthenticate) Error {
	e := describe(err.ErrReauth)
	e.Message = "the token could not be renewed: " + e.Message
	if e.Class != Transient && e.Class != Throttled {
		e.Class = Unauthorized
		e.Advice = "replace the credentials in [Global] of cloud.conf; a running controller reads them again"
	}
	e.Unanswered = false
	e.Err = err.ErrReauth
	return e
}

// isInput reports whether gophercloud refused to make the call.
func isInput(err error) bool {
	var missing gophercloud.ErrMissingInput
	var invalid gophercloud.ErrInvalidInput
	var endpoint *gophercloud.ErrEndpointNotFound
	return errors.As(err, &missing) || errors.As(err, &invalid) || errors.As(err, &endpoint)
}

// retryAfter reads the Retry-After header: seconds, or a date, which is compared with the date of the response if
// it has one.
func retryAfter(h http.Header, now time.Time) (patience time.Duration, asked bool) {
	value := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(maxPatience/time.Second))) * time.Second, true
	}
	until, err := http.ParseTime(value)
	if err != nil {
		return 0, false
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return min(max(until.Sub(now), 0), maxPatience), true
}

// maxPatience limits the time that a Retry-After can request.
const maxPatience = 10 * time.Minute
