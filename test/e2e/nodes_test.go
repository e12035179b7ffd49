// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/octavia"
)

func TestPoolsFollowTheNodesDuringTraffic(t *testing.T) {
	skipOnRealOpenStack(t, "TestCordonedNodeGetsNoNewConnection sees it with packets")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visit(address, 8080)

	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	s.waitForAnswersThrough(address, 8080, s.addresses("a", "b", "c")...)

	// The node leaves the cluster first and ends when no load balancer sends it traffic.
	left := s.addresses("b", "c")
	if err := s.nodes.Unregister(t.Context(), s.node("a")); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(membersAt(left...))
	s.waitForAnswersThrough(address, 8080, left...)
	s.requireNoFailedRequest(visitor)
	web.waitForCondition(programmed, conditionTrue, "Programmed")
}

func TestNodesThatAreExcludedFromLoadBalancersAreNoMembers(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	for _, c := range []struct {
		name     string
		out, ret func(*corev1.Node)
	}{
		{"exclusion label",
			func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" },
			func(n *corev1.Node) { delete(n.Labels, corev1.LabelNodeExcludeBalancers) }},
		{"taint of the cluster autoscaler",
			func(n *corev1.Node) {
				n.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler", Effect: corev1.TaintEffectNoSchedule, Value: "1"}}
			},
			func(n *corev1.Node) { n.Spec.Taints = nil }},
		{"deletion under way",
			func(n *corev1.Node) { n.Finalizers = []string{"example.com/wait"} },
			nil},
	} {
		t.Log(c.name)
		s.changeNode("b", c.out)
		if c.ret == nil {
			deleteNode(s, "b")
		}
		web.waitForTree(membersAt(s.addresses("a")...))
		s.waitForAnswersThrough(address, 8080, s.addresses("a")...)
		if c.ret == nil {
			s.changeNode("b", func(n *corev1.Node) { n.Finalizers = nil })
			return
		}
		s.changeNode("b", c.ret)
		web.waitForTree(membersAt(s.addresses("a", "b")...))
	}
}

// deleteNode requests the deletion of the Node object, which its finalizers put off.
func deleteNode(s *stage, suffix string) {
	s.t.Helper()
	if err := s.nodes.Unregister(s.t.Context(), s.node(suffix)); err != nil {
		s.t.Fatal(err)
	}
}

func TestNodeWithoutAddressDoesNotAffectOtherMembers(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{nodes: []string{"a"}, flags: []string{"--sweep-interval=1s"}})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.addNode("b")
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	lost := s.address("b")
	s.changeNodeStatus("b", func(n *corev1.Node) { n.Status.Addresses = nil })
	web.waitForTree(membersAt(s.addresses("a")...))
	web.waitForCondition(programmed, conditionTrue, "Programmed")
	without := func(want int) {
		t.Helper()
		s.eventually(func() error {
			if n := s.gauge("kube_octavia_nodes_without_address"); n != want {
				return fmt.Errorf("the metric says %d nodes, want %d", n, want)
			}
			return nil
		})
	}
	without(1)
	s.eventually(func() error {
		if told := s.nodeEvents("b", "NoMemberAddress"); len(told) != 1 || !strings.Contains(told[0], "IPv4") {
			return fmt.Errorf("told is %q", told)
		}
		return nil
	})
	s.changeNodeStatus("b", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: lost}}
	})
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	without(0)
	if told := s.nodeEvents("b", "NoMemberAddress"); len(told) != 1 {
		t.Errorf("told is %q", told)
	}
}

