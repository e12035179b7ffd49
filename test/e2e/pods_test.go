// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/test/node"
	"github.com/kube-octavia/kube-octavia/test/openstack"
)

const targetTypeKey = "kube-octavia.io/target-type"

// toPods requests Pods as members.
var toPods = annotated(targetTypeKey, "pod")

// podAddresses returns the addresses of the Pods.
func (s *stage) podAddresses(names ...string) []string {
	s.t.Helper()
	all := []string{}
	for _, name := range names {
		pod, err := s.client.CoreV1().Pods(s.namespace).Get(s.t.Context(), name, metav1.GetOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, pod.Status.PodIP)
	}
	return all
}

// deletePod deletes a Pod and waits until it is gone.
func (s *stage) deletePod(name string) {
	s.t.Helper()
	if err := s.nodes.DeletePod(s.t.Context(), s.namespace, name); err != nil {
		s.t.Fatal(err)
	}
}

// podIsReady makes a Pod ready or not.
func (s *stage) podIsReady(name string, ready bool) {
	s.t.Helper()
	if err := s.nodes.SetPodReady(s.t.Context(), s.namespace, name, ready); err != nil {
		s.t.Fatal(err)
	}
}

// weightOf checks the weight of the member with the address in each pool that has it.
func weightOf(address string, want int) func(tree) error {
	return eachPool(func(p pool) error {
		i := slices.IndexFunc(p.Members, func(m poolMember) bool { return m.Address == address })
		if i < 0 {
			return fmt.Errorf("pool %s has no member %s", p.Name, address)
		}
		if p.Members[i].Weight != want {
			return fmt.Errorf("member %s has weight %d, want %d", address, p.Members[i].Weight, want)
		}
		return nil
	})
}

// podsAnswer reports whether load balancers reach Pods at their addresses.
func (s *stage) podsAnswer() bool {
	return *stateDir == "" || s.settings.podPorts && s.cloud.packets()
}

// reachingPods are settings with which load balancers reach Pods, where the cloud can do that: on a real cloud in the
// Pods' own network.
func reachingPods(t *testing.T, with settings) settings {
	t.Helper()
	with.podPorts = true
	if *stateDir == "" {
		return with
	}
	c, err := openstack.Load(*stateDir)
	if err != nil {
		t.Fatal(err)
	}
	if c.DataPlane != nil {
		with.conf = append(with.conf, "pod-network-ids="+c.PodNetwork)
	}
	return with
}

// visitPods starts a user of a Service whose members are Pods or nodes. Where load balancers do not reach Pods, it
// watches that there are members.
func (s *stage) visitPods(address string) *user {
	s.t.Helper()
	if !s.podsAnswer() {
		return s.watchMembers(address, 8080)
	}
	s.answers(address, 8080)
	from := s.cloud.outside()
	if *stateDir != "" {
		from.ports = &freshPorts
	}
	return s.startUser(func(ctx context.Context) error {
		_, err := ask(ctx, from, address, 8080)
		return err
	})
}

// memberWrites counts the batch writes of members.
func (s *stage) memberWrites() (n int) {
	s.t.Helper()
	for _, call := range s.calls() {
		if call == "PUT /v2.0/lbaas/pools/{id}/members" {
			n++
		}
	}
	return n
}

func TestPodsAreMembersWithoutNodePortsAndFollowTheEndpoints(t *testing.T) {
	s := newStage(t, reachingPods(t, settings{nodes: []string{"a", "b", "c"}}))
	web := s.service("web", tcp(8080), udp(5300), toPods, withoutNodePorts)
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses("a", "b", "c")...))
	for _, l := range web.tree().Listeners {
		for _, m := range l.Pool.Members {
			port := freePort(8080)
			if l.Protocol == "UDP" {
				port = freePort(5353)
			}
			if m.Port != port || m.Weight != 1 {
				t.Errorf("member %+v of %s, want port %d", m, l.key(), port)
			}
		}
	}
	for _, p := range web.now().Spec.Ports {
		if p.NodePort != 0 {
			t.Errorf("port %s has NodePort %d", p.Name, p.NodePort)
		}
	}
	if s.podsAnswer() {
		s.answers(address, 8080)
		s.echoes(address, 5300)
	}
	s.waitUntilIdle()

	s.resetCalls()
	s.runPod("d", "a")
	web.waitForTree(membersAt(s.podAddresses("a", "b", "c", "d")...))
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.requireCallsAtMost("a Pod joins", 2+2) // as for a node: one write a pool, and two reads

	s.podIsReady("b", false)
	web.waitForTree(membersAt(s.podAddresses("a", "c", "d")...))
	s.podIsReady("b", true)
	web.waitForTree(membersAt(s.podAddresses("a", "b", "c", "d")...))
	s.deletePod("a")
	web.waitForTree(membersAt(s.podAddresses("b", "c", "d")...))

	// A change of a node alone concerns no Service whose members are Pods.
	s.waitUntilIdle()
	s.resetCalls()
	s.changeNode("c", func(n *corev1.Node) { n.Labels[corev1.LabelNodeExcludeBalancers] = "" })
	s.waitForPassAfter(func() { web.change(touched("one")) })
	s.requireCallsAtMost("a node is excluded", 0)
	web.waitForTree(membersAt(s.podAddresses("b", "c", "d")...))
}

