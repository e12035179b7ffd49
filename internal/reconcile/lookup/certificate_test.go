// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lookup

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/cloud/barbican"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/desired"
)

const (
	refOne   = "https://barbican.example.com/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	sameOne  = "http://10.0.0.1:9311/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	refTwo   = "https://barbican.example.com/v1/secrets/4a1c2b90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	refThree = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
)

func TestCommandsThatAllowASecretNameTheRefusedUser(t *testing.T) {
	const message = `User "system:serviceaccount:lb:octavia" cannot get resource "secrets" in API group "" in the namespace "shop"`
	for name, c := range map[string]struct {
		refusal error
		user    string
	}{
		"refused by RBAC":  {apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", errors.New(message)), "--user=system:serviceaccount:lb:octavia"},
		"without the user": {apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", errors.New("no")), "--user=system:serviceaccount:kube-octavia:kube-octavia"},
	} {
		text := howToAllow("shop", "web-tls", c.refusal)
		for _, part := range []string{"--resource-name=web-tls", "--verb=get ", "kubectl -n shop create role ", c.user} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not contain %q", name, text, part)
			}
		}
	}
}

func TestOfEqualCertificatesTheOneInUseIsChosen(t *testing.T) {
	one, two := lb.Certificate{Name: "x", Ref: refOne}, lb.Certificate{Name: "x", Ref: refTwo}
	using := func(refs ...string) *lb.LoadBalancer {
		return &lb.LoadBalancer{Listeners: []lb.Listener{{}, {TLS: &lb.TLS{Certificate: refs[0], SNI: refs[1:]}}}}
	}
	for name, c := range map[string]struct {
		equal []lb.Certificate
		l     *lb.LoadBalancer
		want  string
	}{
		"none":                                  {nil, using(refOne), ""},
		"no load balancer":                      {[]lb.Certificate{one, two}, nil, refOne},
		"not in use":                            {[]lb.Certificate{one, two}, using(refThree), refOne},
		"the second in use":                     {[]lb.Certificate{one, two}, using(refTwo), refTwo},
		"the second in use for SNI":             {[]lb.Certificate{one, two}, using(refThree, refTwo), refTwo},
		"in use by another address of Barbican": {[]lb.Certificate{two, one}, using(sameOne), sameOne},
	} {
		if got := chooseCertificate(c.equal, c.l); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// failing is an API server with the same error for every read.
type failing struct {
	client.Reader
	err error
}

// Get implements client.Reader.
func (f failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

func TestCertificateStaysWhileTheSecretCannotBeRead(t *testing.T) {
	noAnswer := errors.New("no answer")
	gone := apierrors.NewNotFound(corev1.Resource("secrets"), "web-tls")
	was := desired.SecretCertificate{Secret: "web-tls", Certificate: lb.Certificate{Name: "n", Ref: refOne}, Problem: "p"}
	for name, c := range map[string]struct {
		secret string
		answer error
		reason string
		failed bool
		want   desired.SecretCertificate
	}{
		"no answer":               {"web-tls", noAnswer, "", false, was},
		"no answer, other Secret": {"api-tls", noAnswer, "", true, desired.SecretCertificate{}},
		"deleted":                 {"web-tls", gone, desired.ReasonCertificateUnusable, true, desired.SecretCertificate{}},
		"forbidden":               {"web-tls", apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", noAnswer), desired.ReasonSecretForbidden, true, desired.SecretCertificate{}},
		"no Secret requested":     {"", noAnswer, "", false, desired.SecretCertificate{}},
	} {
		b := &Builder{Barbican: barbican.New(&gophercloud.ServiceClient{}, nil), Secrets: failing{err: c.answer}}
		of := claim.Owner{Spec: &desired.Spec{}}
		of.Spec.Options.TLSSecret = c.secret
		in := desired.Input{Spec: of.Spec, Certificate: was}
		in, err := b.findCertificate(t.Context(), of, in, lb.Observed{})
		reason := ""
		if refused, is := errors.AsType[*desired.Invalid](err); is {
			reason = refused.Reason
		}
		if (err != nil) != c.failed || reason != c.reason || in.Certificate != c.want {
			t.Errorf("%s: %+v, %v", name, in.Certificate, err)
		}
	}
}