// nodeEvents returns the texts of the events on the node with the reason.
func (s *stage) nodeEvents(suffix, reason string) (told []string) {
	s.t.Helper()
	list, err := s.client.EventsV1().Events(metav1.NamespaceDefault).List(s.t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=" + s.node(suffix)})
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range list.Items {
		if e.Reason == reason {
			told = append(told, e.Note)
		}
	}
	return told
}

func TestMembersAreTheNodesThatTheServiceSelects(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{nodes: []string{"a", "b", "c"}, conf: []string{"node-selector=zone=x"}})
	zone := func(suffix, value string) {
		s.changeNode(suffix, func(n *corev1.Node) { n.Labels["zone"] = value })
	}
	zone("a", "x")
	zone("b", "y")
	selects := func(text string) edit { return annotated(prefix+"node-selector", text) }
	usual, web := s.service("usual", tcp(8080)), s.service("web", tcp(8080), selects("zone=y"))
	usual.waitUntilProgrammed()
	usual.waitForTree(membersAt(s.addresses("a")...))
	web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("b")...))

	// A change of a label takes effect at once for Services that select by it.
	s.waitUntilIdle()
	s.resetCalls()
	zone("c", "y")
	web.waitForTree(membersAt(s.addresses("b", "c")...))
	s.waitUntilIdle()
	usual.waitForTree(membersAt(s.addresses("a")...))
	if w := s.writes(); len(w) != 1 {
		t.Errorf("writes: %v", w)
	}
	zone("b", "x")
	web.waitForTree(membersAt(s.addresses("c")...))
	usual.waitForTree(membersAt(s.addresses("a", "b")...))

	// One that cannot be read changes nothing.
	web.change(selects("zone=y,zone=x"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	web.waitForTree(membersAt(s.addresses("c")...))
	web.change(selects(""))
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	web.change(notAnnotated(prefix + "node-selector"))
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	web.waitUntilProgrammed()
}

func TestANodeWithAnInvalidAddressIsReportedAndDoesNotAffectOtherMembers(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	for _, address := range []string{"169.254.169.254", "169.254.1.1", "0.0.0.0", "224.0.0.1", "127.0.0.1", "255.255.255.255"} {
		t.Run(address, func(t *testing.T) {
			s := newStage(t, settings{nodes: []string{"a", "b"}, flags: []string{"--sweep-interval=1s"}})
			web := s.service("web", tcp(8080))
			web.waitUntilProgrammed()
			good := s.address("b")
			s.changeNodeStatus("b", func(n *corev1.Node) {
				n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}
			})
			web.waitForTree(membersAt(s.addresses("a")...))
			s.addNode("c")
			web.waitForTree(membersAt(s.addresses("a", "c")...))
			web.waitForCondition(programmed, conditionTrue, "Programmed")
			fresh := s.service("fresh", tcp(8081))
			fresh.waitUntilProgrammed()
			fresh.waitForTree(membersAt(s.addresses("a", "c")...))
			for _, v := range []*service{web, fresh} {
				c := v.waitForCondition(accepted, conditionTrue, "Accepted")
				if named := s.node("b") + " (" + address + ")"; !strings.Contains(c.Message, named) {
					t.Errorf("condition Accepted says %q, without %s", c.Message, named)
				}
			}
			s.eventually(func() error {
				if told := s.nodeEvents("b", "NoMemberAddress"); len(told) == 0 || !strings.Contains(told[0], "address "+address) {
					return fmt.Errorf("told is %q", told)
				}
				return nil
			})
			s.changeNodeStatus("b", func(n *corev1.Node) {
				n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: good})
			})
			web.waitForTree(membersAt(append(s.addresses("a", "c"), good)...))
		})
	}
}

// As with reserved_ips in octavia.conf. Octavia refuses all members of a request with such an address.
func TestAMemberThatOctaviaRefusesIsReportedAndTheOthersServe(t *testing.T) {
	skipOnRealOpenStack(t, "it needs an address that Octavia refuses")
	const reserved = "192.0.2.66"
	s := newStage(t, settings{nodes: []string{"a", "b"}, cloud: cloudsim.Options{Octavia: octavia.Options{ReservedIPs: []netip.Addr{netip.MustParseAddr(reserved)}}}})
	web := s.service("web", tcp(8080), udp(5300))
	web.waitUntilProgrammed()
	good := s.address("b")
	s.changeNodeStatus("b", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: reserved}}
	})
	web.waitForTree(membersAt(s.addresses("a")...))
	s.addNode("c")
	web.waitForTree(membersAt(s.addresses("a", "c")...))
	fresh := s.service("fresh", tcp(8081))
	fresh.waitForTree(membersAt(s.addresses("a", "c")...))
	for _, v := range []*service{web, fresh} {
		v.waitUntilProgrammed()
		told := v.waitForCondition(accepted, conditionTrue, "Accepted").Message
		if !strings.Contains(told, s.node("b")+" ("+reserved) || !strings.Contains(told, reserved+" is not a valid option for member address") {
			t.Errorf("told is %q", told)
		}
		s.eventually(func() error {
			if len(v.now().Status.LoadBalancer.Ingress) == 0 {
				return fmt.Errorf("Service %s has no address", v.name)
			}
			return nil
		})
	}
	s.dropPortsLeft(1) // that of the create that Octavia refused
	s.eventually(func() error {
		if told := s.nodeEvents("b", "MemberRefused"); len(told) == 0 || !strings.Contains(told[0], reserved) {
			return fmt.Errorf("told is %q", told)
		}
		return nil
	})
	s.waitUntilIdle()
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(labelled("one"), touched("one")) })
	s.requireCallsAtMost("a change that means nothing", 0)
	s.changeNodeStatus("b", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: good}}
	})
	for _, v := range []*service{web, fresh} {
		v.waitForTree(membersAt(append(s.addresses("a", "c"), good)...))
		v.waitForCondition(accepted, conditionTrue, "Accepted")
		v.waitUntilProgrammed()
	}
}
