// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gophercloud/gophercloud/v2"
)

const requestID = "req-00000000-0000-0000-0000-000000000001"

func TestClassesOfResponses(t *testing.T) {
	octavia := func(s string) string { return `{"faultcode": "Client", "faultstring": "` + s + `", "debuginfo": null}` }
	neutron := func(kind, s string) string {
		return `{"NeutronError": {"type": "` + kind + `", "message": "` + s + `", "detail": ""}}`
	}
	page := "<html><head><title>502 Bad Gateway</title></head></html>"
	retry := map[string]string{"Retry-After": "7"}
	dated := map[string]string{"Retry-After": "Fri, 02 Jan 2026 03:05:05 GMT", "Date": "Fri, 02 Jan 2026 03:04:05 GMT"}
	tests := map[string]struct {
		status  int
		body    string
		headers map[string]string
		want    Error
	}{
		"a pending load balancer": {409, octavia("Load Balancer 1 is immutable and cannot be updated."), nil,
			Error{Class: Busy, Message: "Load Balancer 1 is immutable and cannot be updated."}},
		"a pending parent": {409, octavia("Invalid state PENDING_UPDATE of loadbalancer resource 1"), nil,
			Error{Class: Busy, Message: "Invalid state PENDING_UPDATE of loadbalancer resource 1"}},
		"a project of which another call counts the objects": {503, octavia("Project busy.  Unable to lock the project.  Please try again."), nil,
			Error{Class: Busy, Message: "Project busy. Unable to lock the project. Please try again."}},
		"a load balancer in error": {409, octavia("Invalid state ERROR of loadbalancer resource 1"), nil,
			Error{Class: Conflict, Message: "Invalid state ERROR of loadbalancer resource 1"}},
		"a port in use": {409, octavia("Another Listener on this Load Balancer is already using protocol_port 80"), nil,
			Error{Class: Conflict, Message: "Another Listener on this Load Balancer is already using protocol_port 80"}},
		"a floating IP in use": {409, neutron("FloatingIPPortAlreadyAssociated", "Cannot associate floating IP"), nil,
			Error{Class: Conflict, Message: "Cannot associate floating IP"}},
		"an old revision": {412, neutron("RevisionNumberConstraintFailed", "Constrained to 1, but current revision is 2"), nil,
			Error{Class: Conflict, Message: "Constrained to 1, but current revision is 2"}},
		"Octavia's quota": {403, octavia("Quota has been met for resources: load_balancer"), nil,
			Error{Class: Quota, Message: "Quota has been met for resources: load_balancer"}},
		"Neutron's quota": {409, neutron("OverQuota", "Quota exceeded for resources: ['floatingip']."), nil,
			Error{Class: Quota, Message: "Quota exceeded for resources: ['floatingip']."}},
		"the limit of the routes of a router": {400, neutron("RoutesExhausted", "Unable to complete operation for r. The number of routes exceeds the maximum 30."), nil,
			Error{Class: Quota, Message: "Unable to complete operation for r. The number of routes exceeds the maximum 30."}},
		"Neutron's quota of ports, by way of Octavia": {500, octavia("Provider 'amphora' reports error: Quota exceeded for resources: ['port']."), nil,
			Error{Class: Quota, Message: "Provider 'amphora' reports error: Quota exceeded for resources: ['port']."}},
		"a VIP address in use": {500, octavia("Provider 'amphora' reports error: IP address 10.0.0.7 already allocated in subnet 1"), nil,
			Error{Class: Conflict, Message: "Provider 'amphora' reports error: IP address 10.0.0.7 already allocated in subnet 1"}},
		"a VIP that Neutron refuses, from Octavia 16": {500, octavia("Provider 'amphora' reports error: ConflictException: 409"), nil,
			Error{Class: Conflict, Message: "Provider 'amphora' reports error: ConflictException: 409", Advice: findConflict}},
		"a VIP address in use, from Octavia 19": {409, octavia("The VIP IP address is already in use: IP address 10.0.0.7 already allocated in subnet 1"), nil,
			Error{Class: Conflict, Message: "The VIP IP address is already in use: IP address 10.0.0.7 already allocated in subnet 1"}},
		"Barbican's quota": {403, `{"code": 403, "title": "Forbidden", "description": "Quota reached for project 1. Only 5 secrets are allowed."}`, nil,
			Error{Class: Quota, Message: "Quota reached for project 1. Only 5 secrets are allowed."}},
		"Keystone's limit of application credentials": {403, `{"error": {"code": 403, "title": "Forbidden", "message": "Unable to create additional application credentials, maximum of 5 already exceeded for user."}}`, nil,
			Error{Class: Quota, Message: "Unable to create additional application credentials, maximum of 5 already exceeded for user.", Advice: deleteUnused}},
		"no address left for a VIP": {500, octavia("Provider 'amphora' reports error: No more IP addresses available on network 1."), nil,
			Error{Class: Conflict, Message: "Provider 'amphora' reports error: No more IP addresses available on network 1."}},
		"a VIP address outside of the subnet": {500, octavia("Provider 'amphora' reports error: IP address 192.0.2.1 is not a valid IP for the specified subnet."), nil,
			Error{Class: Invalid, Message: "Provider 'amphora' reports error: IP address 192.0.2.1 is not a valid IP for the specified subnet.", Advice: chooseInSubnet}},
		"a request that Neutron refuses, from an Octavia that calls it by the OpenStack SDK": {500, octavia("Provider 'amphora' reports error: BadRequestException: 400"), nil,
			Error{Class: Transient, Message: "Provider 'amphora' reports error: BadRequestException: 400", Advice: askForCause}},
		"a second VIP in a subnet that is missing": {500, octavia("subnet not found (subnet id: 1)."), nil,
			Error{Class: Invalid, Message: "subnet not found (subnet id: 1)."}},
		"a subnet that is missing": {400, octavia("Subnet 1 not found."), nil, Error{Class: Invalid, Message: "Subnet 1 not found."}},
		"no way to the external network": {404, neutron("ExternalGatewayForFloatingIPNotFound", "External network 1 is not reachable from subnet 2.  Therefore, cannot associate Port 3 with a Floating IP."), nil,
			Error{Class: Invalid, Message: "External network 1 is not reachable from subnet 2. Therefore, cannot associate Port 3 with a Floating IP.", Advice: chooseReachable}},
		"an external network that is missing": {404, neutron("NetworkNotFound", "Network 1 could not be found."), nil,
			Error{Class: Invalid, Message: "Network 1 could not be found."}},
		"a subnet for a floating IP that is missing": {404, neutron("SubnetNotFound", "Subnet 1 could not be found."), nil,
			Error{Class: Invalid, Message: "Subnet 1 could not be found."}},
		"a floating IP that is gone": {404, neutron("FloatingIPNotFound", "Floating IP 1 could not be found"), nil,
			Error{Class: Gone, Message: "Floating IP 1 could not be found"}},
		"a port that is gone": {404, neutron("PortNotFound", "Port 1 could not be found."), nil, Error{Class: Gone, Message: "Port 1 could not be found."}},
		"Nova's quota": {403, `{"forbidden": {"code": 403, "message": "Quota exceeded for cores"}}`, nil,
			Error{Class: Quota, Message: "Quota exceeded for cores"}},
		"a policy": {403, octavia("Policy does not allow this request to be performed."), nil,
			Error{Class: Invalid, Message: "Policy does not allow this request to be performed.",
				Advice: "the policy of the service does not permit this to the roles of the login: assign a role that may, usually member, before 2025.1 load-balancer_member: " +
					"`openstack role add --user USER --project PROJECT ROLE`; application credentials keep the roles of their creation, so create another one after that"}},
		"a bad request": {400, octavia("Validation failure: bad\\n  name"), nil,
			Error{Class: Invalid, Message: "Validation failure: bad name"}},
		"an old form of Neutron's": {400, `{"NeutronError": "Bad thing"}`, nil, Error{Class: Invalid, Message: "Bad thing"}},
		"not processable":          {422, `{"title": "Unprocessable", "description": "No."}`, nil, Error{Class: Invalid, Message: "No."}},
		"not implemented": {501, octavia("Provider 'ovn' does not support a requested action"), nil,
			Error{Class: Invalid, Message: "Provider 'ovn' does not support a requested action"}},
		"gone":                    {404, octavia("listener 1 not found."), nil, Error{Class: Gone, Message: "listener 1 not found."}},
		"Nova's gone":             {404, `{"itemNotFound": {"code": 404, "message": "Instance 1 could not be found."}}`, nil, Error{Class: Gone, Message: "Instance 1 could not be found."}},
		"too many":                {429, "", retry, Error{Class: Throttled, Message: "too many requests", RetryAfter: 7 * time.Second}},
		"too many, until a date":  {429, "", dated, Error{Class: Throttled, Message: "too many requests", RetryAfter: time.Minute}},
		"too many, no word when":  {429, `{"message": "slow down"}`, nil, Error{Class: Throttled, Message: "slow down"}},
		"unavailable":             {503, page, nil, Error{Class: Throttled, Message: "service unavailable"}},
		"over limit":              {413, `{"overLimit": {"code": 413, "message": "Too fast"}}`, retry, Error{Class: Throttled, Message: "Too fast", RetryAfter: 7 * time.Second}},
		"too large":               {413, "", nil, Error{Class: Invalid, Message: "request entity too large"}},
		"a fault of the service":  {500, octavia("'NoneType' object has no attribute 'ip_address'"), nil, Error{Class: Transient, Message: "'NoneType' object has no attribute 'ip_address'"}},
		"a fault without a voice": {500, "", nil, Error{Class: Transient, Message: "internal server error", Unanswered: true}},
		"a gateway":               {502, page, nil, Error{Class: Transient, Message: "bad gateway", Unanswered: true}},
		"a gateway's timeout":     {504, `{"message": "upstream"}`, nil, Error{Class: Transient, Message: "upstream", Unanswered: true}},
		"a strange success":       {207, "", nil, Error{Class: Transient, Message: "multi-status", Unanswered: true}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			s := c.connect()
			c.setHandler(func(w http.ResponseWriter, _ *http.Request) {
				for key, value := range test.headers {
					w.Header().Set(key, value)
				}
				w.Header().Set("X-Openstack-Request-Id", requestID)
				answer(w, test.status, test.body)
			})
			err := Wrap("create load balancer x", post(context.Background(), s))
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("got %T: %v", err, err)
			}
			want := test.want
			want.Op, want.Status, want.RequestID = "create load balancer x", test.status, requestID
			if diff := cmp.Diff(want, *got, cmpopts.IgnoreFields(Error{}, "Err")); diff != "" {
				t.Error(diff)
			}
			if Classify(err) != want.Class || Classify(fmt.Errorf("outside: %w", err)) != want.Class {
				t.Errorf("Classify: %s", Classify(err))
			}
			if !gophercloud.ResponseCodeIs(err, test.status) {
				t.Error("the answer cannot be reached through the error")
			}
		})
	}
}

