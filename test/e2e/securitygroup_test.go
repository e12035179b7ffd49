// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

// manageGroups switches the security group on.
const manageGroups = "manage-security-groups=true"

// group is a security group as the test sees it.
type group struct {
	ID, Name, Description string
	Rules                 []struct {
		ID, Direction, Protocol string
		Port                    *int   `json:"port_range_min"`
		Prefix                  string `json:"remote_ip_prefix"`
	} `json:"security_group_rules"`
}

// groups returns the security groups that the controller made for the stage's cluster.
func (s *stage) groups() []group {
	s.t.Helper()
	system, err := s.client.CoreV1().Namespaces().Get(context.Background(), "kube-system", metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	var answer struct {
		Groups []group `json:"security_groups"`
	}
	s.cloud.neutron(http.MethodGet, "security-groups", nil, &answer)
	return slices.DeleteFunc(answer.Groups, func(g group) bool { return !strings.HasPrefix(g.Name, "kube-octavia-nodes-"+string(system.UID)) })
}

// waitForGroupRules waits until there is one group, with these rules and no others: "tcp 30080 10.0.0.0/24".
func (s *stage) waitForGroupRules(rules ...string) {
	s.t.Helper()
	slices.Sort(rules)
	s.eventually(func() error {
		found := s.groups()
		if len(found) != 1 {
			return fmt.Errorf("there are %d groups", len(found))
		}
		have := []string{}
		for _, r := range found[0].Rules {
			port := 0
			if r.Port != nil {
				port = *r.Port
			}
			have = append(have, strings.TrimPrefix(fmt.Sprintf("%s %s %d %s", r.Direction, r.Protocol, port, r.Prefix), "ingress "))
		}
		slices.Sort(have)
		if diff := cmp.Diff(append([]string{}, rules...), have); diff != "" {
			return fmt.Errorf("rules (-want +got):\n%s", diff)
		}
		return nil
	})
}

// groupedPort is a node's port with its security groups.
type groupedPort struct {
	ID     string
	Groups []string `json:"security_groups"`
}

// portOf reads the port of the node with the suffix.
func (s *stage) portOf(suffix string) groupedPort {
	s.t.Helper()
	n, err := s.client.CoreV1().Nodes().Get(s.t.Context(), s.node(suffix), metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.portOfServer(n.Spec.ProviderID[strings.LastIndex(n.Spec.ProviderID, "/")+1:])
}

// portOfServer reads the first port of a server.
func (s *stage) portOfServer(id string) groupedPort {
	s.t.Helper()
	var answer struct{ Ports []groupedPort }
	s.cloud.neutron(http.MethodGet, "ports?device_id="+id, nil, &answer)
	if len(answer.Ports) == 0 {
		s.t.Fatalf("server %s has no port", id)
	}
	return answer.Ports[0]
}

// grouped reports whether the port has the group, and that it has kept what it had.
func (s *stage) grouped(p groupedPort) bool {
	found := s.groups()
	return len(found) == 1 && slices.Contains(p.Groups, found[0].ID) && len(p.Groups) > 1
}

// bearsGroup waits until the ports of all these nodes have the security group of the nodes, and still have their others.
func (s *stage) bearsGroup(suffixes ...string) {
	s.t.Helper()
	s.eventually(func() error {
		for _, suffix := range suffixes {
			if p := s.portOf(suffix); !s.grouped(p) {
				return fmt.Errorf("the port of node %s has %v", suffix, p.Groups)
			}
		}
		return nil
	})
}

// groupCalls are the calls about security groups since resetCalls.
func (s *stage) groupCalls() []string {
	s.t.Helper()
	var found []string
	for _, c := range s.cloud.Recorder().Calls() {
		ports := c.Service == cloudsim.Network && strings.Contains(c.Route, "/ports") && (c.Method == http.MethodPut || strings.Contains(c.Query, "security_groups"))
		if ports || strings.Contains(c.Route, "security-group") {
			found = append(found, c.Method+" "+c.Route)
		}
	}
	return found
}

// from are rules for the NodePorts of the Service from the subnet of the nodes.
func (s *stage) from(source string, services ...*service) (rules []string) {
	for _, v := range services {
		for _, p := range v.now().Spec.Ports {
			rules = append(rules, fmt.Sprintf("%s %d %s", strings.ToLower(string(p.Protocol)), p.NodePort, source))
		}
	}
	return rules
}

// nodeSubnet returns the CIDR of the subnet of the nodes.
func (s *stage) nodeSubnet() string {
	s.t.Helper()
	var answer struct {
		Subnet struct{ CIDR string }
	}
	s.cloud.neutron(http.MethodGet, "subnets/"+s.cloud.IDs().PrivateSubnet, nil, &answer)
	return answer.Subnet.CIDR
}

// withoutGroups takes away what the controller leaves: the group outlives the Services.
func (s *stage) withoutGroups() {
	s.afterwards = append(s.afterwards, func() {
		for _, g := range s.groups() {
			s.dropGroup(g.ID)
		}
	})
}

func TestOneSecurityGroupAdmitsTheLoadBalancersOfAllServices(t *testing.T) {
	skipOnRealOpenStack(t, "TestFloatingIPAndSecurityGroupRulesAreDeletedIfTheLoadBalancerIsGone has the group there")
	s := newStage(t, settings{conf: []string{manageGroups}})
	s.withoutGroups()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	dns := s.service("dns", udp(5353), tcp(5353))
	dns.waitUntilProgrammed()
	local := s.service("local", tcp(8081), local, annotated(monitorKey, "true"))
	local.waitUntilProgrammed()
	// With ovn clients come under their own addresses, and nothing looks at the health check port.
	source, checks := "0.0.0.0/0", []string{}
	if s.cloud.provider() != "ovn" {
		source, checks = s.nodeSubnet(), []string{fmt.Sprintf("tcp %d %s", local.now().Spec.HealthCheckNodePort, s.nodeSubnet())}
	}
	all := append(s.from(source, web, dns, local), checks...)
	s.waitForGroupRules(all...)
	s.bearsGroup("a", "b")

	// A Service that changes nothing costs nothing, and a node is written to once.
	s.waitUntilIdle()
	s.resetCalls()
	s.waitForPassAfter(func() { web.change(touched("1")) })
	s.addNode("c")
	s.bearsGroup("c")
	web.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	dns.waitForTree(membersAt(s.addresses("a", "b", "c")...))
	s.waitUntilIdle()
	if diff := cmp.Diff([]string{"GET /v2.0/ports", "PUT /v2.0/ports/{id}"}, s.groupCalls()); diff != "" {
		t.Errorf("the calls for a node that joins (-want +got):\n%s", diff)
	}

	// One that leaves, and whose server stays, has the group taken off.
	left := s.portOf("c")
	if err := s.nodes.Unregister(t.Context(), s.node("c")); err != nil {
		t.Fatal(err)
	}
	s.eventually(func() error {
		var answer struct{ Port groupedPort }
		s.cloud.neutron(http.MethodGet, "ports/"+left.ID, nil, &answer)
		if s.grouped(answer.Port) || len(answer.Port.Groups) == 0 {
			return fmt.Errorf("the port of the node that left has %v", answer.Port.Groups)
		}
		return nil
	})
	s.waitForGroupRules(all...)

	// Rules go with their ports and Services.
	dns.change(without(5353), udp(5353))
	dns.waitForTree(ports("UDP/5353"))
	web.delete()
	web.waitUntilGone()
	s.waitForGroupRules(append(s.from(source, dns, local), checks...)...)
}

func TestSecurityGroupIsRepairedAndNoOtherIsLost(t *testing.T) {
	skipOnRealOpenStack(t, "revisions are contract-tested")
	s := newStage(t, settings{conf: []string{manageGroups}, flags: []string{"--sweep-interval=1s"}})
	s.withoutGroups()
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.bearsGroup("a", "b")
	rules := s.from(s.nodeSubnet(), web)
	if s.cloud.provider() == "ovn" {
		rules = s.from("0.0.0.0/0", web)
	}
	s.waitForGroupRules(rules...)
	found := s.groups()[0]

	// Another client adds a rule to the group, deletes one, and takes the group off a port.
	s.cloud.neutron(http.MethodPost, "security-group-rules", map[string]any{"security_group_rule": map[string]any{
		"security_group_id": found.ID, "direction": "ingress", "protocol": "tcp", "port_range_min": 22, "port_range_max": 22}}, nil)
	s.cloud.neutron(http.MethodDelete, "security-group-rules/"+found.Rules[0].ID, nil, nil)
	port := s.portOf("a")
	without := slices.DeleteFunc(slices.Clone(port.Groups), func(id string) bool { return id == found.ID })
	s.cloud.neutron(http.MethodPut, "ports/"+port.ID, map[string]any{"port": map[string]any{"security_groups": without}}, nil)
	s.waitForGroupRules(rules...)
	s.bearsGroup("a", "b")

	// A second group, as after a create whose answer was lost, goes when a controller starts.
	s.stop()
	s.cloud.neutron(http.MethodPost, "security-groups", map[string]any{"security_group": map[string]any{"name": found.Name, "description": found.Description}}, nil)
	s.start()
	s.waitForGroupRules(rules...)
	s.bearsGroup("a", "b")

	// One that starts anew after that finds everything and writes nothing.
	s.stop()
	s.resetCalls()
	s.start()
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	for _, call := range s.groupCalls() {
		if !strings.HasPrefix(call, http.MethodGet) {
			t.Errorf("after a restart: %s", call)
		}
	}
}

func TestNodeOfAnotherCloudWithoutASecurityGroupIsReported(t *testing.T) {
	skipOnRealOpenStack(t, "the cloud has no part in it")
	s := newStage(t, settings{conf: []string{manageGroups}, nodes: []string{"a"}})
	s.withoutGroups()
	stranger := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: s.node("x")}, Spec: corev1.NodeSpec{ProviderID: "aws:///zone/i-1"}}
	stranger, err := s.client.CoreV1().Nodes().Create(t.Context(), stranger, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { deleteObject(s, stranger.Name) })
	s.changeNodeStatus("x", func(n *corev1.Node) {
		n.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "192.0.2.77"}}
	})
	web := s.service("web", tcp(8080))
	web.waitUntilProgrammed()
	s.bearsGroup("a")
	s.eventually(func() error {
		list, err := s.client.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{FieldSelector: "regarding.name=" + stranger.Name})
		if err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "SecurityGroupNotAttached" && strings.Contains(e.Note, "is not of OpenStack") {
				return nil
			}
		}
		return fmt.Errorf("the events are %+v", list.Items)
	})
	s.waitForGauge("kube_octavia_security_group_nodes_unattached", 1)
}

// deleteObject deletes a Node object that has no server.
func deleteObject(s *stage, name string) {
	if err := s.client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Error(err)
	}
}
