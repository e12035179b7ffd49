// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func node(name string, change ...func(*corev1.Node)) corev1.Node {
	n := corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Addresses:  []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}, {Type: corev1.NodeInternalIP, Address: "10.0.0.1"}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}
	for _, c := range change {
		c(&n)
	}
	return n
}

func addresses(all ...string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Addresses = nil
		for i := 0; i < len(all); i += 2 {
			n.Status.Addresses = append(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeAddressType(all[i]), Address: all[i+1]})
		}
	}
}

func label(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels = map[string]string{key: value} }
}

func taint(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectNoSchedule})
	}
}

func deleting(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }

func notReady(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionFalse }

func unschedulable(n *corev1.Node) { n.Spec.Unschedulable = true }

func TestWhichNodesTakeTraffic(t *testing.T) {
	const missing, out = "no address", "left out"
	for name, c := range map[string]struct {
		node   corev1.Node
		v4, v6 string
	}{
		"a node like any other":                         {node("n"), "10.0.0.1", missing},
		"a node that is not ready":                      {node("n", notReady), "10.0.0.1", missing},
		"a cordoned node":                               {node("n", unschedulable), "10.0.0.1", out},
		"a node with the exclusion label":               {node("n", label("node.kubernetes.io/exclude-from-external-load-balancers", "")), out, out},
		"a node with the exclusion label set to false":  {node("n", label("node.kubernetes.io/exclude-from-external-load-balancers", "false")), out, out},
		"a control plane node":                          {node("n", label("node-role.kubernetes.io/control-plane", "")), "10.0.0.1", missing},
		"a node being deleted":                          {node("n", deleting), out, out},
		"a node the autoscaler is about to delete":      {node("n", taint("other"), taint("ToBeDeletedByClusterAutoscaler")), out, out},
		"a node the autoscaler might delete":            {node("n", taint("DeletionCandidateOfClusterAutoscaler")), "10.0.0.1", missing},
		"a node with both families":                     {node("n", addresses("InternalIP", "10.0.0.1", "InternalIP", "2001:db8::1")), "10.0.0.1", "2001:db8::1"},
		"a node with IPv6 first":                        {node("n", addresses("InternalIP", "2001:db8::1", "InternalIP", "10.0.0.1")), "10.0.0.1", "2001:db8::1"},
		"a node with two of a family":                   {node("n", addresses("InternalIP", "10.0.0.2", "InternalIP", "10.0.0.1")), "10.0.0.2", missing},
		"a node with an external address only":          {node("n", addresses("ExternalIP", "203.0.113.1")), "203.0.113.1", missing},
		"a cordoned node without an address":            {node("n", addresses(), unschedulable), out, out},
		"a node with names only":                        {node("n", addresses("Hostname", "10.0.0.1", "InternalDNS", "n.local")), missing, missing},
		"a node with a mapped IPv4 address":             {node("n", addresses("InternalIP", "::ffff:10.0.0.1")), "10.0.0.1", missing},
		"a node with an address that is none":           {node("n", addresses("InternalIP", "node.local", "InternalIP", "10.0.0.3")), "10.0.0.3", missing},
		"a node with an IPv6 address written at length": {node("n", addresses("InternalIP", "2001:DB8:0:0::1")), missing, "2001:db8::1"},
		"a node with a link-local address of a zone":    {node("n", addresses("InternalIP", "fe80::1%eth0")), missing, missing},
		"a node not yet initialised":                    {node("n", addresses()), missing, missing},
	} {
		t.Run(name, func(t *testing.T) {
			for family, want := range map[corev1.IPFamily]string{corev1.IPv4Protocol: c.v4, corev1.IPv6Protocol: c.v6} {
				targets, addressless := Nodes([]corev1.Node{c.node}, Choice{Family: family})
				got := out
				switch {
				case len(targets) == 1 && len(addressless) == 0 && targets[0].Node == "n":
					got = targets[0].Address.String()
				case len(targets) == 0 && len(addressless) == 1 && addressless[0] == "n":
					got = missing
				case len(targets)+len(addressless) > 0:
					t.Fatalf("%s: targets %v, addressless %v", family, targets, addressless)
				}
				if got != want {
					t.Errorf("%s: %s, want %s", family, got, want)
				}
			}
		})
	}
}

