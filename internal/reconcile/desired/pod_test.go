// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

var podTargets = annotate(annotation.TargetType, config.PodTargets)

// pods adds a slice with these ready Pods at a port; a leading "-" means that one is terminating and still serves.
func pods(port int32, addresses ...string) change {
	return func(in *Input) {
		s := discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4,
			Ports: []discoveryv1.EndpointPort{{Port: &port, Protocol: ptr.To(corev1.ProtocolTCP)}}}
		for _, text := range addresses {
			address, draining := strings.CutPrefix(text, "-")
			if netip.MustParseAddr(address).Is6() {
				s.AddressType = discoveryv1.AddressTypeIPv6
			}
			e := discoveryv1.Endpoint{Addresses: []string{address}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Name: "pod-" + address[strings.LastIndexAny(address, ".:")+1:]}}
			e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(!draining), Serving: ptr.To(true), Terminating: &draining}
			s.Endpoints = append(s.Endpoints, e)
		}
		in.Slices = append(in.Slices, s)
	}
}

func podSubnets(all ...lb.Subnet) change { return func(in *Input) { in.Networks.PodSubnets = all } }

func subnet(id, cidr string) lb.Subnet { return lb.Subnet{ID: id, CIDR: netip.MustParsePrefix(cidr)} }

func members(l *lb.LoadBalancer, i int) []string {
	all := []string{}
	for _, m := range l.Listeners[i].Pool.Members {
		all = append(all, fmt.Sprintf("%s %s:%d in %s weight %d", m.Name, m.Address, m.Port, m.SubnetID, m.Weight))
	}
	return all
}

