// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

// oldOVN is provider ovn of the age at which its health monitors do harm. A real cloud may have a newer one, see notAfter.
func oldOVN(t *testing.T) settings {
	t.Helper()
	onlyWithProvider(t, "ovn", "the monitors of amphorae do no harm")
	return settings{cloud: cloudsim.Options{Provider: "ovn", Release: release.Zed}, conf: []string{"lb-provider=ovn"}}
}

// newOVN is provider ovn of 2025.1, which makes monitors as all others do.
func newOVN(t *testing.T) settings {
	t.Helper()
	onlyWithProvider(t, "ovn", "other providers always made monitors in the call that creates the load balancer")
	return settings{cloud: cloudsim.Options{Provider: "ovn", Release: release.Epoxy}, conf: []string{"lb-provider=ovn"}}
}

func TestProviderOVNMakesMonitorsInTheCallThatCreatesTheLoadBalancer(t *testing.T) {
	s := newStage(t, newOVN(t))
	s.needsOctavia("2.30")
	s.waitUntilIdle()
	s.resetCalls()
	web := s.service("web", tcp(8080, 8081), annotated(monitorKey, "true"))
	address := web.waitUntilProgrammed()
	for _, w := range s.writes() {
		if strings.Contains(w, "/healthmonitors") {
			t.Errorf("the cloud was written to: %s", w)
		}
	}
	usual := &monitor{Type: "TCP", Delay: 5, Timeout: 3, Retries: 1, Down: 3}
	web.waitForTree(all(ports("TCP/8080", "TCP/8081"), monitored(usual), s.finished))
	visitor := s.visit(address, 8080)
	web.change(tcp(8082))
	web.waitForTree(all(ports("TCP/8080", "TCP/8081", "TCP/8082"), monitored(usual)))
	web.change(without(8081))
	web.waitForTree(all(ports("TCP/8080", "TCP/8082"), monitored(usual)))
	web.change(annotated(monitorKey, "false"))
	web.waitForTree(all(ports("TCP/8080", "TCP/8082"), monitored(nil), s.finished))
	web.waitUntilProgrammed()
	web.change(annotated(monitorKey, "true"))
	web.waitForTree(all(ports("TCP/8080", "TCP/8082"), monitored(usual), s.finished))
	web.waitUntilProgrammed()
	s.waitForAnswersThrough(address, 8082, s.addresses("a", "b")...)
	s.requireNoFailedRequest(visitor)
}

// Provider ovn misses a floating IP that is attached while it makes the second protocol, see docs/reference/providers.md. A real one
// does so now and then.
func TestProviderOVNServesBothProtocolsAtTheFloatingIP(t *testing.T) {
	s := newStage(t, newOVN(t))
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	s.answers(address, 8080)
	s.echoes(address, 5300)
}

// The second protocol waits for seconds after the floating IP was attached.
func TestProviderOVNServesAProtocolThatIsAddedAtTheFloatingIP(t *testing.T) {
	s := newStage(t, newOVN(t))
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.change(udp(8080))
	web.waitForTree(all(ports("TCP/8080", "UDP/8080"), membersAt(s.addresses("a", "b")...)))
	web.waitUntilProgrammed()
	s.answers(address, 8080)
	s.echoes(address, 8080)
}

// Whenever provider ovn has done a part of a batch of members, it reports all members that it still has as ACTIVE. Taken for changes
// by another client, these made the controller stop for ten minutes after three such changes.
func TestMembersThatProviderOVNStillShowsAreNotThoseOfAnotherClient(t *testing.T) {
	slow := newOVN(t)
	slow.cloud.UpdateTime = 2 * time.Second // members are shown for as long after the load balancer is ACTIVE
	s := newStage(t, slow)
	s.addNode("c")
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	visitor := s.visit(address, 8080)
	for range 4 {
		s.changeNode("b", excluded)
		s.changeNode("c", excluded)
		web.waitForTree(membersAt(s.addresses("a")...))
		s.changeNode("b", included)
		s.changeNode("c", included)
		web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	}
	web.waitUntilProgrammed()
	if strings.Contains(s.controller.log.String(), "another client changed") {
		t.Error("members that the provider still showed were taken for changes by another client")
	}
	s.requireNoFailedRequest(visitor)
}