func TestAnErrorReadsAsASentence(t *testing.T) {
	e := &Error{
		Op: "create load balancer kube_service_x", Status: 403, Message: "Quota has been met for resources: load_balancer", RequestID: "req-1",
	}
	if want := "create load balancer kube_service_x: 403: Quota has been met for resources: load_balancer (request req-1)"; e.Error() != want {
		t.Errorf("got %q", e.Error())
	}
	e = &Error{Message: "not sent", RetryAfter: 1500 * time.Millisecond}
	if want := "not sent (retry after 1.5s)"; e.Error() != want {
		t.Errorf("got %q", e.Error())
	}
}

func TestWrapNamesEachOperationOnce(t *testing.T) {
	if Wrap("x", nil) != nil || Classify(nil) != "" {
		t.Error("nothing has become an error")
	}
	inner := Wrap("delete pool p", &Error{Class: Gone, Status: 404, Message: "no"})
	outer := Wrap("clean up", fmt.Errorf("ignored: %w", inner))
	if want := "clean up: delete pool p: 404: no"; outer.Error() != want {
		t.Errorf("got %q", outer)
	}
	if inner.Error() != "delete pool p: 404: no" {
		t.Errorf("the inner error has changed: %q", inner)
	}
}

func TestOnlyCallersCreateErrorsOfClassForeign(t *testing.T) {
	err := NewForeign("adopt load balancer x", "it belongs to cluster y")
	if Classify(err) != Foreign || err.Error() != "adopt load balancer x: it belongs to cluster y" {
		t.Errorf("%s: %v", Classify(err), err)
	}
}

