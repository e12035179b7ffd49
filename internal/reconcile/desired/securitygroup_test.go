// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/internal/settings/annotation"
)

var samePrefix = cmp.Options{cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }), cmpopts.EquateEmpty()}

func tcpPort(n int) securitygroup.PortKey { return securitygroup.PortKey{Transport: lb.TCP, Port: n} }
func udpPort(n int) securitygroup.PortKey { return securitygroup.PortKey{Transport: lb.UDP, Port: n} }

func managed(in *Input) { in.Config.ManageSecurityGroups = true }

func TestSecurityGroupNeedOfAService(t *testing.T) {
	everyIPv4 := []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
	monitored := annotate(keyMonitor, "true")
	nodes := []string{"subnet-nodes"}
	for _, test := range []struct {
		name    string
		changes []change
		want    securitygroup.Need
	}{
		{"of each port, from the members' subnet", []change{ports(port(corev1.ProtocolTCP, 80, 30080), port(corev1.ProtocolUDP, 53, 30053))},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080), udpPort(30053)}, FromSubnets: true, MemberSubnetIDs: nodes}},
		{"of the port that health checks look at", []change{local, monitored},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080), tcpPort(32000)}, FromSubnets: true, MemberSubnetIDs: nodes}},
		{"not of that one without health checks", []change{local},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, FromSubnets: true, MemberSubnetIDs: nodes}},
		{"the same while no node runs a Pod", []change{local, func(in *Input) { in.Slices = nil }},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, FromSubnets: true}},
		{"of every client with ovn", []change{provider(lb.ProviderOVN)},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, MemberSubnetIDs: nodes, Sources: everyIPv4}},
		{"of the sources with ovn, and of its health checks",
			[]change{provider(lb.ProviderOVN), monitored, ranges("192.0.2.0/24", "2001:db8::/32")},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, FromSubnets: true, MemberSubnetIDs: nodes,
				Sources: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}},
		{"in the Service's family", []change{families(corev1.IPv6Protocol), provider(lb.ProviderOVN)},
			securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, IPv6: true, MemberSubnetIDs: nodes, Sources: []netip.Prefix{netip.MustParsePrefix("::/0")}}},
	} {
		in := input(append(test.changes, managed)...)
		wanted, err := Wanted(in)
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		test.want.VIPSubnetID = "subnet-vip"
		got, ok := SecurityGroupNeed(in, wanted, lb.Observed{})
		if diff := cmp.Diff(test.want, got, samePrefix); diff != "" || !ok {
			t.Errorf("%s: %v (-want +got):\n%s", test.name, ok, diff)
		}
	}
}

// Otherwise a group of the Service's own would stay on the nodes that it selected before.
func TestSecurityGroupNeedChangesWithTheNodesThatTheServiceSelects(t *testing.T) {
	needOf := func(changes ...change) securitygroup.Need {
		in := input(append(changes, managed)...)
		wanted, err := Wanted(in)
		if err != nil {
			t.Fatal(err)
		}
		need, _ := SecurityGroupNeed(in, wanted, lb.Observed{})
		return need
	}
	one, other := needOf(annotate(annotation.NodeSelector, "disk=ssd")), needOf(annotate(annotation.NodeSelector, "disk"))
	if cmp.Equal(one, other, samePrefix) || cmp.Equal(one, needOf(), samePrefix) {
		t.Errorf("the need stays %+v", one)
	}
	if diff := cmp.Diff(one, needOf(annotate(annotation.NodeSelector, "disk = ssd")), samePrefix); diff != "" {
		t.Errorf("another form of the same labels changes it:\n%s", diff)
	}
}

func TestSecurityGroupNeedCoversExistingAndWantedMembers(t *testing.T) {
	in := input(managed)
	wanted, err := Wanted(in)
	if err != nil {
		t.Fatal(err)
	}
	moved := *wanted.LoadBalancer
	moved.VIP.SubnetID = "subnet-vip-found"
	moved.Listeners = []lb.Listener{{Protocol: lb.ListenerTCP, Port: 80, Pool: &lb.Pool{Members: []lb.Member{{Address: "10.0.0.11", Port: 30080, SubnetID: "subnet-before"}}}}}
	got, _ := SecurityGroupNeed(in, wanted, lb.Observed{LoadBalancer: &moved})
	want := securitygroup.Need{Ports: []securitygroup.PortKey{tcpPort(30080)}, FromSubnets: true, MemberSubnetIDs: []string{"subnet-before", "subnet-nodes"}, VIPSubnetID: "subnet-vip-found"}
	if diff := cmp.Diff(want, got, samePrefix); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	// Until then, the predecessor reaches the nodes.
	old := moved
	old.VIP.SubnetID = "subnet-vip-old"
	old.Listeners = []lb.Listener{{Pool: &lb.Pool{Members: []lb.Member{{SubnetID: "subnet-old"}}}}}
	got, _ = SecurityGroupNeed(in, wanted, lb.Observed{LoadBalancer: &moved, Predecessor: &old})
	want.MemberSubnetIDs = []string{"subnet-before", "subnet-nodes", "subnet-old", "subnet-vip-found", "subnet-vip-old"}
	if diff := cmp.Diff(want, got, samePrefix); diff != "" {
		t.Errorf("beside another one (-want +got):\n%s", diff)
	}
}