func TestAServiceWithoutSelectorHasTheEndpointsThatUsersWrite(t *testing.T) {
	skipOnRealOpenStack(t, "for the cloud they are members as others")
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), toPods, func(v *corev1.Service) {
		v.Spec.Selector, v.Spec.Ports[0].TargetPort = nil, intstr.FromInt32(8080)
	})
	web.waitUntilProgrammed()
	web.waitForTree(membersAt())
	endpoints := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "web-by-hand", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &web.now().Spec.Ports[0].Name, Port: ptr.To[int32](9999), Protocol: ptr.To(corev1.ProtocolTCP)}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.250.0.1"}}, {Addresses: []string{"10.250.0.2"}}},
	}
	if _, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).Create(t.Context(), endpoints, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := web.waitForTree(membersAt("10.250.0.1", "10.250.0.2"))
	if m := got.Listeners[0].Pool.Members[0]; m.Port != 9999 {
		t.Errorf("member %+v", m)
	}
}

func TestTerminatingPodsGetNoNewConnectionsUntilTheyAreGone(t *testing.T) {
	onlyWithProvider(t, "amphora", "provider ovn has no weights")
	s := newStage(t, settings{podless: true})
	s.runPodFor("old", "a", 60)
	s.runPod("new", "b")
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses("old", "new")...))
	old := s.podAddresses("old")[0]
	if err := s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), "old", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(weightOf(old, 0))
	web.waitForTree(weightOf(s.podAddresses("new")[0], 1))
	if err := s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), "old", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	web.waitForTree(membersAt(s.podAddresses("new")...))
}

func TestTargetTypeIsSwitchedLiveWithoutAFailedRequest(t *testing.T) {
	s := newStage(t, reachingPods(t, settings{}))
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.addresses("a", "b")...))
	visitor := s.visitPods(address)
	for range 2 {
		web.change(toPods)
		web.waitForTree(membersAt(s.podAddresses("a", "b")...))
		web.waitUntilProgrammed()
		web.change(notAnnotated(targetTypeKey))
		web.waitForTree(membersAt(s.addresses("a", "b")...))
		web.waitUntilProgrammed()
	}
	s.requireNoFailedRequest(visitor)
}

func TestPodsAreReplacedOneAfterTheOtherWithoutAFailedRequest(t *testing.T) {
	const pods = 4 // two on each node
	s := newStage(t, reachingPods(t, settings{podless: true}))
	// A Pod must serve until its member is removed. A real Octavia on a busy machine takes its time.
	grace := int64(6)
	if *stateDir != "" {
		grace = 20
	}
	var now []string
	start := func(generation, i int) {
		name := fmt.Sprintf("web-%d-%d", generation, i)
		s.runPodFor(name, []string{"a", "b"}[i%2], grace)
		now = append(now, name)
	}
	for i := range pods {
		start(1, i)
	}
	web := s.service("web", tcp(8080), toPods, withoutNodePorts)
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses(now...)...))
	visitor := s.visitPods(address)
	for i := range pods {
		start(2, i)
		// As a Deployment with maxUnavailable 0 and minReadySeconds would: the new Pod takes traffic first.
		web.waitForTree(membersAt(s.podAddresses(now...)...))
		old := now[0]
		now = now[1:]
		s.deletePod(old) // waits until it has ended
		web.waitForTree(membersAt(s.podAddresses(now...)...))
	}
	s.requireNoFailedRequest(visitor)
}