func TestPodsAreMembersAtTheirOwnAddressAndPort(t *testing.T) {
	local := func(in *Input) { in.Spec.LocalTraffic = true }
	withoutNodePorts := ports(corev1.ServicePort{Protocol: corev1.ProtocolTCP, Port: 80})
	ovn := func(in *Input) {
		in.Capabilities.Provider, in.Config.Provider = "ovn", "ovn"
		in.Config.Method = string(lb.SourceIPPort)
	}
	for name, c := range map[string]struct {
		changes []change
		want    []string
	}{
		"in the members' subnet, whose router leads to them": {
			[]change{pods(8080, "10.1.0.1", "10.1.0.2")},
			[]string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1", "pod-2 10.1.0.2:8080 in subnet-nodes weight 1"},
		},
		"in their own subnets": {
			[]change{pods(8080, "10.1.0.1", "10.2.0.1", "10.0.0.11"), podSubnets(subnet("small", "10.1.0.0/24"), subnet("large", "10.1.0.0/16"), subnet("other", "10.2.0.0/16"), subnet("subnet-nodes", "10.0.0.0/24"))},
			[]string{"pod-11 10.0.0.11:8080 in subnet-nodes weight 1", "pod-1 10.1.0.1:8080 in small weight 1", "pod-1 10.2.0.1:8080 in other weight 1"},
		},
		"without NodePorts": {[]change{withoutNodePorts, pods(8080, "10.1.0.1")}, []string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1"}},
		"while its name is new to Kubernetes' EndpointSlices": {
			[]change{pods(8080, "10.1.0.1"), ports(corev1.ServicePort{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)}), func(in *Input) {
				in.Slices[0].Labels = map[string]string{discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"}
			}},
			[]string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1"},
		},
		"with any traffic policy":             {[]change{local, annotate(keyMonitor, "true"), pods(8080, "10.1.0.1")}, []string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1"}},
		"terminating ones drain":              {[]change{pods(8080, "10.1.0.1", "-10.1.0.2")}, []string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1", "pod-2 10.1.0.2:8080 in subnet-nodes weight 0"}},
		"without weights, they are removed":   {[]change{ovn, pods(8080, "10.1.0.1", "-10.1.0.2")}, []string{"pod-1 10.1.0.1:8080 in subnet-nodes weight 1"}},
		"without weights, the last ones stay": {[]change{ovn, pods(8080, "-10.1.0.2")}, []string{"pod-2 10.1.0.2:8080 in subnet-nodes weight 1"}},
		"none":                                {nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(input(append(c.changes, podTargets)...))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, members(wanted.LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
			if len(wanted.Withheld) > 0 {
				t.Errorf("withheld: %v", wanted.Withheld)
			}
			if m := wanted.LoadBalancer.Listeners[0].Pool.Monitor; m != nil && m.Type != lb.MonitorTCP {
				t.Errorf("monitor %+v, want one that connects to the Pods", m)
			}
		})
	}
}

func TestAPodInNoKnownSubnetIsLeftOutAndNamed(t *testing.T) {
	wanted, err := Wanted(input(podTargets, pods(8080, "10.1.0.1", "10.9.0.1", "10.9.0.2", "10.9.0.3", "10.9.0.4"), podSubnets(subnet("pods", "10.1.0.0/16"))))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"pod-1 10.1.0.1:8080 in pods weight 1"}, members(wanted.LoadBalancer, 0)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
	if w := wanted.Withheld; len(w) != 1 || w[0].Reason != ReasonEndpointUnreachable || !strings.Contains(w[0].Message, "10.9.0.1, 10.9.0.2, 10.9.0.3, 1 others") {
		t.Errorf("withheld: %+v", w)
	}
}

func TestAPodOfBothFamiliesIsATCPMemberOnce(t *testing.T) {
	both := func(in *Input) {
		in.Spec.Families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	wanted, err := Wanted(input(podTargets, both, pods(8080, "10.1.0.1", "10.1.0.2"), pods(8080, "2001:db8::1", "2001:db8::3")))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"pod-1 10.1.0.1:8080 in subnet-nodes weight 1", "pod-2 10.1.0.2:8080 in subnet-nodes weight 1",
		"pod-3 2001:db8::3:8080 in subnet-other weight 1",
	}
	if diff := cmp.Diff(want, members(wanted.LoadBalancer, 0)); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// Kubernetes writes the slices of the families one after the other.
func TestAPodThatIsNotReadyAtItsFirstAddressIsNoTCPMemberAtItsOther(t *testing.T) {
	both := func(in *Input) {
		in.Spec.Families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
	unready := func(in *Input) {
		for i := range in.Slices[0].Endpoints {
			in.Slices[0].Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false), Terminating: ptr.To(false)}
		}
	}
	wanted, err := Wanted(input(podTargets, both, pods(8080, "10.1.0.1"), pods(8080, "2001:db8::1"), unready))
	if err != nil {
		t.Fatal(err)
	}
	if all := members(wanted.LoadBalancer, 0); len(all) > 0 {
		t.Errorf("members %v", all)
	}
}

func TestSourceRangesOfPodsThatOnlyTheNodesGroupCouldEnforceAreRefused(t *testing.T) {
	in := input(podTargets, ranges("10.0.0.0/8"), pods(8080, "10.1.0.1"), func(in *Input) {
		in.Capabilities.Provider, in.Config.Provider, in.Config.ManageSecurityGroups = "ovn", "ovn", true
		in.Config.Method = string(lb.SourceIPPort)
	})
	_, err := Wanted(in)
	var refused *Invalid
	if !errors.As(err, &refused) || refused.Reason != ReasonUnsupported {
		t.Errorf("error %v", err)
	}
}

// Whatever a refused Service requests, its pools keep what they have: nodes follow the nodes, and Pods the endpoints.
func TestPoolsOfARefusedServiceFollowWhatTheyHave(t *testing.T) {
	refused := address("not an address")
	misspelt := annotate(annotation.TargetType, "Pods")
	unknownSubnets := func(in *Input) { in.SubnetsUnknown = true }
	anotherNode := func(in *Input) { in.Nodes = []corev1.Node{node("node-b", "10.0.0.12"), node("node-c", "10.0.0.13")} }
	for name, c := range map[string]struct {
		before, now []change
		want        []string
	}{
		"Pods": {
			[]change{podTargets, pods(8080, "10.1.0.1", "10.1.0.2")}, []change{podTargets, refused, pods(8080, "10.1.0.2", "10.1.0.3")},
			[]string{"10.1.0.2:8080 0", "10.1.0.3:8080 0"},
		},
		"Pods, though nodes are requested": {
			[]change{podTargets, pods(8080, "10.1.0.1", "10.1.0.2")}, []change{refused, pods(8080, "10.1.0.2", "10.1.0.3")},
			[]string{"10.1.0.2:8080 0", "10.1.0.3:8080 0"},
		},
		"Pods, though it is unclear what is requested": {
			[]change{podTargets, pods(8080, "10.1.0.1", "10.1.0.2")}, []change{misspelt, pods(8080, "10.1.0.2", "10.1.0.3")},
			[]string{"10.1.0.2:8080 0"},
		},
		"Pods, whose subnets cannot be read": {
			[]change{podTargets, pods(8080, "10.1.0.1", "10.1.0.2")}, []change{podTargets, refused, unknownSubnets, pods(8080, "10.1.0.2", "10.1.0.3")},
			[]string{"10.1.0.2:8080 0"},
		},
		"Pods with the network of their nodes": {
			[]change{podTargets, pods(8080, "10.0.0.11", "10.0.0.12")}, []change{podTargets, refused, anotherNode, pods(8080, "10.0.0.12", "10.0.0.13")},
			[]string{"10.0.0.12:8080 0", "10.0.0.13:8080 0"},
		},
		"Pods with the network of their nodes, though it is unclear what is requested": {
			[]change{podTargets, pods(8080, "10.0.0.11", "10.0.0.12")}, []change{misspelt, pods(8080, "10.0.0.12")},
			[]string{"10.0.0.12:8080 0"},
		},
		"nodes": {
			nil, []change{refused, anotherNode, pods(8080, "10.1.0.1")},
			[]string{"10.0.0.12:30080 0", "10.0.0.13:30080 0"},
		},
		"nodes, though Pods are requested": {
			nil, []change{podTargets, refused, anotherNode, pods(8080, "10.1.0.1")},
			[]string{"10.0.0.12:30080 0", "10.0.0.13:30080 0"},
		},
		"nodes, all of which have been replaced": {
			nil, []change{refused, func(in *Input) { in.Nodes = []corev1.Node{node("node-c", "10.0.0.13")} }, pods(8080, "10.1.0.1")},
			[]string{"10.0.0.13:30080 0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := observed(t, input(c.before...))
			wanted := MembersOnly(input(c.now...), have)
			if diff := cmp.Diff(c.want, memberAddresses(wanted.LoadBalancer, 0)); diff != "" {
				t.Errorf("members (-want +got):\n%s", diff)
			}
		})
	}
}

func TestMembersMayBePodsIfTheyAreRequestedOrAtNoNodePort(t *testing.T) {
	pod, ofNodes := observed(t, input(podTargets, pods(8080, "10.1.0.1"))), observed(t, input())
	onNode := observed(t, input(podTargets, pods(8080, "10.0.0.11")))
	for name, c := range map[string]struct {
		in   Input
		have *lb.LoadBalancer
		want bool
	}{
		"requested":                            {input(podTargets), nil, true},
		"not requested":                        {input(), nil, false},
		"members are nodes":                    {input(), ofNodes.LoadBalancer, false},
		"members are on no node":               {input(), pod.LoadBalancer, true},
		"members are on nodes, at no NodePort": {input(), onNode.LoadBalancer, true},
	} {
		if got := MayHavePods(c.in, c.have); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestTheSecurityGroupAllowsThePortsOfPodsAndThoseThatStillHaveTraffic(t *testing.T) {
	tcp := func(port int) securitygroup.PortKey { return securitygroup.PortKey{Transport: lb.TCP, Port: port} }
	toPods, toNodes := input(podTargets, pods(8080, "10.1.0.1"), podSubnets(subnet("pods", "10.1.0.0/16"))), input()
	replacing := observed(t, toPods)
	replacing.Predecessor = observed(t, toNodes).LoadBalancer
	for name, c := range map[string]struct {
		in    Input
		have  lb.Observed
		ports []securitygroup.PortKey
		// without are the ports if the operator does not let in what is sent to Pods.
		without []securitygroup.PortKey
	}{
		"new":                     {toPods, lb.Observed{}, []securitygroup.PortKey{tcp(8080)}, nil},
		"from nodes to Pods":      {toPods, observed(t, toNodes), []securitygroup.PortKey{tcp(8080), tcp(30080)}, []securitygroup.PortKey{tcp(30080)}},
		"from Pods to nodes":      {toNodes, observed(t, toPods), []securitygroup.PortKey{tcp(8080), tcp(30080)}, []securitygroup.PortKey{tcp(30080)}},
		"nodes":                   {toNodes, observed(t, toNodes), []securitygroup.PortKey{tcp(30080)}, []securitygroup.PortKey{tcp(30080)}},
		"a predecessor has nodes": {toPods, replacing, []securitygroup.PortKey{tcp(8080), tcp(30080)}, []securitygroup.PortKey{tcp(30080)}},
	} {
		t.Run(name, func(t *testing.T) {
			wanted, err := Wanted(c.in)
			if err != nil {
				t.Fatal(err)
			}
			need, ok := SecurityGroupNeed(c.in, wanted, c.have)
			if diff := cmp.Diff(c.without, need.Ports); diff != "" || !ok {
				t.Errorf("without security-group-pod-ports: ok %t, ports (-want +got):\n%s", ok, diff)
			}
			c.in.Config.SecurityGroupPodPorts = true
			need, ok = SecurityGroupNeed(c.in, wanted, c.have)
			if diff := cmp.Diff(c.ports, need.Ports); diff != "" || !ok {
				t.Errorf("ok %t, ports (-want +got):\n%s", ok, diff)
			}
			if pods := slices.Contains(need.MemberSubnetIDs, "pods"); pods != (name != "nodes") {
				t.Errorf("subnets %v", need.MemberSubnetIDs)
			}
		})
	}
}

func TestTheSecurityGroupIsClosedToPodsOfBothFamiliesInTheNetworkOfTheirNodes(t *testing.T) {
	in := input(podTargets, pods(8080, "10.0.0.11"), pods(8080, "2001:db8::11"), func(in *Input) {
		in.Spec.Families = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
		in.Spec.Ports[0].Protocol = corev1.ProtocolUDP
		for _, s := range in.Slices {
			s.Ports[0].Protocol = ptr.To(corev1.ProtocolUDP)
		}
		in.Nodes = []corev1.Node{node("node-a", "10.0.0.11", "2001:db8::11")}
	})
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	if all := members(wanted.LoadBalancer, 0); len(all) != 2 {
		t.Fatalf("members %v, want one of each family", all)
	}
	if need, ok := SecurityGroupNeed(in, wanted, lb.Observed{}); !ok || len(need.Ports) > 0 {
		t.Errorf("ok %t, ports %v", ok, need.Ports)
	}
}

// Octavia rejects a pool in which two members have the same address and port.
func TestMembersOfAnyEndpointsAreUniqueAndInTheirSubnet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := input(podTargets, podSubnets(subnet("one", "10.1.0.0/24"), subnet("two", "10.1.1.0/24")))
		for range rapid.IntRange(0, 3).Draw(t, "slices") {
			var some []string
			for range rapid.IntRange(0, 6).Draw(t, "endpoints") {
				sign := rapid.SampledFrom([]string{"", "-"}).Draw(t, "sign")
				some = append(some, fmt.Sprintf("%s10.1.%d.%d", sign, rapid.IntRange(0, 2).Draw(t, "subnet"), rapid.IntRange(1, 3).Draw(t, "host")))
			}
			pods(rapid.SampledFrom([]int32{80, 8080}).Draw(t, "port"), some...)(&in)
		}
		wanted, err := Wanted(in)
		if err != nil {
			t.Fatal(err)
		}
		seen, new := map[lb.MemberKey]bool{}, 0
		for _, m := range wanted.LoadBalancer.Listeners[0].Pool.Members {
			in := subnet("one", "10.1.0.0/24")
			if m.SubnetID == "two" {
				in = subnet("two", "10.1.1.0/24")
			}
			if seen[m.Key()] || !in.CIDR.Contains(netip.MustParseAddr(m.Address)) {
				t.Fatalf("%+v", m)
			}
			seen[m.Key()], new = true, new+m.Weight
		}
		if len(seen) > 0 && new == 0 && len(Unreachable(in)) == 0 {
			t.Fatalf("no member gets connections: %+v", wanted.LoadBalancer.Listeners[0].Pool.Members)
		}
	})
}