// Until the predecessor is deleted, packets come from both load balancers.
func TestSecurityGroupNeedIsThatOfBothProvidersDuringAReplacement(t *testing.T) {
	for from, to := range map[string]string{lb.ProviderOVN: "amphora", "amphora": lb.ProviderOVN} {
		in := input(managed, provider(to), ranges("192.0.2.0/24"))
		wanted, err := Wanted(in)
		if err != nil {
			t.Fatal(err)
		}
		next, old := *wanted.LoadBalancer, *wanted.LoadBalancer
		next.Provider, old.Provider = to, from
		got, ok := SecurityGroupNeed(in, wanted, lb.Observed{LoadBalancer: &next, Predecessor: &old})
		if want := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}; !ok || !got.FromSubnets || !cmp.Equal(want, got.Sources, samePrefix) {
			t.Errorf("from %s to %s: %+v, %v", from, to, got, ok)
		}
	}
}

func TestNeedOfARefusedServiceWithOVNIsUnknown(t *testing.T) {
	in := input(managed, provider(lb.ProviderOVN), annotate(keySources, "all"))
	have := lb.LoadBalancer{Provider: lb.ProviderOVN, Listeners: []lb.Listener{{Protocol: lb.ListenerTCP, Port: 80, Pool: &lb.Pool{}}}}
	observed := lb.Observed{LoadBalancer: &have}
	if _, ok := SecurityGroupNeed(in, MembersOnly(in, observed), observed); ok {
		t.Error("the need is said to be known")
	}
	if need, ok := SecurityGroupNeed(in, MembersOnly(in, lb.Observed{}), lb.Observed{}); !ok || len(need.Ports) > 0 {
		t.Errorf("one that has nothing needs %+v, known %v", need, ok)
	}
}

func TestSourceRangesWithOVNNeedManagedSecurityGroups(t *testing.T) {
	restricted := []change{provider(lb.ProviderOVN), ranges("192.0.2.0/24")}
	if _, err := Wanted(input(restricted...)); err == nil {
		t.Error("without a group they are taken")
	}
	wanted, err := Wanted(input(append(restricted, managed)...))
	if err != nil {
		t.Fatal(err)
	}
	if sources := wanted.LoadBalancer.Listeners[0].AllowedCIDRs; len(sources) > 0 {
		t.Errorf("the listener of provider ovn is asked for %v", sources)
	}
	if _, err := Wanted(input(provider(lb.ProviderOVN), ranges("2001:db8::/32"), managed)); err == nil {
		t.Error("ranges of the other family alone are taken")
	}
}

func TestPortsOfAServiceAreKnownWhateverElseIsNot(t *testing.T) {
	in := input(local, ports(port(corev1.ProtocolUDP, 53, 30053), port(corev1.ProtocolTCP, 80, 0)))
	want := []securitygroup.PortKey{udpPort(30053), tcpPort(32000)}
	if diff := cmp.Diff(want, in.Spec.NodePorts()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestMetricsNeedNoAccessToTheNodes(t *testing.T) {
	need := func(in Input) securitygroup.Need {
		wanted, err := Wanted(in)
		if err != nil {
			t.Fatal(err)
		}
		need, ok := SecurityGroupNeed(in, wanted, lb.Observed{})
		if !ok {
			t.Error("the Service does not say who may connect")
		}
		return need
	}
	without := need(input())
	with := need(input(annotate(annotation.MetricsPort, "9100"), annotate(annotation.MetricsAllowedCIDRs, "10.0.0.0/8")))
	if diff := cmp.Diff(without, with, samePrefix); diff != "" {
		t.Errorf("need (-without +with metrics):\n%s", diff)
	}
}
