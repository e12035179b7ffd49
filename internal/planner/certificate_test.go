// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/gophercloud/gophercloud/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/kube-octavia/kube-octavia/internal/annotation"
	"github.com/kube-octavia/kube-octavia/internal/barbican"
	"github.com/kube-octavia/kube-octavia/internal/build"
	"github.com/kube-octavia/kube-octavia/internal/lb"
)

const (
	refOne   = "https://barbican.example.com/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	sameOne  = "http://10.0.0.1:9311/v1/secrets/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	refTwo   = "https://barbican.example.com/v1/secrets/4a1c2b90-0c5d-4e8e-9d43-7b1c2a6f5e04"
	refThree = "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"
)

func TestTheCommandsThatAllowASecretNameTheUserWhoWasRefused(t *testing.T) {
	const words = `User "system:serviceaccount:lb:octavia" cannot get resource "secrets" in API group "" in the namespace "shop"`
	for name, c := range map[string]struct {
		refusal error
		user    string
	}{
		"by RBAC":               {apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", errors.New(words)), "--user=system:serviceaccount:lb:octavia"},
		"without a word of who": {apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", errors.New("no")), "--user=system:serviceaccount:kube-octavia:kube-octavia"},
	} {
		text := howToAllow("shop", "web-tls", c.refusal)
		for _, part := range []string{"--resource-name=web-tls", "--verb=get ", "kubectl -n shop create role ", c.user} {
			if !strings.Contains(text, part) {
				t.Errorf("%s: %q does not say %q", name, text, part)
			}
		}
	}
}

func TestOfSeveralEqualCertificatesTheOneInUseIsTakenAsItIsKnownThere(t *testing.T) {
	one, two := lb.Certificate{Name: "x", Ref: refOne}, lb.Certificate{Name: "x", Ref: refTwo}
	having := func(refs ...string) *lb.LoadBalancer {
		return &lb.LoadBalancer{Listeners: []lb.Listener{{}, {TLS: &lb.TLS{Certificate: refs[0], SNI: refs[1:]}}}}
	}
	for name, c := range map[string]struct {
		same []lb.Certificate
		l    *lb.LoadBalancer
		want string
	}{
		"none":                         {nil, having(refOne), ""},
		"no load balancer":             {[]lb.Certificate{one, two}, nil, refOne},
		"none is in use":               {[]lb.Certificate{one, two}, having(refThree), refOne},
		"the second is in use":         {[]lb.Certificate{one, two}, having(refTwo), refTwo},
		"for a host":                   {[]lb.Certificate{one, two}, having(refThree, refTwo), refTwo},
		"Barbican has another address": {[]lb.Certificate{two, one}, having(sameOne), sameOne},
	} {
		if got := chooseCertificate(c.same, c.l); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// failing is an API server that answers every question in the same way.
type failing struct {
	client.Reader
	err error
}

// Get implements client.Reader.
func (f failing) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return f.err
}

func TestACertificateIsWhatItWasWhileTheSecretCannotBeRead(t *testing.T) {
	silence := errors.New("no answer")
	gone := apierrors.NewNotFound(corev1.Resource("secrets"), "web-tls")
	was := build.SecretCertificate{Secret: "web-tls", Certificate: lb.Certificate{Name: "n", Ref: refOne}, Problem: "p"}
	for name, c := range map[string]struct {
		secret string
		answer error
		reason string
		failed bool
		want   build.SecretCertificate
	}{
		"no answer":                   {"web-tls", silence, "", false, was},
		"no answer about another one": {"api-tls", silence, "", true, build.SecretCertificate{}},
		"it is gone":                  {"web-tls", gone, build.ReasonCertificateUnusable, true, build.SecretCertificate{}},
		"it may not be read":          {"web-tls", apierrors.NewForbidden(corev1.Resource("secrets"), "web-tls", silence), build.ReasonSecretForbidden, true, build.SecretCertificate{}},
		"none is named any more":      {"", silence, "", false, build.SecretCertificate{}},
	} {
		p := &Planner{Barbican: barbican.New(&gophercloud.ServiceClient{}, nil, nil), Secrets: failing{err: c.answer}}
		in := build.Input{Service: &corev1.Service{}, Certificate: was}
		err := p.findCertificate(t.Context(), &in, annotation.Options{TLSSecret: c.secret}, lb.Observed{})
		reason := ""
		if i := refusalIn(err); i != nil {
			reason = i.Reason
		}
		if (err != nil) != c.failed || reason != c.reason || in.Certificate != c.want {
			t.Errorf("%s: %+v, %v", name, in.Certificate, err)
		}
	}
}
