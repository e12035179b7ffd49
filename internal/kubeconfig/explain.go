// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package kubeconfig

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/neterror"
)

// errNotKubernetes is the error of answers that Kubernetes does not give.
var errNotKubernetes = errors.New("it does not answer as the Kubernetes API does")

// Explain adds to the error of a call which kubeconfig, context and server were used, and what to change. It returns nil
// for nil.
func (c Cluster) Explain(err error) error {
	if err == nil {
		return nil
	}
	hint := c.hint(err)
	if hint != "" {
		hint = "; " + hint
	}
	//lint:ignore ST1005 Kubernetes is a name
	return fmt.Errorf("Kubernetes API at %s (%s): %w%s", c.REST.Host, c.source, err, hint)
}

// hint says what to change; "" if that is not known.
func (c Cluster) hint(err error) string {
	foreign, text := foreignAnswer(err)
	switch {
	case neterror.NeedsTLS(http.StatusBadRequest, []byte(text)):
		return fmt.Sprintf("%s must begin with https://", c.server)
	case foreign:
		return fmt.Sprintf("check %s: another program or a proxy answers there", c.server)
	case apierrors.IsUnauthorized(err):
		return fmt.Sprintf("the API rejects the credentials of %s: they are wrong, expired or revoked", c.user)
	case apierrors.IsForbidden(err):
		return "grant the right with RBAC, as the ClusterRole in deploy does, or use other credentials"
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
		return "the certificate of the API server has to be renewed, or the clock of this machine is wrong"
	case neterror.SpeaksHTTP:
		return fmt.Sprintf("%s must begin with http://", c.server)
	case neterror.SpeaksTLS:
		return fmt.Sprintf("%s must begin with https://", c.server)
	case neterror.Proxy:
		return "check proxy-url in the kubeconfig and the environment variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
	}
	return ""
}

// foreignAnswer reports whether an answer is not one of the Kubernetes API, and returns its text if it was a failure. A
// failure of a server may be that of a gateway and does not count.
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
