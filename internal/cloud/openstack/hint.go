// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/cloud/neterror"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// hint returns what to change if a call to the service got no answer, or "".
func hint(cause neterror.Cause, service string) string {
	address, scheme := "auth-url in [Global]", "in auth-url in [Global]"
	if service != calls.ServiceIdentity {
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
		return "the operator of the cloud must renew the certificate, or the clock of this machine is wrong"
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

// explainAuthentication adds, to a failed login with credentials of the kind, what the operator can
// check.
func explainAuthentication(err error, kind config.Authentication) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	if wrong := wrongAuthURL(e); wrong != "" {
		e.Advice = wrong
		if e.Class == Gone {
			e.Class = Invalid
		}
	} else if e.Class == Unauthorized && e.Advice == "" {
		e.Advice = checkCredentials(kind)
	}
	return e
}

// WithPlace replaces [Global] in the error of a failed login by the place of the login, if that is not a file
// with [Global].
func WithPlace(err error, place string) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	placed := *e
	placed.Message, placed.Advice = strings.ReplaceAll(e.Message, "[Global]", place), strings.ReplaceAll(e.Advice, "[Global]", place)
	return &placed
}

// WithDoubts adds, to the rejection of a login by Keystone, what may be wrong with the values in
// cloud.conf.
func WithDoubts(err error, doubts []config.Notice) error {
	var e *Error
	if len(doubts) == 0 || Classify(err) != Unauthorized || !errors.As(err, &e) {
		return err
	}
	texts := make([]string, len(doubts))
	for i, n := range doubts {
		texts[i] = n.String()
	}
	explained := *e
	explained.Message = strings.TrimSuffix(e.Message, ".") + ". This may be the cause: " + strings.Join(texts, " ")
	return &explained
}

// checkCredentials returns what to check if Keystone rejects credentials of the kind. Keystone's answer does not say
// what is wrong.
func checkCredentials(kind config.Authentication) string {
	switch kind {
	case config.ByApplicationCredential:
		return "check application-credential-id and application-credential-secret in [Global]. If they are right, the application credential has expired or was deleted, " +
			"or its user was disabled or lost the roles: create another one with `kube-octavia credential create`"
	case config.ByToken:
		return "the token in [Global] has expired or was revoked, and no token can be renewed: create an application credential with `kube-octavia credential create`"
	case config.ByTrust:
		return "check trust-id, trustee-id and trustee-password in [Global]. If they are right, the trust has expired or was deleted, or its trustor lost the roles: " +
			"`openstack trust show TRUST`"
	}
	return "check in [Global] the user with its domain, the password, and the project with its domain. If they are right, the user is disabled or locked, or has no role in the project"
}

// rightAuthURL describes the correct auth-url.
const rightAuthURL = "is auth-url the address of Keystone? It is the URL of service identity in `openstack catalog list`, such as " +
	"https://HOST:5000/v3 or https://HOST/identity/v3"

// wrongAuthURL returns why the answer to a login shows that auth-url is wrong, or "".
func wrongAuthURL(e *Error) string {
	answer := answerOf(e)
	switch {
	case e.Status == http.StatusMultipleChoices:
		return "this is a list of API versions, not a token; " + rightAuthURL
	case e.Status >= 300 && e.Status < 400:
		return fmt.Sprintf("the server redirects to %s: write the address that it leads to in auth-url", withoutPassword(answer.ResponseHeader.Get("Location")))
	case e.Class == Gone:
		return fmt.Sprintf("there is no %s; %s", withoutPassword(answer.URL), rightAuthURL)
	case isWebPage(e) && e.Class != Unauthorized:
		return fmt.Sprintf("this is a web page, such as those of a dashboard, a login or a proxy; %s", rightAuthURL)
	}
	return ""
}

// explainEndpoint adds, to the failure of the first call to a service, that its endpoint may be
// wrong.
func explainEndpoint(err error, service, endpoint string) error {
	var e *Error
	if errors.As(err, &e) && (e.Class == Gone || isWebPage(e)) {
		e.Advice = fmt.Sprintf("the service catalogue has the endpoint %s for the %s service: ask the operator of the cloud whether that is right, "+
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

// isWebPage reports whether the answer is a page for browsers or, if it is a success, anything but JSON. Pages of
// server errors do not count: gateways send them instead of answers of the right service.
func isWebPage(e *Error) bool {
	answer := answerOf(e)
	notJSON := e.Status == 0 && errors.As(e.Err, new(*json.SyntaxError))
	return notJSON || e.Status < http.StatusInternalServerError && neterror.IsWebPage(answer.ResponseHeader, answer.Body)
}

// rejectedCall returns the call that a service rejected, for the end of a sentence, or "".
func rejectedCall(answer gophercloud.ErrUnexpectedResponseCode) string {
	call, known := callOf(answer)
	switch {
	case !known:
		return ""
	case !call.Feature.OfController():
		return fmt.Sprintf(" %s, which the controller does not make", call)
	case call.Feature == calls.FeatureSession:
		return " " + call.String()
	}
	return fmt.Sprintf(" %s, which is for %s", call, call.Feature)
}

// allowCall returns how to get an application credential that allows the call that a service
// rejected.
func allowCall(answer gophercloud.ErrUnexpectedResponseCode) string {
	create := func(flag string) string {
		return "create another application credential with `kube-octavia credential create" + flag + "`"
	}
	call, known := callOf(answer)
	name := call.Feature.Name()
	switch _, optional := calls.FindOptional(name); {
	case known && !call.Feature.OfController():
		return "" // no application credential of the controller allows it
	case slices.Contains(calls.Additional(), call.Feature):
		return create(" --with=" + name)
	case optional:
		return create("") + ", without --without=" + name
	}
	return create("")
}

// callOf returns the kind of the call that was answered.
func callOf(answer gophercloud.ErrUnexpectedResponseCode) (calls.Call, bool) {
	u, err := url.Parse(answer.URL)
	if err != nil {
		return calls.Call{}, false
	}
	return calls.FindAddress(answer.Method, u.Path)
}

// keepWrites follows redirects of reads. A redirect that would turn a write into a read, as net/http does for 301 and
// 302, is returned as the answer: the write was not carried out.
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
