// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/calltable"
	"github.com/kube-octavia/kube-octavia/internal/neterror"
)

// hint says what to change when a call to the service got no answer; "" if that is not known.
func hint(cause neterror.Cause, service string) string {
	address, scheme := "auth-url in [Global]", "in auth-url in [Global]"
	if service != calltable.ServiceIdentity {
		address = fmt.Sprintf("the endpoint of the %s service in the service catalogue (`openstack catalog list`), and os-endpoint-type in [Global]", service)
		scheme = fmt.Sprintf("in the endpoint of the %s service: ask the operator of the cloud to correct the service catalogue (`openstack catalog list`), "+
			"or choose other endpoints with os-endpoint-type in [Global]", service)
	}
	switch cause {
	case neterror.SpeaksHTTP:
		return "the server has no TLS: https:// must be http:// " + scheme
	case neterror.SpeaksTLS:
		return "http:// must be https:// " + scheme
	case neterror.UnknownAuthority:
		return "check ca-file in [Global], the CAs that sign the cloud's certificates"
	case neterror.WrongName:
		return "the host must be one of the names in the certificate: check " + address
	case neterror.Expired:
		return "the operator of the cloud has to renew the certificate, or the clock of this machine is wrong"
	case neterror.UnknownHost:
		return "check the host in " + address + ", and the DNS of this machine or Pod"
	case neterror.Refused:
		return "nothing listens there: check host and port in " + address
	case neterror.Timeout, neterror.Unreachable:
		return "check that routes, firewalls and NetworkPolicies let this machine or Pod reach it, and " + address
	case neterror.Proxy:
		return "check the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	}
	return ""
}

// explainAuthentication adds to a failed login what the operator can check.
func explainAuthentication(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if wrong := wrongAuthURL(e); wrong != "" {
		e.Message += "; " + wrong
		if e.Class == Gone {
			e.Class = Invalid
		}
	} else if e.Class == Unauthorized {
		e.Message += " Check the credentials in [Global]."
	}
	return e
}

// rightAuthURL says what auth-url has to be.
const rightAuthURL = "is auth-url the address of Keystone? It is the URL of service identity in `openstack catalog list`, such as " +
	"https://HOST:5000/v3 or https://HOST/identity/v3"

// wrongAuthURL says why the answer to a login shows that auth-url is wrong; "" if it does not.
func wrongAuthURL(e *Error) string {
	answer := answerOf(e)
	switch {
	case e.Status == http.StatusMultipleChoices:
		return "this is a list of API versions and not a token; " + rightAuthURL
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("the server redirects to %s: write the address that it leads to in auth-url", withoutPassword(answer.ResponseHeader.Get("Location")))
	case e.Class == Gone:
		return fmt.Sprintf("there is no %s; %s", withoutPassword(answer.URL), rightAuthURL)
	case isWebPage(e) && e.Class != Unauthorized:
		return fmt.Sprintf("this is a web page, such as those of a dashboard, a login or a proxy; %s", rightAuthURL)
	}
	return ""
}

// explainEndpoint adds to a failed first call to a service that its endpoint may be wrong.
func explainEndpoint(err error, service, endpoint string) error {
	var e *Error
	if errors.As(err, &e) && (e.Class == Gone || isWebPage(e)) {
		e.Message += fmt.Sprintf("; the service catalogue has the endpoint %s for the %s service: ask the operator of the cloud whether that is right, "+
			"or choose other endpoints with os-endpoint-type in [Global]", withoutPassword(endpoint), service)
	}
	return err
}

// answerOf returns the answer that is not a success, or an empty one.
func answerOf(e *Error) gophercloud.ErrUnexpectedResponseCode {
	var answer gophercloud.ErrUnexpectedResponseCode
	_ = errors.As(e.Err, &answer)
	return answer
}

// isWebPage reports whether the answer was a page for browsers or, if it was a success, anything but JSON. Those of
// server errors do not count: gateways send them instead of answers of the right service.
func isWebPage(e *Error) bool {
	answer := answerOf(e)
	notJSON := e.Status == 0 && errors.As(e.Err, new(*json.SyntaxError))
	return notJSON || e.Status < http.StatusInternalServerError && neterror.IsWebPage(answer.ResponseHeader, answer.Body)
}

// missingRight names the call that a service rejected, and how to get an application credential that allows it.
func missingRight(answer gophercloud.ErrUnexpectedResponseCode) string {
	const create = "; create another one with `kube-octavia credential create`"
	u, err := url.Parse(answer.URL)
	if err != nil {
		return create
	}
	call, known := calltable.FindAddress(answer.Method, u.Path)
	if !known {
		return create
	}
	name := call.Feature.Name()
	if _, optional := calltable.FindOptional(name); optional {
		return fmt.Sprintf(" %s, which is for %s%s, without --without=%s", call, call.Feature, create, name)
	}
	return fmt.Sprintf(" %s%s", call, create)
}

// keepWrites follows redirects of reads. A redirect that makes a read of a write, as net/http does for 301 and 302, is
// returned as the answer: the write was not done.
func keepWrites(req *http.Request, via []*http.Request) error {
	switch {
	case req.Method != via[0].Method:
		return http.ErrUseLastResponse
	case len(via) >= maxRedirects:
		return fmt.Errorf("stopped after %d redirects", maxRedirects)
	}
	return nil
}

// maxRedirects is the limit of net/http.
const maxRedirects = 10
