// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

const (
	proxyKey     = prefix + "proxy-protocol"
	forwardedKey = prefix + "x-forwarded-for"
	tlsKey       = prefix + "default-tls-container-ref"
	protocolsKey = "kube-octavia.io/protocols"
	sniKey       = "kube-octavia.io/sni-container-refs"
)

// forwardedFor are the headers that OCCM's switch adds.
var forwardedFor = map[string]string{"X-Forwarded-For": "true"}

// speaks checks what listeners and their pools speak, such as "TCP/8080 TCP PROXY".
func speaks(want ...string) func(tree) error {
	slices.Sort(want)
	return func(t tree) error {
		var have []string
		for _, l := range t.Listeners {
			if l.Pool == nil {
				return fmt.Errorf("listener %s has no pool", l.key())
			}
			have = append(have, fmt.Sprintf("%s %s %s", l.key(), l.Protocol, l.Pool.Protocol))
		}
		slices.Sort(have)
		if d := cmp.Diff(want, have); d != "" {
			return fmt.Errorf("protocols (-want +have): %s", d)
		}
		if len(t.Unused) > 0 {
			return fmt.Errorf("pool %s serves no listener", t.Unused[0].Name)
		}
		return nil
	}
}

// adds checks the headers that a listener adds.
func adds(key string, want map[string]string) func(tree) error {
	return func(t tree) error {
		if have := t.listener(key).Headers; len(want)+len(have) > 0 && !cmp.Equal(want, have) {
			return fmt.Errorf("%s adds %v, not %v", key, have, want)
		}
		return nil
	}
}

// requireSameListener fails the test if the port was closed since: another listener has it.
func (v *service) requireSameListener(was tree, key string) {
	v.t.Helper()
	if before, now := was.listener(key), v.tree().listener(key); before.ID != now.ID {
		v.t.Errorf("port %s was listener %s and is %s", key, before.ID, now.ID)
	}
}

// openstack-cloud-controller-manager deletes the pools of a Service and makes others;
// meanwhile the Service does not answer.
func TestTogglingProxyProtocolOnALiveServiceFailsNoRequest(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "that a listener gets a pool of another protocol is in the contract")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081), udp(5300))
	address := web.waitUntilProgrammed()
	was := web.tree()
	visitor, other := s.visit(address, 8080), s.visit(address, 8081)

	web.change(annotated(proxyKey, "true"))
	web.waitForTree(all(speaks("TCP/8080 TCP PROXY", "TCP/8081 TCP PROXY", "UDP/5300 UDP UDP"), membersAt(s.addresses("a", "b")...)))
	s.waitForProxyHeader(address, 8080, true)
	s.echoes(address, 5300)
	web.waitUntilProgrammed()
	web.requireIPMode(corev1.LoadBalancerIPModeProxy) // or Pods of the cluster that use the address would not pass the load balancer

	web.change(annotated(proxyKey, "v2"))
	web.waitForTree(speaks("TCP/8080 TCP PROXYV2", "TCP/8081 TCP PROXYV2", "UDP/5300 UDP UDP"))
	s.waitForProxyHeader(address, 8081, true)

	// One port as it was.
	web.change(annotated(protocolsKey, "tcp-8081=TCP"))
	web.waitForTree(speaks("TCP/8080 TCP PROXYV2", "TCP/8081 TCP TCP", "UDP/5300 UDP UDP"))
	s.waitForProxyHeader(address, 8081, false)

	web.change(annotated(proxyKey, "false"), notAnnotated(protocolsKey))
	web.waitForTree(speaks("TCP/8080 TCP TCP", "TCP/8081 TCP TCP", "UDP/5300 UDP UDP"))
	s.waitForProxyHeader(address, 8080, false)
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
	s.requireNoFailedRequest(other)
	for _, key := range []string{"TCP/8080", "TCP/8081", "UDP/5300"} {
		web.requireSameListener(was, key)
	}
}

// waitForProxyHeader waits until the Pods see, or see no, PROXY header, and with one the client.
func (s *stage) waitForProxyHeader(address string, port int, want bool) {
	s.t.Helper()
	if !s.cloud.packets() {
		return
	}
	s.eventually(func() error {
		a, err := ask(s.t.Context(), s.cloud.internet(), address, port)
		if err == nil && (a.Proxied != want || want && a.Client != s.cloud.internet().address) {
			err = fmt.Errorf("%s:%d is answered by %+v", address, port, a)
		}
		return err
	})
}

