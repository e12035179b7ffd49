// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
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

func TestFloatingIPsAreInTheExternalNetworkToWhichTheRouterOfTheVIPLeads(t *testing.T) {
	simulatorOnly(t, "a real cloud may have one external network")
	s := newStage(t, settings{off: true})
	wrong := s.addExternalNetwork("aaa-management", "203.0.113.0/24")
	s.nameNoNetworks()
	s.start()
	web := s.service("web", tcp(8080))
	s.waitForAnswersThrough(web.waitUntilProgrammed(), 8080, s.addresses("a", "b")...)
	// Services in the same subnet share the answer.
	s.service("other", tcp(8081)).waitUntilProgrammed()
	routers := func(call string) bool { return strings.HasPrefix(call, "GET /v2.0/routers?") }
	if all := s.callsToTheCloud(); len(all)-len(slices.DeleteFunc(slices.Clone(all), routers)) != 1 {
		t.Errorf("the routers were not read once: %v", all)
	}
	// A Service says what it needs if it names a network that no router leads to.
	third := s.service("third", tcp(8082), annotated(prefix+"floating-network-id", wrong))
	got := third.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	if !strings.Contains(got.Message, "is not reachable from subnet") || !strings.Contains(got.Message, "[LoadBalancer] floating-network-id") {
		t.Errorf("condition: %s", got.Message)
	}
	third.change(annotated(prefix+"floating-network-id", s.cloud.IDs().PublicNetwork))
	third.waitUntilProgrammed()
}

func TestAServiceWhoseRouterHasNoExternalNetworkReportsIt(t *testing.T) {
	simulatorOnly(t, "it removes the gateway of the router")
	s := newStage(t, settings{off: true})
	s.addExternalNetwork("aaa-management", "203.0.113.0/24")
	s.nameNoNetworks()
	s.setGateway(nil)
	s.start()
	web := s.service("web", tcp(8080))
	got := web.waitForCondition(programmed, conditionFalse, "RejectedByCloud")
	if !strings.Contains(got.Message, "leads to none of them") {
		t.Errorf("condition: %s", got.Message)
	}
	s.setGateway(map[string]any{"network_id": s.cloud.IDs().PublicNetwork})
	web.change(touched("again"))
	web.waitUntilProgrammed()
}

// addExternalNetwork adds an external network with IPv4 to which no router leads.
func (s *stage) addExternalNetwork(name, cidr string) (id string) {
	s.t.Helper()
	id, err := s.cloud.Cloud().Neutron().AddNetwork(neutron.NetworkSpec{Name: name, ProjectID: s.cloud.IDs().AdminProject, External: true})
	if err != nil {
		s.t.Fatal(err)
	}
	spec := neutron.SubnetSpec{Name: name, ProjectID: s.cloud.IDs().AdminProject, NetworkID: id, CIDR: netip.MustParsePrefix(cidr)}
	if _, err := s.cloud.Cloud().Neutron().AddSubnet(spec); err != nil {
		s.t.Fatal(err)
	}
	return id
}

// setGateway connects the project's router with an external network, or with none.
func (s *stage) setGateway(info map[string]any) {
	s.t.Helper()
	var answer struct{ Routers []struct{ ID string } }
	s.cloud.neutron(http.MethodGet, "routers", nil, &answer)
	for _, r := range answer.Routers {
		s.cloud.neutron(http.MethodPut, "routers/"+r.ID, map[string]any{"router": map[string]any{"external_gateway_info": info}}, nil)
	}
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