func TestServiceIsServedWithoutHealthMonitorsThatFailWithProviderOVN(t *testing.T) {
	s := newStage(t, oldOVN(t))
	s.notAfter("2.26")
	web := s.service("web", tcp(8080), udp(5300), annotated(monitorKey, "true"))
	t.Log(web.waitForCondition(accepted, conditionFalse, "HealthMonitorUnsupported").Message)
	web.waitForCondition(programmed, conditionFalse, "NotAccepted")
	address := web.address()
	visitor := s.visit(address, 8080)
	s.echoes(address, 5300)
	web.change(tcp(8081))
	web.waitForTree(all(ports("TCP/8080", "TCP/8081", "UDP/5300"), monitored(nil)))
	s.waitForAnswersThrough(address, 8081, s.addresses("a", "b")...)
	web.change(annotated(monitorKey, "false"))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
}

func TestSessionAffinityThatProviderOVNDoesNotImplementIsReported(t *testing.T) {
	s := newStage(t, oldOVN(t))
	s.notAfter("2.26")
	web := s.service("web", tcp(8080), sticky(90))
	t.Log(web.waitForCondition(accepted, conditionFalse, "SessionAffinityUnsupported").Message)
	s.waitForAnswersThrough(web.address(), 8080, s.addresses("a", "b")...)
	web.change(func(v *corev1.Service) {
		v.Spec.SessionAffinity, v.Spec.SessionAffinityConfig = corev1.ServiceAffinityNone, nil
	})
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
}

func TestProviderOVNBalancesBySourceAddressAndPort(t *testing.T) {
	s := newStage(t, oldOVN(t))
	web := s.service("web", tcp(8080), local)
	web.waitUntilProgrammed()
	web.waitForTree(eachPool(func(p pool) error {
		if p.Algorithm != "SOURCE_IP_PORT" {
			return fmt.Errorf("pool %s balances by %s", p.Name, p.Algorithm)
		}
		return nil
	}))
}

func TestProviderOVNBalancesBySourceAddressIfCloudConfSaysThatItCan(t *testing.T) {
	onlyWithProvider(t, "ovn", "other providers support it")
	simulatorOnly(t, "release 11 of provider ovn supports it, and no real cloud here has that with packets")
	s := newStage(t, settings{cloud: cloudsim.Options{Provider: "ovn", Release: release.Newest},
		conf: []string{"lb-provider=ovn", "lb-method=SOURCE_IP", `[LoadBalancerProvider "ovn"]`, "methods=SOURCE_IP_PORT, SOURCE_IP"}})
	by := func(method string) func(tree) error {
		return eachPool(func(p pool) error {
			if p.Algorithm != method {
				return fmt.Errorf("pool %s balances by %s, want %s", p.Name, p.Algorithm, method)
			}
			return nil
		})
	}
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.waitForTree(by("SOURCE_IP"))
	web.change(annotated(prefix+"lb-method", "SOURCE_IP_PORT"))
	web.waitForTree(by("SOURCE_IP_PORT"))
	web.change(annotated(prefix+"lb-method", "ROUND_ROBIN"))
	requireWords(t, web.waitForCondition(accepted, conditionFalse, "Unsupported").Message, "ROUND_ROBIN", "SOURCE_IP_PORT, SOURCE_IP")
}

// TestHealthMonitorThatDropsAllTrafficIsReported has a monitor that another client made, in a
// network in which nothing can carry out its checks. No port is opened beside it.
func TestHealthMonitorThatDropsAllTrafficIsReported(t *testing.T) {
	simulatorOnly(t, "real networks here have a metadata port")
	with := oldOVN(t)
	with.flags = sweeping
	s := newStage(t, with)
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	have := web.tree()
	s.waitForNextSecond(have)
	var made struct {
		HealthMonitor struct{ ID string }
	}
	s.cloud.octavia(http.MethodPost, "healthmonitors", map[string]any{"healthmonitor": map[string]any{
		"pool_id": have.listener("TCP/8080").PoolID, "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1}}, &made)
	t.Log(web.waitForCondition(accepted, conditionFalse, "MetadataPortMissing").Message)
	web.waitForTree(monitored(&monitor{Type: "TCP", Delay: 5, Timeout: 3, Retries: 1, Down: 3}))
	web.change(tcp(8081))
	s.eventually(func() error {
		if c := web.waitForCondition(accepted, conditionFalse, "MetadataPortMissing"); !strings.Contains(c.Message, fmt.Sprintf("port TCP/%d cannot be opened", freePort(8081))) {
			return fmt.Errorf("the port that is not opened is not told of: %s", c.Message)
		}
		return nil
	})
	web.waitForTree(ports("TCP/8080"))
	s.waitForNextSecond(web.tree())
	s.cloud.octavia(http.MethodDelete, "healthmonitors/"+made.HealthMonitor.ID, nil, nil)
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
	web.waitForTree(ports("TCP/8080", "TCP/8081"))
}
