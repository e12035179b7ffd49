// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestNetworksThatAreNotNamedAreFound(t *testing.T) {
	simulatorOnly(t, "a real cloud may have other networks; what they are asked for is in the contract")
	s := newStage(t, settings{off: true})
	s.nameNoNetworks()
	s.start()
	web := s.service("web", tcp(8080))
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	web.requireOneLoadBalancer()
}

func TestNodeOfAnotherCloudDoesNotKeepTheSubnetFromBeingFound(t *testing.T) {
	simulatorOnly(t, "as the test above")
	s := newStage(t, settings{off: true, nodes: []string{"b"}})
	// It is the first by name.
	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node("a")}, Spec: corev1.NodeSpec{ProviderID: "aws:///zone/i-1"}}
	if _, err := s.client.CoreV1().Nodes().Create(t.Context(), stranger, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteObject(s, stranger.Name) })
	s.changeNodeStatus("a", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.77"}}
	})
	s.nameNoNetworks()
	s.start()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	web.waitForTree(membersAt("192.0.2.77", s.address("b")))
}

// nameNoNetworks leaves the networks out of cloud.conf.
func (s *stage) nameNoNetworks() {
	s.t.Helper()
	lines := slices.DeleteFunc(strings.SplitAfter(s.cloud.CloudConf(), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "floating-network-id") || strings.HasPrefix(line, "subnet-id")
	})
	if err := cloudsim.WriteFile(s.cloudConf(), strings.Join(lines, "")); err != nil {
		s.t.Fatal(err)
	}
}