func TestPodsAreMembersInTheirOwnSubnets(t *testing.T) {
	skipOnRealOpenStack(t, "other tests of Pods have the network of the Pods there")
	s := newStage(t, settings{off: true})
	var network struct{ Network struct{ ID string } }
	s.cloud.neutron("POST", "networks", map[string]any{"network": map[string]any{"name": s.namespace + "-pods"}}, &network)
	id := network.Network.ID
	s.settings.conf = append(s.settings.conf, "target-type=pod", "pod-network-ids="+id)
	s.writeFiles()
	s.start()
	web := s.service("web", tcp(8080))
	reason := web.waitForCondition(accepted, conditionFalse, "NoSubnet")
	if !strings.Contains(reason.Message, id) || !strings.Contains(reason.Message, "pod-network-ids") {
		t.Errorf("the reason does not say where to look: %s", reason.Message)
	}
	first := s.makeSubnet(asUser, id, s.namespace+"-1", podSubnetOf(t, s.podAddresses("a")[0]), 1)
	web.change(touched("now there is one"))
	web.waitForTree(memberIn(s.podAddresses("a")[0], first))
	second := podSubnetOf(t, s.podAddresses("b")[0])
	if second.Contains(netip.MustParseAddr(s.podAddresses("a")[0])) {
		web.waitUntilProgrammed()
		return // both Pods are in the first one by chance
	}
	left := web.waitForCondition(accepted, conditionFalse, "EndpointUnreachable")
	if !strings.Contains(left.Message, s.podAddresses("b")[0]) {
		t.Errorf("the condition does not name the Pod: %s", left.Message)
	}
}

// podSubnetOf returns a subnet that contains the address of a Pod.
func podSubnetOf(t *testing.T, address string) netip.Prefix {
	t.Helper()
	return netip.PrefixFrom(parseAddr(t, address), 24).Masked()
}

// memberIn checks that each pool has a member with the address, in the subnet.
func memberIn(address, subnetID string) func(tree) error {
	return eachPool(func(p pool) error {
		for _, m := range p.Members {
			if m.Address == address && m.Subnet == subnetID {
				return nil
			}
		}
		return fmt.Errorf("pool %s has no member %s in subnet %s: %+v", p.Name, address, subnetID, p.Members)
	})
}

func TestMembersOfARefusedServiceFollowItsPods(t *testing.T) {
	s := newStage(t, settings{})
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses("a", "b")...))
	web.change(annotated(limitKey, "rubbish"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	s.runPod("c", "a")
	s.deletePod("a")
	web.waitForTree(membersAt(s.podAddresses("b", "c")...))
	// A misspelt target type changes no member, but Pods that are gone are removed.
	web.change(notAnnotated(limitKey), annotated(targetTypeKey, "Pods"))
	web.waitForCondition(accepted, conditionFalse, "InvalidAnnotation")
	s.runPod("d", "a")
	s.deletePod("c")
	web.waitForTree(membersAt(s.podAddresses("b")...))
	web.change(toPods)
	web.waitForTree(membersAt(s.podAddresses("b", "d")...))
}

func TestManyChangesOfPodsWhileOctaviaWorksBecomeOneWrite(t *testing.T) {
	skipOnRealOpenStack(t, "it counts writes while Octavia is held")
	s := newStage(t, settings{cloud: cloudsim.Options{}})
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.resetCalls()
	release := s.cloud.hold()
	s.runPod("one", "a")
	s.eventually(func() error {
		if n := s.memberWrites(); n != 1 {
			return fmt.Errorf("%d writes of members, want 1", n)
		}
		return nil
	})
	var names []string
	for i := range 20 {
		name := fmt.Sprintf("more-%d", i)
		s.runPod(name, "b")
		names = append(names, name)
	}
	for _, name := range names[:10] {
		s.deletePod(name)
	}
	if n := s.memberWrites(); n != 1 {
		t.Errorf("%d writes while Octavia works", n)
	}
	release()
	web.waitForTree(membersAt(s.podAddresses(append(names[10:], "a", "b", "one")...)...))
	s.waitUntilIdle()
	if diff := cmp.Diff(2, s.memberWrites()); diff != "" {
		t.Errorf("writes of members (-want +got):\n%s", diff)
	}
}

func TestMembersStayWhenTheirPortGetsAnotherName(t *testing.T) {
	s := newStage(t, reachingPods(t, settings{}))
	web := s.service("web", tcp(8080), toPods)
	web.waitUntilProgrammed()
	s.waitUntilIdle()
	s.resetCalls()
	web.change(func(v *corev1.Service) { v.Spec.Ports[0].Name = "renamed" })
	s.eventually(func() error {
		all, err := s.client.DiscoveryV1().EndpointSlices(s.namespace).List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + web.name})
		if err != nil {
			return err
		}
		for _, one := range all.Items {
			if *one.Ports[0].Name != "renamed" {
				return fmt.Errorf("EndpointSlice %s has port %s", one.Name, *one.Ports[0].Name)
			}
		}
		return nil
	})
	s.waitForPassAfter(func() { web.change(touched("one")) })
	s.waitUntilIdle()
	web.waitForTree(membersAt(s.podAddresses("a", "b")...))
	if n := s.memberWrites(); n != 0 {
		t.Errorf("%d writes of members", n)
	}
}