// cut closes the connection without an answer.
func cut(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.(*net.TCPConn).SetLinger(0)
		_ = connection.Close()
	}
}

func TestUnansweredCallsAreTransientAndSayWhetherTheyMayHaveArrived(t *testing.T) {
	tests := map[string]struct {
		handle     http.HandlerFunc
		timeout    time.Duration
		unanswered bool
		want       string
	}{
		"cut":  {handle: cut, unanswered: true, want: "create: no answer: "},
		"hung": {handle: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, timeout: 100 * time.Millisecond, unanswered: true, want: "create: no answer within 100ms (request req-"},
		"hung in the middle": {handle: func(w http.ResponseWriter, r *http.Request) {
			answer(w, 201, `{"x": `)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}, timeout: 100 * time.Millisecond, unanswered: true, want: "create: the answer cannot be read: context deadline exceeded"},
		"garbage":    {handle: func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, "<html>") }, unanswered: true, want: "create: the answer cannot be read: invalid character"},
		"wrong type": {handle: func(w http.ResponseWriter, _ *http.Request) { answer(w, 201, "[]") }, unanswered: true, want: "create: the answer cannot be read: json: cannot unmarshal array"},
		"half": {handle: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			answer(w, 201, `{"x": `)
		}, unanswered: true, want: "create: the answer cannot be read: unexpected EOF"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t)
			s := c.connect()
			if test.timeout > 0 {
				s = c.connect(func(o *Options) { o.RequestTimeout = test.timeout })
			}
			c.setHandler(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				test.handle(w, r)
			})
			err := Wrap("create", post(context.Background(), s))
			var e *Error
			if !errors.As(err, &e) || e.Class != Transient || e.Unanswered != test.unanswered {
				t.Fatalf("got %+v", err)
			}
			if !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("want %q..., got %q", test.want, err)
			}
		})
	}
}

