// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// quick are lines of cloud.conf for health monitors that look every second and
// need one look to decide.
var quick = []string{"create-monitor=true", "monitor-delay=1s", "monitor-timeout=1s", "monitor-max-retries=1", "monitor-max-retries-down=1"}

func TestHealthMonitorsComeFromTheConfigurationAndAnnotations(t *testing.T) {
	skipOnRealOpenStack(t, "monitors and their changes are in the contract")
	s := newStage(t, settings{conf: []string{"create-monitor=true", "monitor-delay=7s", "monitor-timeout=4s", "monitor-max-retries=2", "monitor-max-retries-down=5"}})
	web := s.service("web", tcp(8080, 8081))
	address := web.waitUntilProgrammed()
	web.waitForTree(monitored(&monitor{Type: "TCP", Delay: 7, Timeout: 4, Retries: 2, Down: 5}))
	visitor := s.visit(address, 8080)

	web.change(annotated(prefix+"health-monitor-delay", "9"), annotated(prefix+"health-monitor-timeout", "8"),
		annotated(prefix+"health-monitor-max-retries", "3"), annotated(prefix+"health-monitor-max-retries-down", "4"))
	web.waitForTree(monitored(&monitor{Type: "TCP", Delay: 9, Timeout: 8, Retries: 3, Down: 4}))

	web.change(annotated(monitorKey, "false"))
	web.waitForTree(monitored(nil))

	web.change(notAnnotated(monitorKey))
	web.waitForTree(monitored(&monitor{Type: "TCP", Delay: 9, Timeout: 8, Retries: 3, Down: 4}))
	s.requireNoFailedRequest(visitor)
	web.waitUntilProgrammed()
}

func TestHealthMonitorIsRequestedByAnnotation(t *testing.T) {
	skipOnRealOpenStack(t, "monitors and their changes are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300))
	web.waitUntilProgrammed()
	web.waitForTree(monitored(nil))
	web.change(annotated(monitorKey, "true"))
	web.waitForTree(func(have tree) error {
		for key, kind := range map[string]string{"TCP/8080": "TCP", "UDP/5300": "UDP-CONNECT"} {
			if m := have.listener(key).Pool.Monitor; m == nil || m.Type != kind || m.Delay != 5 || m.Timeout != 3 || m.Retries != 1 || m.Down != 3 {
				return fmt.Errorf("monitor of %s: %+v", key, m)
			}
		}
		return nil
	})
	s.echoes(web.waitUntilProgrammed(), 5300)
}

func TestHealthMonitorExcludesAFailedNode(t *testing.T) {
	simulatorOnly(t, "noop amphorae have no packets, and with provider ovn there are no monitors: TestServiceIsServedWithoutHealthMonitorsThatFailWithProviderOVN")
	s := newStage(t, settings{conf: quick})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b")...)
	dead := s.address("b")
	if err := s.nodes.Crash(s.node("b")); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(eachPool(func(p pool) error {
		for _, m := range p.Members {
			if want := map[bool]string{true: "ERROR", false: "ONLINE"}[m.Address == dead]; m.Operating != want {
				return fmt.Errorf("member %s is %s, not %s", m.Address, m.Operating, want)
			}
		}
		return nil
	}))
	// The Pod of the dead node is still an endpoint: only its node's own Pod
	// is sure to answer, so what is told is where connections go.
	s.eventually(func() error {
		for range 6 {
			if a, err := ask(t.Context(), s.cloud.outside(), address, 8080); err == nil && a.Client == dead {
				return fmt.Errorf("the dead node answered: %+v", a)
			}
		}
		return nil
	})
}

func TestLocalTrafficPolicyWithMonitorSendsTrafficOnlyToNodesWithEndpoints(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud it is a monitor like others")
	s := newStage(t, settings{conf: quick, podless: true})
	s.runPod("one", "a")
	web := s.service("web", tcp(8080), local)
	address := web.waitUntilProgrammed()
	check := int(web.now().Spec.HealthCheckNodePort)
	web.waitForTree(all(
		membersAt(s.addresses("a", "b")...),
		monitored(&monitor{Type: "HTTP", Delay: 1, Timeout: 1, Retries: 1, Down: 1, Path: "/healthz", Expected: "200"}),
		eachPool(func(p pool) error {
			for _, m := range p.Members {
				if m.MonitorPort != check {
					return fmt.Errorf("member %s is looked at on port %d, not %d", m.Address, m.MonitorPort, check)
				}
			}
			return nil
		}),
		s.operating(map[string]string{s.address("a"): "ONLINE", s.address("b"): "ERROR"})))
	for range s.requests(6) {
		if a, err := ask(t.Context(), s.cloud.outside(), address, 8080); err != nil || a.Pod != "one" {
			t.Errorf("answer %+v %v", a, err)
		}
	}

	s.runPod("two", "b")
	web.waitForTree(s.operating(map[string]string{s.address("a"): "ONLINE", s.address("b"): "ONLINE"}))
	if err := s.nodes.DeletePod(t.Context(), s.namespace, "one"); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(s.operating(map[string]string{s.address("a"): "ERROR", s.address("b"): "ONLINE"}))
	if a := s.answers(address, 8080); s.cloud.packets() && a.Pod != "two" {
		t.Errorf("answer %+v", a)
	}
}

// operating checks the operating status of the members, by address. Where no packets
// flow, no health monitor checks members.
func (s *stage) operating(want map[string]string) func(tree) error {
	if !s.cloud.packets() {
		return all()
	}
	return eachPool(func(p pool) error {
		for _, m := range p.Members {
			if m.Operating != want[m.Address] {
				return fmt.Errorf("member %s is %s, not %s", m.Address, m.Operating, want[m.Address])
			}
		}
		return nil
	})
}

func TestLocalTrafficPolicyWithoutMonitorHasOnlyNodesWithEndpointsAsMembers(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud sees the same batches of members as ever")
	s := newStage(t, settings{podless: true})
	s.runPod("one", "a")
	web := s.service("web", tcp(8080), local)
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a")...))
	if a := s.answers(address, 8080); s.cloud.packets() && a.Pod != "one" {
		t.Errorf("answer %+v", a)
	}
	s.runPod("two", "b")
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	if err := s.nodes.DeletePod(t.Context(), s.namespace, "one"); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(membersAt(s.addresses("b")...))
	s.eventually(func() error {
		if !s.cloud.packets() {
			return nil // the members have been looked at
		}
		if a, err := ask(t.Context(), s.cloud.outside(), address, 8080); err != nil || a.Pod != "two" {
			return fmt.Errorf("answer %+v, error %v", a, err)
		}
		return nil
	})

	web.change(func(v *corev1.Service) { v.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster })
	web.waitForTree(membersAt(s.addresses("a", "b")...))
}
