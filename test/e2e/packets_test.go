// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"maps"
	"net"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/node"
)

// The tests of this file and of packets_change_test.go are about packets alone:
// which node answered, and what source address it saw. The same checks apply to the data plane of
// the simulator and to OVN.

// ports of the Services of these tests, by protocol.
var packetPorts = map[corev1.Protocol]int{corev1.ProtocolTCP: 8080, corev1.ProtocolUDP: 5300}

// protocols in the order in which they are tried.
var protocols = []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP}

// request makes one request on a connection, or with a flow, of its own.
func request(ctx context.Context, from client, protocol corev1.Protocol, address string, port int) (node.Answer, error) {
	if protocol == corev1.ProtocolUDP {
		return askUDP(ctx, from, address, port)
	}
	return ask(ctx, from, address, port)
}

// tally has the results of a number of requests.
type tally struct {
	sent, failed int
	// through counts the answers by the node's address, or by what else the Pod
	// saw as its peer.
	through map[string]int
	last    error
}

// String is for the log of a test.
func (c tally) String() string {
	text := fmt.Sprintf("sent %d, failed %d", c.sent, c.failed)
	for _, peer := range slices.Sorted(maps.Keys(c.through)) {
		text += fmt.Sprintf(", %d through %s", c.through[peer], peer)
	}
	if c.last != nil {
		text += fmt.Sprintf("; the last failure: %v", c.last)
	}
	return text
}

// makeRequests makes n requests.
func (s *stage) makeRequests(from client, protocol corev1.Protocol, address string, port, n int) tally {
	c := tally{through: map[string]int{}}
	for range n {
		c.sent++
		a, err := request(s.t.Context(), from, protocol, address, port)
		if err != nil {
			c.failed, c.last = c.failed+1, err
			continue
		}
		c.through[a.Client]++
	}
	return c
}

// waitForTrafficThrough waits until requests from there are all answered, through exactly these
// nodes. Octavia may choose at random, so each of them gets a good chance.
func (s *stage) waitForTrafficThrough(from client, protocol corev1.Protocol, address string, port int, nodes ...string) {
	s.t.Helper()
	want := slices.Sorted(slices.Values(nodes))
	s.eventually(func() error {
		c := s.makeRequests(from, protocol, address, port, 6*len(nodes))
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(c.through))); c.failed > 0 || d != "" {
			return fmt.Errorf("%s to %s: %s (-want +have): %s", protocol, endpoint(address, port), c, d)
		}
		s.t.Logf("%s from %s to %s: %s", protocol, from, endpoint(address, port), c)
		return nil
	})
}

// requireNoTrafficThrough makes requests, of which all must be answered and none through the node.
func (s *stage) requireNoTrafficThrough(nodeAddress string, protocol corev1.Protocol, address string, n int) {
	s.t.Helper()
	c := s.makeRequests(s.cloud.outside(), protocol, address, packetPorts[protocol], n)
	if c.failed > 0 || c.through[nodeAddress] > 0 {
		s.t.Errorf("%s while %s is left out: %s", protocol, nodeAddress, c)
	}
	s.t.Logf("%s while %s is left out: %s", protocol, nodeAddress, c)
}

// requireNoAnswer fails the test if one of some requests is answered.
func (s *stage) requireNoAnswer(from client, protocol corev1.Protocol, address string, port int) {
	s.t.Helper()
	if a, err := request(s.t.Context(), from, protocol, address, port); err == nil {
		s.t.Errorf("%s to %s is answered: %+v", protocol, endpoint(address, port), a)
	}
}

// String says where the client is.
func (from client) String() string {
	where := from.namespace
	if where == "" {
		where = "here"
	}
	if from.address != "" {
		where += " (" + from.address + ")"
	}
	return where
}