func TestSubnetAndTypeSelectOneOfSeveralAddresses(t *testing.T) {
	first, second, outside := "10.0.0.1", "10.0.1.1", "203.0.113.1"
	usual := []string{"InternalIP", first, "InternalIP", second, "ExternalIP", outside}
	subnet, named := netip.MustParsePrefix("10.0.1.0/24"), true
	for name, c := range map[string]struct {
		addresses []string
		choice    Choice
		want      string
	}{
		"nothing is asked for":                          {usual, Choice{}, first},
		"an ExternalIP comes first in the status":       {[]string{"ExternalIP", outside, "InternalIP", first}, Choice{}, first},
		"one is inside the subnet":                      {usual, Choice{Subnet: subnet}, second},
		"only an ExternalIP is inside the subnet":       {[]string{"InternalIP", first, "ExternalIP", second}, Choice{Subnet: subnet}, second},
		"none is inside the subnet":                     {[]string{"ExternalIP", outside, "InternalIP", first}, Choice{Subnet: subnet}, first},
		"the subnet is of the other family":             {usual, Choice{Subnet: netip.MustParsePrefix("2001:db8::/64")}, first},
		"an InternalIP is asked for":                    {usual, Choice{Type: corev1.NodeInternalIP}, first},
		"an ExternalIP is asked for":                    {usual, Choice{Type: corev1.NodeExternalIP}, outside},
		"there is none of the type":                     {usual[:4], Choice{Type: corev1.NodeExternalIP}, first},
		"a type, and a subnet that was not named":       {usual, Choice{Type: corev1.NodeExternalIP, Subnet: subnet}, outside},
		"a type, and a subnet that was named":           {usual, Choice{Type: corev1.NodeExternalIP, Subnet: subnet, Named: named}, second},
		"two of a type, one of them in the subnet":      {usual, Choice{Type: corev1.NodeInternalIP, Subnet: subnet}, second},
		"two in the subnet, one of them of the type":    {[]string{"InternalIP", "10.0.1.7", "ExternalIP", second}, Choice{Type: corev1.NodeExternalIP, Subnet: subnet, Named: named}, second},
		"a named subnet, and none of the node is there": {usual[:2], Choice{Subnet: subnet, Named: named}, first},
		"one takes traffic already":                     {usual, Choice{Subnet: subnet, Named: named, Keep: []netip.Addr{netip.MustParseAddr(outside)}}, outside},
		"what took traffic is not there any more":       {usual, Choice{Subnet: subnet, Keep: []netip.Addr{netip.MustParseAddr("10.0.0.9")}}, second},
	} {
		t.Run(name, func(t *testing.T) {
			c.choice.Family = corev1.IPv4Protocol
			targets, _ := Nodes([]corev1.Node{node("n", addresses(c.addresses...))}, c.choice)
			if len(targets) != 1 || targets[0].Address.String() != c.want {
				t.Errorf("targets %v, want %s", targets, c.want)
			}
		})
	}
}

