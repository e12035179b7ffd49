// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/neterror"
)

// errNotKubernetes is the error for answers that do not come from Kubernetes.
var errNotKubernetes = errors.New("it does not answer as the Kubernetes API does")

// Error is a failed call to the Kubernetes API.
type Error struct {
	// Fact is what failed, with the API, the kubeconfig and the context.
	Fact string
	// Advice is what to change, or "".
	Advice string
	// Err is the error of the call.
	Err error
}

// Error returns fact and advice.
func (e *Error) Error() string {
	if e.Advice == "" {
		return e.Fact
	}
	return e.Fact + "; " + e.Advice
}

// Unwrap returns the error of the call.
func (e *Error) Unwrap() error { return e.Err }

// Explain adds the kubeconfig, context and server to the error of a call, and what to change. The result is an *Error,
// or nil for nil.
func (c Cluster) Explain(err error) error {
	if err == nil {
		return nil
	}
	return &Error{Fact: fmt.Sprintf("Kubernetes API at %s (%s): %v", c.REST.Host, c.source, err), Advice: c.advice(err), Err: err}
}

// advice returns what to change about the cause of the error, or "".
func (c Cluster) advice(err error) string {
	foreign, text := foreignAnswer(err)
	switch {
	case neterror.NeedsTLS(http.StatusBadRequest, []byte(text)):
		return fmt.Sprintf("correct %s: it must begin with https://", c.server)
	case foreign:
		return fmt.Sprintf("check %s: another program or a proxy answers there", c.server)
	case apierrors.IsUnauthorized(err):
		if c.user == podAccount {
			return "create the Pod again: the token of its service account is wrong, expired or revoked, such as that of a service account that was deleted"
		}
		return fmt.Sprintf("log in again, or get another kubeconfig: the credentials of %s are wrong, expired or revoked", c.user)
	case apierrors.IsForbidden(err):
		return "grant the right with RBAC, as the ClusterRole in deploy does, or use other credentials"
	case apierrors.IsTooManyRequests(err):
		return "the API server is overloaded, and limits its clients: try again later"
	case isServerFailure(err):
		return "the API server or a gateway in front of it fails: `kubectl get --raw '/readyz?verbose'` shows which part is not ready"
	}
	switch neterror.CauseOf(err) {
	case neterror.Refused:
		return fmt.Sprintf("nothing listens there: is the API server running, and is %s right?", c.server)
	case neterror.UnknownHost:
		return fmt.Sprintf("check %s, and the DNS of this machine or Pod", c.server)
	case neterror.Timeout, neterror.Unreachable:
		return fmt.Sprintf("check that routes, VPN, firewalls and NetworkPolicies let this machine or Pod reach it, and %s", c.server)
	case neterror.UnknownAuthority:
		return fmt.Sprintf("certificate-authority next to %s is not the CA that signed the API server's certificate", c.server)
	case neterror.WrongName:
		return fmt.Sprintf("the host must be one of the names in the certificate: check %s, and tls-server-name next to it", c.server)
	case neterror.Expired:
		return "the certificate of the API server must be renewed, or the clock of this machine is wrong"
	case neterror.SpeaksHTTP:
		return fmt.Sprintf("correct %s: it must begin with http://", c.server)
	case neterror.SpeaksTLS:
		return fmt.Sprintf("correct %s: it must begin with https://", c.server)
	case neterror.Proxy:
		return "check proxy-url in the kubeconfig and the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	}
	return ""
}

// isServerFailure reports whether the answer is a failure of the server.
func isServerFailure(err error) bool {
	var answer apierrors.APIStatus
	return errors.As(err, &answer) && answer.Status().Code >= http.StatusInternalServerError
}

// foreignAnswer reports whether an answer does not come from the Kubernetes API, and returns its text if it was a
// failure. A server error may come from a gateway and does not count.
func foreignAnswer(err error) (foreign bool, text string) {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) {
		return errors.Is(err, errNotKubernetes), ""
	}
	status := answer.Status()
	if status.Details == nil || status.Code >= http.StatusInternalServerError {
		return false, ""
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true, cause.Message
		}
	}
	return false, ""
}
