// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/identity/v3/applicationcredentials"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/internal/cloud/accessrule"
	"github.com/kube-octavia/kube-octavia/internal/command/cli"
)

// retryingNothing does not retry what the cloud has refused, however long a test takes.
func retryingNothing() cli.Options {
	timing := usualDelays()
	timing.SlowRetry = time.Hour
	return cli.Options{Timing: timing}
}

// unreadable waits until the Service reports that Octavia cannot read its certificate, in a message with all these
// words.
func (v *service) unreadable(words ...string) metav1.Condition {
	v.t.Helper()
	var c metav1.Condition
	v.eventually(func() error {
		c = v.waitForCondition(accepted, conditionFalse, "CertificateUnusable")
		for _, word := range words {
			if !strings.Contains(c.Message, word) {
				return errors.New("the message does not name " + word + ": " + c.Message)
			}
		}
		return nil
	})
	return c
}

// refusedCertificates counts the requests that Octavia has refused because of a certificate, or of the login.
func (s *stage) refusedCertificates() (n int) {
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Service == cloudsim.LoadBalancer && c.Status == http.StatusBadRequest {
			n++
		}
	}
	return n
}

// Octavia of 2022.2 reads a certificate with a token that Keystone gives it in exchange for the controller's. Keystone gives
// none in exchange for the token of an application credential. Octavia of 2025.1 uses the controller's token. Only a try
// tells which of the two Octavia does.
func TestCertificateThatOctaviaCannotReadForTheLoginDoesNotDelayOtherPorts(t *testing.T) {
	simulatorOnly(t, "there the controller comes with a password; the contract has the cloud's part in it")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Zed}, program: retryingNothing()})
	ref := s.bundle()
	web := s.service("web", tcp(8080, 8081), annotated(protocolsKey, "tcp-8081=TCP"), annotated(tlsKey, ref))
	web.unreadable(ref, "Could not retrieve certificate", "(request req-", "application credential", "2025.1", "password", "container-store")
	web.waitForTree(speaks("TCP/8081 TCP TCP"))
	s.answers(web.address(), 8081)
	web.waitForCondition(programmed, conditionFalse, "NotAccepted")
	if n := s.refusedCertificates(); n != 1 {
		t.Errorf("it was tried %d times", n)
	}

	// It is not tried with every pass, and what else changes is done.
	writes := len(s.writes())
	for i := range 3 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint("time ", i))) })
	}
	if now := s.writes(); len(now) != writes {
		t.Errorf("passes that change nothing wrote %v", now[writes:])
	}
	web.change(tcp(8082), annotated(protocolsKey, "tcp-8081=TCP,tcp-8082=TCP"))
	s.addNode("c")
	web.waitForTree(all(speaks("TCP/8081 TCP TCP", "TCP/8082 TCP TCP"), membersAt(s.addresses("a", "b", "c")...)))
	if n := s.refusedCertificates(); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
	web.requireOneLoadBalancer()
	web.delete()
	web.waitUntilGone()
	s.dropPortsLeft(0)
}

// If the listener were replaced before Octavia has refused the other one, the port would be closed.
func TestNoLivePortIsClosedForACertificateThatOctaviaCannotRead(t *testing.T) {
	simulatorOnly(t, "there the controller comes with a password; the contract has the cloud's part in it")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Zed}, program: retryingNothing()})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	was := web.tree()
	visitor := s.visit(address, 8080)
	web.change(annotated(tlsKey, s.bundle()))
	web.unreadable("Could not retrieve certificate")
	s.addNode("c")
	web.waitForTree(all(speaks("TCP/8080 TCP TCP"), membersAt(s.addresses("a", "b", "c")...)))
	web.requireSameListener(was, "TCP/8080")
	s.requireNoFailedRequest(visitor)
	s.noneAnswered(http.StatusConflict)
	if n := s.refusedCertificates(); n != 1 {
		t.Errorf("it was tried %d times", n)
	}

	// Access is restricted all the same.
	web.change(openTo("192.0.2.0/24"))
	web.waitForTree(func(have tree) error {
		if got := have.listener("TCP/8080").Sources; !slices.Equal(got, []string{"192.0.2.0/24"}) {
			return fmt.Errorf("the source ranges are %v", got)
		}
		return nil
	})
	web.requireSameListener(was, "TCP/8080")
	web.change(openTo(), notAnnotated(tlsKey))
	web.waitUntilProgrammed()
	web.requireSameListener(was, "TCP/8080")
}