// sourceAt returns the address that the client's packets to the address bear.
func (from client) sourceAt(t *testing.T, address string) string {
	t.Helper()
	c, err := from.dial(t.Context(), "udp", net.JoinHostPort(address, "9"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().(*net.UDPAddr).IP.String()
}

func TestFloatingIPAnswersFromOutsideThroughEveryNode(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{nodes: []string{"a", "b", "c"}})
	address := s.service("web", tcp(8080), udp(5300)).waitUntilProgrammed()
	for _, from := range []client{s.cloud.outside(), s.cloud.internet()} {
		for _, protocol := range protocols {
			s.waitForTrafficThrough(from, protocol, address, packetPorts[protocol], s.addresses("a", "b", "c")...)
		}
	}
}

func TestInternalServiceAnswersInsideAndNotOutside(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300), annotated(internalKey, "true"))
	address := web.waitUntilProgrammed()
	if vip := web.tree().VIP; address != vip {
		t.Errorf("the Service is at %s, its VIP is %s", address, vip)
	}
	for _, protocol := range protocols {
		s.waitForTrafficThrough(s.cloud.inside(), protocol, address, packetPorts[protocol], s.addresses("a", "b")...)
		if s.cloud.outside() != s.cloud.inside() {
			s.requireNoAnswer(s.cloud.outside(), protocol, address, packetPorts[protocol])
			s.requireNoAnswer(s.cloud.internet(), protocol, address, packetPorts[protocol])
		}
	}
}

func TestGivenFloatingIPAnswersAsLongAsTheServiceExists(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{})
	given := s.cloud.makeFloatingIP("")
	s.given = []string{given.Address}
	web := s.service("web", tcp(8080), udp(5300), at(given.Address))
	if address := web.waitUntilProgrammed(); address != given.Address {
		t.Errorf("the Service asked for %s and is at %s", given.Address, address)
	}
	for _, protocol := range protocols {
		s.waitForTrafficThrough(s.cloud.internet(), protocol, given.Address, packetPorts[protocol], s.addresses("a", "b")...)
	}
	web.delete()
	web.waitUntilGone()
	for _, protocol := range protocols {
		s.requireNoAnswer(s.cloud.internet(), protocol, given.Address, packetPorts[protocol])
	}
}

func TestDeletedServiceAnswersNoClient(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{})
	web, other := s.service("web", tcp(8080), udp(5300)), s.service("other", tcp(8080))
	address, vip := web.waitUntilProgrammed(), web.tree().VIP
	visitor := s.visit(other.waitUntilProgrammed(), 8080)
	s.answers(address, 8080)
	s.echoes(address, 5300)
	web.delete()
	web.waitUntilGone()
	for _, protocol := range protocols {
		s.requireNoAnswer(s.cloud.outside(), protocol, address, packetPorts[protocol])
		s.requireNoAnswer(s.cloud.inside(), protocol, vip, packetPorts[protocol])
	}
	s.requireNoFailedRequest(visitor)
}

// TestPodSeesTheSourceAddressOfItsProvider looks with the policy Local, with
// which a node hands on the peer that it sees itself: with provider ovn the
// client, with amphorae the load balancer.
func TestPodSeesTheSourceAddressOfItsProvider(t *testing.T) {
	for _, provider := range []string{"amphora", "ovn"} {
		t.Run(provider, func(t *testing.T) {
			onlyWithProvider(t, provider, "the test is about that provider")
			needsPackets(t)
			s := newStage(t, settings{cloud: cloudsim.Options{Provider: provider}, conf: []string{"lb-provider=" + provider}})
			web := s.service("web", tcp(8080), udp(5300), local)
			address := web.waitUntilProgrammed()
			vip := web.tree().VIP
			for _, asked := range []struct {
				from    client
				address string
			}{{s.cloud.outside(), address}, {s.cloud.internet(), address}, {s.cloud.inside(), vip}} {
				want := asked.from.sourceAt(t, asked.address)
				if provider == "amphora" {
					want = vip
				}
				for _, protocol := range protocols {
					s.waitForTrafficThrough(asked.from, protocol, asked.address, packetPorts[protocol], want)
				}
			}
			web.change(func(v *corev1.Service) { v.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyCluster })
			for _, protocol := range protocols {
				s.waitForTrafficThrough(s.cloud.outside(), protocol, address, packetPorts[protocol], s.addresses("a", "b")...)
			}
		})
	}
}