func TestAnyChoiceNeedsANodeWithSeveralAddressesOfAFamily(t *testing.T) {
	both, one := addresses("InternalIP", "10.0.0.1", "InternalIP", "2001:db8::1"), node("n")
	several := addresses("InternalIP", "10.0.0.1", "ExternalIP", "203.0.113.1")
	for name, c := range map[string]struct {
		nodes []corev1.Node
		want  bool
	}{
		"no nodes":                       {nil, false},
		"one address":                    {[]corev1.Node{one}, false},
		"one of each family":             {[]corev1.Node{node("n", both)}, false},
		"two, of two types":              {[]corev1.Node{one, node("m", several)}, true},
		"two of a node that is left out": {[]corev1.Node{one, node("m", several, deleting)}, false},
	} {
		if got := AnyChoice(c.nodes, corev1.IPv4Protocol); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestTargetsAreSortedByNodeName(t *testing.T) {
	nodes := []corev1.Node{node("c"), node("a"), node("d", addresses()), node("b", addresses())}
	targets, addressless := Nodes(nodes, Choice{Family: corev1.IPv4Protocol})
	want := []Target{{Node: "a", Address: netip.MustParseAddr("10.0.0.1")}, {Node: "c", Address: netip.MustParseAddr("10.0.0.1")}}
	if diff := cmp.Diff(want, targets, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Errorf("targets (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"b", "d"}, addressless); diff != "" {
		t.Errorf("addressless (-want +got):\n%s", diff)
	}
	if nodes[0].Name != "c" {
		t.Error("the nodes that were given were sorted too")
	}
}

func TestHeartbeatsDoNotChangeANode(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*corev1.Node)
		same   bool
	}{
		"nothing":                {func(*corev1.Node) {}, true},
		"a heartbeat":            {func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime.Time = time.Unix(5, 0) }, true},
		"readiness":              {notReady, true},
		"cordoning":              {unschedulable, true},
		"another label":          {label("zone", "a"), true},
		"another zone":           {label("topology.kubernetes.io/zone", "a"), false},
		"an external address":    {addresses("InternalIP", "10.0.0.1", "ExternalIP", "203.0.113.1"), false},
		"the type of an address": {addresses("ExternalIP", "10.0.0.1"), false},
		"another name":           {addresses("InternalIP", "10.0.0.1", "Hostname", "m"), true},
		"another address":        {addresses("InternalIP", "10.0.0.2"), false},
		"no address":             {addresses(), false},
		"an IPv6 address":        {addresses("InternalIP", "10.0.0.1", "InternalIP", "2001:db8::1"), false},
		"the exclusion label":    {label("node.kubernetes.io/exclude-from-external-load-balancers", ""), false},
		"the autoscaler's taint": {taint("ToBeDeletedByClusterAutoscaler"), false},
		"deletion":               {deleting, false},
	} {
		t.Run(name, func(t *testing.T) {
			before, after := node("n"), node("n", c.change)
			if got := SameNode(&before, &after); got != c.same {
				t.Errorf("SameNode = %v, want %v", got, c.same)
			}
			if got := SameNode(&after, &before); got != c.same {
				t.Errorf("SameNode the other way = %v, want %v", got, c.same)
			}
		})
	}
}

func TestWithPolicyLocalOnlyNodesWithEndpointsTakeTraffic(t *testing.T) {
	endpoint := func(node string, ready, serving, terminating *bool) discoveryv1.EndpointSlice {
		e := discoveryv1.Endpoint{Conditions: discoveryv1.EndpointConditions{Ready: ready, Serving: serving, Terminating: terminating}}
		if node != "" {
			e.NodeName = &node
		}
		return discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{e}}
	}
	yes, no := ptr.To(true), ptr.To(false)
	for name, c := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		want   string
	}{
		"no endpoints":                             {nil, ""},
		"a ready endpoint":                         {[]discoveryv1.EndpointSlice{endpoint("a", yes, yes, no)}, "a"},
		"an endpoint of which nothing is known":    {[]discoveryv1.EndpointSlice{endpoint("a", nil, nil, nil)}, "a"},
		"an endpoint that is not ready":            {[]discoveryv1.EndpointSlice{endpoint("a", no, no, no)}, ""},
		"one that is not ready, serving not known": {[]discoveryv1.EndpointSlice{endpoint("a", no, nil, nil)}, ""},
		"one that shuts down and still serves":     {[]discoveryv1.EndpointSlice{endpoint("a", no, yes, yes)}, "a"},
		"one that shuts down and serves no more":   {[]discoveryv1.EndpointSlice{endpoint("a", no, no, yes)}, ""},
		"an endpoint on no node":                   {[]discoveryv1.EndpointSlice{endpoint("", yes, yes, no)}, ""},
		"an endpoint on a node that is no target":  {[]discoveryv1.EndpointSlice{endpoint("z", yes, yes, no)}, ""},
		"endpoints in several slices":              {[]discoveryv1.EndpointSlice{endpoint("b", yes, yes, no), endpoint("a", no, no, no), endpoint("a", yes, yes, no), endpoint("b", yes, yes, no)}, "ab"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			for _, target := range WithEndpoints([]Target{{Node: "a"}, {Node: "b"}}, c.slices) {
				got += target.Node
			}
			if got != c.want {
				t.Errorf("nodes %q, want %q", got, c.want)
			}
		})
	}
}
