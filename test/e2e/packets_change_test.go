// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/test/node"
)

// keepAsking starts users of the Service's address, one by TCP and one by UDP.
func (s *stage) keepAsking(address string) []*user {
	s.t.Helper()
	s.answers(address, packetPorts[corev1.ProtocolTCP])
	s.echoes(address, packetPorts[corev1.ProtocolUDP])
	return []*user{
		s.startUser(func(ctx context.Context) error {
			_, err := ask(ctx, s.cloud.outside(), address, packetPorts[corev1.ProtocolTCP])
			return err
		}),
		s.startUser(s.senders(endpoint(address, packetPorts[corev1.ProtocolUDP]))),
	}
}

// senders returns what sends a datagram and waits for the answer, from one of
// some source ports in turn. A port for each datagram would make a flow of each,
// and every hop on the way keeps state for each flow. A port that got no answer is
// given up for a new one.
func (s *stage) senders(to string) func(context.Context) error {
	s.t.Helper()
	var sockets []net.Conn
	for range 16 {
		c, err := s.cloud.outside().dial(s.t.Context(), "udp", to)
		if err != nil {
			s.t.Fatal(err)
		}
		sockets = append(sockets, c)
	}
	s.t.Cleanup(func() {
		for _, c := range sockets {
			_ = c.Close()
		}
	})
	answered := 0
	return func(ctx context.Context) error {
		turn := answered % len(sockets)
		failed := exchange(sockets[turn], strconv.Itoa(answered))
		if failed == nil {
			answered++
			return nil
		}
		c, err := s.cloud.outside().dial(ctx, "udp", to)
		if err != nil {
			return errors.Join(failed, err)
		}
		_ = sockets[turn].Close()
		sockets[turn] = c
		return failed
	}
}

// exchange sends the text and waits a second until it comes back.
func exchange(c net.Conn, text string) error {
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	buffer := make([]byte, 1024)
	for {
		n, err := c.Read(buffer)
		if err != nil {
			return err
		}
		var a node.Answer
		if err := json.Unmarshal(buffer[:n], &a); err != nil || a.Data == text {
			return err
		}
	}
}

// requireNoFailedRequests ends the visits of the users, of whose requests none may have failed.
func (s *stage) requireNoFailedRequests(users []*user) {
	s.t.Helper()
	for i, u := range users {
		s.t.Logf("by %s:", protocols[i])
		s.requireNoFailedRequest(u)
	}
}

func TestCordonedNodeGetsNoNewConnection(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{nodes: []string{"a", "b", "c"}})
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	users := s.keepAsking(address)
	out := s.address("c")

	s.changeNode("c", func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" })
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	for _, protocol := range protocols {
		s.requireNoTrafficThrough(out, protocol, address, 60)
	}
	s.changeNode("c", func(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) })
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	for _, protocol := range protocols {
		s.waitForTrafficThrough(s.cloud.outside(), protocol, address, packetPorts[protocol], s.addresses("a", "b", "c")...)
	}
	s.requireNoFailedRequests(users)
}

func TestPortIsOpenedAndClosedWithoutAFailureOnOthers(t *testing.T) {
	needsPackets(t)
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), udp(5300))
	address := web.waitUntilProgrammed()
	users := s.keepAsking(address)
	rounds := 2
	if testing.Short() {
		rounds = 1
	}
	for range rounds {
		web.change(tcp(8081), udp(5301))
		web.waitForTree(ports("TCP/8080", "TCP/8081", "UDP/5300", "UDP/5301"))
		s.waitForTrafficThrough(s.cloud.outside(), corev1.ProtocolTCP, address, 8081, s.addresses("a", "b")...)
		s.waitForTrafficThrough(s.cloud.outside(), corev1.ProtocolUDP, address, 5301, s.addresses("a", "b")...)
		web.change(without(8081), without(5301))
		web.waitForTree(ports("TCP/8080", "UDP/5300"))
		s.waitUntilSilent(address, 8081)
		s.requireNoAnswer(s.cloud.outside(), corev1.ProtocolUDP, address, 5301)
	}
	web.waitUntilProgrammed()
	s.requireNoFailedRequests(users)
}

// TestTrafficContinuesWhileTheControllerIsKilled kills it with SIGKILL in the middle
// of changes to a Service, while clients loop on a port that stays, and starts it
// again: the changes are completed and no request fails. See -kill-rounds.
func TestTrafficContinuesWhileTheControllerIsKilled(t *testing.T) {
	needsPackets(t)
	program := build(t)
	s := newStage(t, settings{off: true, nodes: []string{"a", "b", "c"}})
	seed := rand.Uint64()
	t.Logf("the random moments come from seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	web := s.service("web", tcp(8080), udp(5300))
	p := s.controls(program)
	address := web.waitUntilProgrammed()
	users := s.keepAsking(address)
	for round := range *killRounds {
		added := int32(8081 + round)
		web.change(tcp(added))
		s.killWithin(p, random)
		s.changeNode("c", func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" })
		p = s.controls(program)
		web.waitForTree(all(ports("TCP/8080", "UDP/5300", fmt.Sprintf("TCP/%d", added)), membersAt(s.addresses("a", "b")...)))
		s.waitForTrafficThrough(s.cloud.outside(), corev1.ProtocolTCP, address, int(added), s.addresses("a", "b")...)

		web.change(without(added))
		s.changeNode("c", func(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) })
		s.killWithin(p, random)
		p = s.controls(program)
		web.waitForTree(all(ports("TCP/8080", "UDP/5300"), membersAt(s.addresses("a", "b", "c")...)))
		web.requireOneLoadBalancer()
	}
	s.requireNoFailedRequests(users)
	p.terminate()
}

// killWithin kills the controller at a random moment of the next 2.5 s.
func (s *stage) killWithin(p *process, random *rand.Rand) {
	s.t.Helper()
	moment := time.Duration(random.Int64N(int64(2500 * time.Millisecond)))
	select {
	case <-time.After(moment):
	case <-p.ended:
		s.t.Fatal("the controller ended by itself")
	}
	p.kill()
	s.t.Logf("killed after %v", moment)
}
