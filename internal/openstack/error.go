// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Error is a failed call, with what is needed to decide and to report. Get at it with errors.As.
type Error struct {
	// Op says what was tried, on which object: "create load balancer kube_service_x".
	Op string
	// Class says what the failure means.
	Class Class
	// Status is the HTTP status, or 0 if there was no answer.
	Status int
	// Message is the service's own sentence, or what happened to the call.
	Message string
	// RequestID finds the call in the service's logs: the service's id of it, or the one that was sent if it gave none. Empty
	// if the call was not made.
	RequestID string
	// RetryAfter is the patience asked for by a Throttled answer; 0 if none was named.
	RetryAfter time.Duration
	// Unanswered says that the service may have done what was asked although the call failed: there was no answer, only a
	// part of one, or one from a gateway. It means nothing for a read.
	Unanswered bool
	// Err is the error underneath; it may be nil.
	Err error
}

// Error gives the failure as one line: op, status, message, request.
func (e *Error) Error() string {
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

// Reason is what err says but for what differs from one call to the next, so that the same failure can be told from another one.
// Of nil it is "".
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

// Unwrap returns the error underneath.
func (e *Error) Unwrap() error { return e.Err }

// Wrap turns the error of a call into an *Error that says what was tried. Of nil it is nil.
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

// NewForeign returns an *Error of class Foreign: op was not done because of whose the object is, as message says.
func NewForeign(op, message string) *Error {
	return &Error{Op: op, Class: Foreign, Message: message}
}

// describe finds out what err, which is not nil, stands for.
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
		e.Message = strings.TrimSuffix(e.Message, ".") + ". Keystone has just accepted the credentials, but this service rejects them: an application " +
			"credential is rejected like this if its access rules do not allow the call; create another one with `kube-octavia credential create`"
		return e
	case errors.As(err, &answer):
		return describeAnswer(answer)
	case errors.As(err, &broken):
		return Error{
			Class: Transient, Message: broken.Error(), RequestID: broken.requestID, Unanswered: broken.sent, Err: err,
		}
	case isInput(err):
		return Error{Class: Invalid, Message: err.Error(), Err: err}
	}
	// What is left failed between the head of the answer and its end: a body that broke off, or that is not what was expected.
	return Error{Class: Transient, Message: "the answer cannot be read: " + plain(err), Unanswered: true, Err: err}
}

// describeAnswer describes an answer that is not a success.
func describeAnswer(answer gophercloud.ErrUnexpectedResponseCode) Error {
	f := parseFault(answer.Actual, answer.Body)
	patience, asked := retryAfter(answer.ResponseHeader, time.Now())
	e := Error{
		Class:     classOfStatus(answer.Actual, f, asked),
		Status:    answer.Actual,
		Message:   f.message,
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
		// A server error in a form that no service writes comes from something in between. A success is one that was not
		// expected, so what it did is not known.
		e.Unanswered = answer.Actual < 400 || answer.Actual >= 500 && !f.known
	}
	return e
}

// describeRenewal describes a call that was refused because its token had expired, and got no new one. The call itself was
// answered, with a refusal; how bad it is depends on why there was no new token.
func describeRenewal(err *gophercloud.ErrUnableToReauthenticate) Error {
	e := describe(err.ErrReauth)
	e.Message = "the token could not be renewed: " + e.Message
	if e.Class != Transient && e.Class != Throttled {
		e.Class = Unauthorized
		e.Message = strings.TrimSuffix(e.Message, ".") + ". Replace the credentials in [Global] of cloud.conf; a running controller reads them again"
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

// plain is the text of an error without the method and address that net/http puts before it.
func plain(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return plain(u.Err)
	}
	return err.Error()
}

// retryAfter reads the header of that name: seconds, or a date, which is held against the answer's own date if it has one.
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

// maxPatience bounds what a Retry-After can ask for.
const maxPatience = 10 * time.Minute

// attemptError is a call that got no answer.
type attemptError struct {
	requestID string
	sent      bool // a connection was there, so the request may have arrived
	timeout   time.Duration
	err       error
}

func (e *attemptError) Error() string {
	switch {
	case e.timeout > 0:
		return fmt.Sprintf("no answer within %v", e.timeout)
	case errors.Is(e.err, context.Canceled):
		return "cancelled before the answer arrived"
	case isCertificate(e.err):
		return "no answer: " + plain(e.err) + "; check ca-file in [Global], the CAs that sign the cloud's certificates"
	}
	return "no answer: " + plain(e.err)
}

func (e *attemptError) Unwrap() error { return e.err }