// openstack-cloud-controller-manager opens the new listener before it has closed the
// old one. Octavia answers 409, for ever.
func TestTogglingXForwardedForOnALiveServiceNeverEndsIn409(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "that a listener gets a pool of another protocol is in the contract")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	web := s.service("web", tcp(8080, 8081), udp(5300), annotated(protocolsKey, "tcp-8081=TCP"))
	address := web.waitUntilProgrammed()
	was := web.tree()
	visitor := s.visit(address, 8081)
	s.resetCalls()

	web.change(annotated(forwardedKey, "true"))
	web.waitForTree(all(speaks("TCP/8080 HTTP HTTP", "TCP/8081 TCP TCP", "UDP/5300 UDP UDP"), adds("TCP/8080", forwardedFor), membersAt(s.addresses("a", "b")...)))
	web.waitUntilProgrammed()
	if s.cloud.packets() {
		s.eventually(func() error {
			a, err := ask(t.Context(), s.cloud.internet(), address, 8080)
			if err == nil && a.ForwardedFor != s.cloud.internet().address {
				err = fmt.Errorf("the Pod was told %+v", a)
			}
			return err
		})
	}
	for _, answer := range []int{400, 409} {
		s.noneAnswered(answer)
	}
	// Of all that is written, two calls lie between the old port and the new one.
	s.closedFor(was.listener("TCP/8080").ID)

	web.change(notAnnotated(forwardedKey))
	web.waitForTree(speaks("TCP/8080 TCP TCP", "TCP/8081 TCP TCP", "UDP/5300 UDP UDP"))
	web.waitUntilProgrammed()
	s.answers(address, 8080)
	s.noneAnswered(409)
	s.requireNoFailedRequest(visitor)
	web.requireSameListener(was, "TCP/8081")
	web.requireSameListener(was, "UDP/5300")
}

// noneAnswered fails the test if a call was answered with this status since resetCalls.
func (s *stage) noneAnswered(status int) {
	s.t.Helper()
	for _, c := range s.cloud.Recorder().Calls() {
		if c.Status == status {
			s.t.Errorf("%s %s was answered with %d", c.Method, c.Path, c.Status)
		}
	}
}

// closedFor fails the test unless the write after the deletion of the listener opened
// another one.
func (s *stage) closedFor(listenerID string) {
	s.t.Helper()
	writes := s.writes()
	i := slices.Index(writes, "DELETE /v2.0/lbaas/listeners/"+listenerID)
	if i < 0 || i+1 >= len(writes) || !strings.HasPrefix(writes[i+1], "POST /v2.0/lbaas/listeners") {
		s.t.Errorf("the port was closed and not opened at once: %v", writes)
	}
}

func TestPortNameChoosesTheProtocol(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "the protocols are in the contract")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080, 8081, 8082), udp(8081), annotated(protocolsKey, fmt.Sprintf("%d=HTTP, tcp-8081=PROXY, %d=UDP", freePort(8080), freePort(8081))), func(v *corev1.Service) {
		v.Spec.Ports[2].AppProtocol = ptr.To("http")
	})
	address := web.waitUntilProgrammed()
	have := web.waitForTree(all(speaks("TCP/8080 HTTP HTTP", "TCP/8081 TCP PROXY", "TCP/8082 TCP TCP", "UDP/8081 UDP UDP"), adds("TCP/8080", forwardedFor)))
	s.waitForProxyHeader(address, 8081, true)
	s.echoes(address, 8081)
	visitor := s.visit(address, 8081)

	web.change(annotated(protocolsKey, fmt.Sprintf("appProtocol,%d=HTTP,tcp-8081=PROXY", freePort(8080))))
	web.waitForTree(all(speaks("TCP/8080 HTTP HTTP", "TCP/8081 TCP PROXY", "TCP/8082 HTTP HTTP", "UDP/8081 UDP UDP"), adds("TCP/8082", forwardedFor)))
	s.answers(address, 8082)
	for _, key := range []string{"TCP/8080", "TCP/8081", "UDP/8081"} {
		web.requireSameListener(have, key)
	}
	for value, words := range map[string]string{"8443=HTTP": "no port 8443", "udp-8081=HTTP": "needs a TCP port", fmt.Sprintf("%d=UDP", freePort(8082)): "needs a UDP port"} {
		web.change(annotated(protocolsKey, value))
		web.eventually(func() error {
			if c := web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation"); !strings.Contains(c.Message, words) {
				return fmt.Errorf("of %s it says %s", value, c.Message)
			}
			return nil
		})
	}
	web.change(annotated(protocolsKey, fmt.Sprintf("%d=HTTP,%d=HTTP,tcp-8081=PROXY", freePort(8080), freePort(8082))))
	web.waitForCondition(accepted, conditionTrue, "Accepted")
	web.waitUntilProgrammed()
	s.requireNoFailedRequest(visitor)
}

