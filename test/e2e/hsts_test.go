// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

const hstsKey = ownPrefix + "hsts-max-age"

// hsts is what a listener has for header Strict-Transport-Security.
type hsts struct {
	MaxAge            *int `json:"hsts_max_age"`
	IncludeSubdomains bool `json:"hsts_include_subdomains"`
	Preload           bool `json:"hsts_preload"`
}

// waitForHSTS waits until the listener of the port has this, nil for no header.
func (v *service) waitForHSTS(port string, want *hsts) {
	v.t.Helper()
	v.eventually(func() error {
		var answer struct {
			Listener hsts
		}
		path := "/v2.0/lbaas/listeners/" + v.tree().listener(port).ID
		if err := v.cloud.call(asUser, cloudsim.LoadBalancer, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		have := &answer.Listener
		if have.MaxAge == nil {
			have = nil
		}
		if diff := cmp.Diff(want, have); diff != "" {
			return fmt.Errorf("the header (-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestHSTSFollowsItsAnnotations(t *testing.T) {
	skipOnRealOpenStack(t, "TestTheHeaderOfHSTSReachesClientsThroughHAProxy sets and removes it")
	s := newStage(t, settings{password: true, cloud: cloudsim.Options{APIVersion: "2.27"}})
	s.needsOctavia("2.27")
	certificate, key := s.pair(time.Hour)
	s.mayRead("web-tls")
	s.secret("web-tls", certificate, key)
	age := func(seconds int) *int { return &seconds }
	web := s.service("web", tcp(8443, 8080), annotated(secretKey, "web-tls"), annotated(protocolsKey, "tcp-8443=TERMINATED_HTTPS,tcp-8080=TCP"), annotated(hstsKey, "31536000"))
	web.waitUntilProgrammed()
	was := web.tree()
	web.waitForHSTS("TCP/8443", &hsts{MaxAge: age(31536000)})
	web.waitForHSTS("TCP/8080", nil)

	web.change(annotated(hstsKey, "60"), annotated(ownPrefix+"hsts-include-subdomains", "true"), annotated(ownPrefix+"hsts-preload", "true"))
	web.waitForHSTS("TCP/8443", &hsts{MaxAge: age(60), IncludeSubdomains: true, Preload: true})
	web.change(notAnnotated(ownPrefix+"hsts-include-subdomains"), notAnnotated(ownPrefix+"hsts-preload"), annotated(hstsKey, "0"))
	web.waitForHSTS("TCP/8443", &hsts{MaxAge: age(0)})

	// Without an age there is nothing that the others could extend.
	web.change(notAnnotated(hstsKey), annotated(ownPrefix+"hsts-preload", "true"))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation").Message, "hsts-preload", hstsKey)
	web.waitForHSTS("TCP/8443", &hsts{MaxAge: age(0)})
	web.change(notAnnotated(ownPrefix + "hsts-preload"))
	web.waitForHSTS("TCP/8443", nil)
	web.waitUntilProgrammed()
	web.requireSameListener(was, "TCP/8443")
}

func TestHSTSThatTheCloudDoesNotHaveIsReported(t *testing.T) {
	simulatorOnly(t, "the API version is chosen")
	s := newStage(t, settings{password: true, cloud: cloudsim.Options{Release: release.Zed}})
	certificate, key := s.pair(time.Hour)
	s.mayRead("web-tls")
	s.secret("web-tls", certificate, key)
	web := s.service("web", tcp(8443), annotated(secretKey, "web-tls"), annotated(hstsKey, "31536000"))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "HSTSUnsupported").Message, "2.27", hstsKey)
	web.waitForTree(all(ports("TCP/8443")))
	web.change(notAnnotated(hstsKey))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
}

// HAProxy is Debian's, with the configuration and the certificate that Octavia would give it in an amphora.
func TestTheHeaderOfHSTSReachesClientsThroughHAProxy(t *testing.T) {
	if *stateDir == "" {
		t.Skip("on a real OpenStack only: the simulator has no HAProxy")
	}
	onlyWithProvider(t, "amphora", "ovn terminates no TLS")
	s := newStage(t, settings{password: true, amphora: true})
	s.needsOctavia("2.27")
	a, isAmphora := s.cloud.backend.(*amphora)
	if !isAmphora {
		t.Fatal("the cloud has no HAProxy")
	}
	certificate, key := s.pair(time.Hour)
	s.mayRead("web-tls")
	s.secret("web-tls", certificate, key)
	web := s.service("web", tcp(8443), annotated(secretKey, "web-tls"), annotated(protocolsKey, "tcp-8443=TERMINATED_HTTPS"), annotated(hstsKey, "60"), annotated(ownPrefix+"hsts-preload", "true"))
	web.waitUntilProgrammed()
	requireHeader := func(want string) {
		t.Helper()
		found := web.tree()
		a.serve(found.ID, found.VIP, strconv.Itoa(freePort(8443)))
		s.eventually(func() error {
			header, err := headerOf(t, a.internet(), endpoint(found.VIP, 8443), certificate)
			if err != nil {
				return err
			}
			if header != want {
				t.Fatalf("the header is %q, want %q", header, want)
			}
			return nil
		})
	}
	requireHeader("max-age=60; preload;")

	web.change(notAnnotated(hstsKey), notAnnotated(ownPrefix+"hsts-preload"))
	web.waitForHSTS("TCP/8443", nil)
	web.waitUntilProgrammed()
	requireHeader("")
}

// headerOf makes a request over TLS, with trust in this certificate only, and returns the header of HSTS.
func headerOf(t *testing.T, from client, at string, certificate []byte) (string, error) {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	trust := &tls.Config{RootCAs: roots, ServerName: "web.example.test", MinVersion: tls.VersionTLS12}
	_, header, err := requestFrom(t.Context(), from, trust, "https://"+at)
	return header.Get("Strict-Transport-Security"), err
}