func TestPodsReplaceNodesWhenTheSecurityGroupAdmitsTheirTraffic(t *testing.T) {
	skipOnRealOpenStack(t, "it looks at the order of calls")
	s := newStage(t, settings{conf: []string{"manage-security-groups=true", "security-group-pod-ports=true"}})
	web := s.service("web", tcp(8080))
	address := web.waitUntilProgrammed()
	visitor := s.visitPods(address)
	for i, change := range []struct {
		edit edit
		want []string
	}{{toPods, s.podAddresses("a", "b")}, {notAnnotated(targetTypeKey), s.addresses("a", "b")}} {
		s.resetCalls()
		web.change(change.edit)
		web.waitForTree(membersAt(change.want...))
		web.waitUntilProgrammed()
		var order []string
		for _, call := range s.cloud.Recorder().Calls() {
			if route := call.Method + " " + call.Route; strings.HasSuffix(route, "/members") || call.Method == "POST" && strings.Contains(route, "security-group-rules") {
				order = append(order, route)
			}
		}
		// The rule for the NodePort may still be there when it is needed again.
		if n := len(order); n == 0 || n == 1 && i == 0 || n > 2 || !strings.HasSuffix(order[n-1], "/members") {
			t.Errorf("rules and members are written in the order %v", order)
		}
	}
	s.requireNoFailedRequest(visitor)
}

func TestPodsAreReachedThroughTheRouterOfTheMembersSubnet(t *testing.T) {
	s := newStage(t, settings{podPorts: true})
	if !s.podsAnswer() {
		t.Skip("load balancers do not reach Pods here")
	}
	web := s.service("web", tcp(8080), udp(5300), toPods)
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses("a", "b")...))
	web.waitForTree(membersIn(s.cloud.IDs().PrivateSubnet))
	s.answers(address, 8080)
	s.echoes(address, 5300)
}

func TestOpenConnectionsToATerminatingPodGoOnUntilItEnds(t *testing.T) {
	s := newStage(t, reachingPods(t, settings{podless: true}))
	if !s.podsAnswer() {
		t.Skip("load balancers do not reach Pods here")
	}
	pods := []string{"one", "two", "three"}
	for _, name := range pods {
		s.runPodFor(name, "a", 30)
	}
	web := s.service("web", tcp(8080), toPods)
	address := web.waitUntilProgrammed()
	web.waitForTree(membersAt(s.podAddresses(pods...)...))
	s.answers(address, 8080)

	// Connections to each of the Pods.
	open := map[string]*http.Client{}
	for i := 0; len(open) < len(pods) && i < 100; i++ {
		c := &http.Client{Timeout: requestTimeout, Transport: &http.Transport{DialContext: s.cloud.outside().dial, MaxConnsPerHost: 1}}
		t.Cleanup(c.CloseIdleConnections)
		a, err := askOn(t.Context(), c, address, 8080)
		if err != nil {
			t.Fatal(err)
		}
		if open[a.Pod] == nil {
			open[a.Pod] = c
		}
	}
	old := s.podAddresses("one")[0]
	if err := s.client.CoreV1().Pods(s.namespace).Delete(t.Context(), "one", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if s.cloud.provider() == "ovn" {
		web.waitForTree(membersAt(s.podAddresses("two", "three")...))
	} else {
		web.waitForTree(weightOf(old, 0))
	}
	if s.hasNewOVN() {
		open["one"].CloseIdleConnections() // OVN cuts it, see docs/reference/providers.md
		delete(open, "one")
	}
	for range 50 {
		for pod, c := range open {
			if a, err := askOn(t.Context(), c, address, 8080); err != nil || a.Pod != pod {
				t.Fatalf("on the connection to Pod %s: %+v, %v", pod, a, err)
			}
		}
		if a, err := ask(t.Context(), s.cloud.outside(), address, 8080); err != nil || a.Pod == "one" {
			t.Fatalf("a new connection: %+v, %v", a, err)
		}
	}
}

// askOn makes a request with a client that keeps its connection.
func askOn(ctx context.Context, c *http.Client, address string, port int) (a node.Answer, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+endpoint(address, port), nil)
	if err != nil {
		return a, err
	}
	resp, err := c.Do(request)
	if err != nil {
		return a, err
	}
	body, err := io.ReadAll(resp.Body)
	return a, errors.Join(err, resp.Body.Close(), json.Unmarshal(body, &a))
}