func TestHostnameReplacesTheAddressOfAServiceWithProxyProtocol(t *testing.T) {
	onlyWithProvider(t, "amphora", "ovn looks into no connection")
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{conf: []string{"enable-ingress-hostname=true", "ingress-hostname-suffix=lb.example.com"}})
	web := s.service("web", tcp(8080), annotated(proxyKey, "true"))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	address := web.now().Annotations[addressKey]
	if d := cmp.Diff([]corev1.LoadBalancerIngress{{Hostname: address + ".lb.example.com"}}, web.now().Status.LoadBalancer.Ingress); d != "" {
		t.Errorf("published (-want +have): %s", d)
	}
	web.change(notAnnotated(proxyKey))
	web.eventually(func() error {
		if ingress := web.now().Status.LoadBalancer.Ingress; len(ingress) != 1 || ingress[0].IP != address {
			return fmt.Errorf("published: %+v", ingress)
		}
		return nil
	})
}

// What restricts or is to be understood by those that answer is refused, and nothing
// changes meanwhile.
func TestSettingsThatProviderOVNLacksAreNotRequestedOfIt(t *testing.T) {
	s := newStage(t, oldOVN(t))
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)
	s.resetCalls()
	for _, asked := range [][2]string{{proxyKey, "true"}, {proxyKey, "v2"}, {forwardedKey, "true"}, {protocolsKey, "tcp-8080=PROXY"},
		{tlsKey, "https://barbican.example.com/v1/containers/3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"}} {
		web.change(annotated(asked[0], asked[1]))
		c := web.waitForCondition(accepted, conditionFalse, "Unsupported")
		t.Log(c.Message)
		web.change(notAnnotated(asked[0]))
		web.waitForCondition(accepted, conditionTrue, "Accepted")
	}
	if writes := s.writes(); len(writes) > 0 {
		t.Errorf("the cloud was written to: %v", writes)
	}
	s.requireNoFailedRequest(visitor)
}

func TestSCTPPortsAreOpened(t *testing.T) {
	skipOnRealOpenStack(t, "the protocols are in the contract")
	s := newStage(t, settings{conf: []string{"create-monitor=true"}})
	onSCTP := func(v *corev1.Service) {
		v.Spec.Ports = append(v.Spec.Ports, corev1.ServicePort{Name: "m3ua", Port: int32(freePort(2905)), Protocol: corev1.ProtocolSCTP})
	}
	web := s.service("web", tcp(8080), onSCTP)
	if s.cloud.provider() == "ovn" {
		t.Log(web.waitForCondition(accepted, conditionFalse, "HealthMonitorUnsupported").Message)
		web.waitForTree(speaks("SCTP/2905 SCTP SCTP", "TCP/8080 TCP TCP"))
		return
	}
	address := web.waitUntilProgrammed()
	have := web.waitForTree(all(speaks("SCTP/2905 SCTP SCTP", "TCP/8080 TCP TCP"), membersAt(s.addresses("a", "b")...)))
	if m := have.listener("SCTP/2905").Pool.Monitor; m == nil || m.Type != "SCTP" {
		t.Errorf("its monitor is %+v", m)
	}
	visitor := s.visit(address, 8080)
	web.change(without(2905))
	web.waitForTree(speaks("TCP/8080 TCP TCP"))
	web.change(onSCTP)
	web.waitForTree(speaks("SCTP/2905 SCTP SCTP", "TCP/8080 TCP TCP"))
	s.requireNoFailedRequest(visitor)
}