func TestCertificateOfASecretStaysStoredWhileOctaviaCannotReadIt(t *testing.T) {
	simulatorOnly(t, "there the controller comes with a password; the contract has the cloud's part in it")
	program := retryingNothing()
	program.Timing.SecretInterval = curious().Timing.SecretInterval
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Zed}, program: program})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	web := s.service("web", tcp(8080), udp(8081), annotated(secretKey, "web-tls"))
	web.unreadable("Secret web-tls", "application credential", "password", "container-store")
	web.waitForTree(speaks("UDP/8081 UDP UDP"))
	kept := s.stored()
	writes := len(s.writes())
	for i := range 3 {
		s.waitForPassAfter(func() { web.change(touched(fmt.Sprint("time ", i))) })
	}
	if now := s.writes(); len(now) != writes || s.refusedCertificates() != 1 {
		t.Errorf("it was tried %d times; passes that change nothing wrote %v", s.refusedCertificates(), now[writes:])
	}
	if now := s.stored(); len(kept) != 1 || !slices.Equal(kept, now) {
		t.Errorf("stored were %v, and are %v", kept, now)
	}
	web.delete()
	web.waitUntilGone()
	s.noneStored()
	s.dropPortsLeft(0)
}

func TestCertificatesServeControllersWithAnApplicationCredential(t *testing.T) {
	simulatorOnly(t, "a real cloud is of one release, and the contract has its part in it")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Epoxy}, program: curious()})
	s.mayRead("web-tls")
	s.renew(time.Hour)
	bundle, container := s.bundle(), s.container()
	web := s.service("web", tcp(8080, 8081), annotated(protocolsKey, "tcp-8081=TCP"), annotated(tlsKey, bundle))
	own := s.service("own", tcp(8082), annotated(secretKey, "web-tls"))
	web.waitUntilProgrammed()
	own.waitUntilProgrammed()
	web.waitForTree(all(speaks("TCP/8080 TERMINATED_HTTPS HTTP", "TCP/8081 TCP TCP"), ends("TCP/8080", bundle)))
	before := own.waitForCertificate("TCP/8082")
	was := web.tree()

	web.change(annotated(tlsKey, container), notAnnotated(protocolsKey)) // port 8081 was open without TLS
	web.waitForTree(all(speaks("TCP/8080 TERMINATED_HTTPS HTTP", "TCP/8081 TERMINATED_HTTPS HTTP"), ends("TCP/8080", container), ends("TCP/8081", container)))
	web.requireSameListener(was, "TCP/8080")
	s.renew(time.Hour)
	own.waitForCertificate("TCP/8082", before)
	if n := s.refusedCertificates(); n > 0 {
		t.Errorf("%d requests were refused", n)
	}
	web.waitUntilProgrammed()
}

// An older application credential lacks the access rules by which Octavia of 2025.1 reads certificates. A new one is used as soon as
// cloud.conf has it, and the certificate tried at once.
func TestCertificateIsTriedAgainWithAnotherLogin(t *testing.T) {
	simulatorOnly(t, "a real cloud is of one release, and the contract has its part in it")
	s := newStage(t, settings{cloud: cloudsim.Options{Release: release.Epoxy}, off: true})
	rules := slices.DeleteFunc(accessrule.Rules(nil), func(r applicationcredentials.AccessRule) bool { return strings.HasSuffix(r.Path, "/acl") })
	older, _ := s.credentialWith("older", rules)
	newer, _ := s.credentialWith("newer", accessrule.Rules(nil))
	m := s.mounts(older)
	s.start()
	web := s.service("web", tcp(8080), annotated(tlsKey, s.bundle()))
	web.unreadable("GET /v1/secrets/*/acl of key-manager, PUT /v1/secrets/*/acl of key-manager", "kube-octavia credential create")
	if err := m.write(newer); err != nil {
		t.Fatal(err)
	}
	tries := 0
	web.eventually(func() error {
		tries++
		web.change(touched(fmt.Sprint(tries)))
		if now := web.tree(); now.listener("TCP/8080").Protocol != "TERMINATED_HTTPS" {
			return fmt.Errorf("it has %+v", now)
		}
		return nil
	})
	web.waitUntilProgrammed()
}