func TestCallThatWasNeverSentIsNotUnanswered(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	errs := map[string]error{"cancelled before": post(cancelled, s)}
	s.connections.current.Load().CloseIdleConnections()
	c.Server.Close()
	errs["no server there"] = post(context.Background(), s)
	for name, err := range errs {
		t.Run(name, func(t *testing.T) {
			var e *Error
			if !errors.As(Wrap("create", err), &e) || e.Class != Transient || e.Unanswered {
				t.Errorf("%+v", Wrap("create", err))
			}
		})
	}
	if !errors.Is(errs["cancelled before"], context.Canceled) {
		t.Errorf("a cancelled call does not say so: %v", errs["cancelled before"])
	}
}

func TestMessagesAreLimitedToOneLine(t *testing.T) {
	f := parseFault(400, []byte(`{"faultstring": "`+strings.Repeat("ä ", 1000)+`"}`))
	if len(f.message) > maxMessage+4 || strings.ContainsAny(f.message, "\n\r") || !strings.HasSuffix(f.message, " ...") {
		t.Errorf("%d bytes: %q", len(f.message), f.message)
	}
}

func TestErrorOfTheLimitOfApplicationCredentialsDoesNotAskForAnotherLogin(t *testing.T) {
	c := newCloud(t)
	s := c.connect()
	c.setHandler(func(w http.ResponseWriter, _ *http.Request) {
		answer(w, http.StatusForbidden, `{"error": {"code": 403, "title": "Forbidden", "message": "Unable to create additional application credentials, maximum of 5 already exceeded for user."}}`)
	})
	err := onlyPeople(Wrap("create application credential x", post(t.Context(), s)))
	if text := err.Error(); strings.Contains(text, "Log in") || !strings.Contains(text, "openstack application credential list") {
		t.Error(text)
	}
}

func TestRefusalOfACertificateIsDistinguishedFromOthers(t *testing.T) {
	const message = "Could not retrieve certificate: ['http://barbican.test/v1/secrets/1']"
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a certificate that Octavia cannot read": {&Error{Class: Invalid, Status: 400, Message: message}, true},
		"wrapped":                                {fmt.Errorf("web: %w", &Error{Class: Invalid, Status: 400, Message: message}), true},
		"one that it reads, and that is wrong":   {&Error{Class: Invalid, Status: 400, Message: "The PKCS12 bundle is unreadable."}, false},
		"one that it reads, without a name":      {&Error{Class: Invalid, Status: 400, Message: "Could not retrieve certificate: http://barbican.test/v1/secrets/1"}, false},
		"a full quota of listeners":              {&Error{Class: Quota, Status: 403, Message: "Quota has been met for resources: listener"}, false},
		"another service's failure":              {&Error{Class: Transient, Status: 500, Message: message}, false},
		"no answer":                              {&Error{Class: Transient, Message: message}, false},
		"no error":                               {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := CannotReadCertificate(c.err); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
