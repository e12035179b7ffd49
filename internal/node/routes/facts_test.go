// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func node(name, address string, podCIDRs ...string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: podCIDRs},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: address}}},
	}
}

// on returns a port of network n with the address, which admits the CIDRs.
func on(network, address string, admitted ...string) Port {
	p := Port{ID: "port-" + address, NetworkID: network, DeviceID: "server", FixedIPs: []FixedIP{{address}}, PortSecurity: ptr.To(true)}
	for _, cidr := range admitted {
		p.AddressPairs = append(p.AddressPairs, AddressPair{Address: cidr})
	}
	return p
}

func tagged(p Port) Port {
	p.Tags = []string{"other", "kube-octavia.routes=uid"}
	return p
}

var routerPort = Port{ID: "router-port", NetworkID: "n", DeviceID: "r", FixedIPs: []FixedIP{{"10.0.0.1"}}}

func TestListedRoutes(t *testing.T) {
	nodes := []*corev1.Node{node("a", "10.0.0.11", "10.244.1.0/24"), node("b", "10.0.0.12", "10.244.2.0/24", "fd00:2::/64")}
	open := on("n", "10.0.0.11")
	open.PortSecurity = ptr.To(false)
	unsupported := on("n", "10.0.0.11")
	unsupported.PortSecurity = nil
	otherMAC := on("n", "10.0.0.11", "10.244.0.0/16")
	otherMAC.MAC, otherMAC.AddressPairs[0].MAC = "fa:16:3e:00:00:01", "fa:16:3e:00:00:02"
	foreign := on("n", "10.0.0.13", "10.244.1.0/24")
	foreign.Tags = []string{"kube-octavia.routes=another"}
	for name, test := range map[string]struct {
		route Route
		ports ports
		want  string
	}{
		"complete":                                  {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(on("n", "10.0.0.11", "10.244.1.0/24"))}, "a"},
		"without a tag, as of another program":      {Route{"10.244.1.0/24", "10.0.0.11"}, ports{on("n", "10.0.0.11", "10.244.1.0/24")}, ""},
		"admitted with another MAC address":         {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(otherMAC)}, ""},
		"admitted by a larger pair":                 {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(on("n", "10.0.0.11", "10.244.0.0/16"))}, "a"},
		"the port does not admit it":                {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(on("n", "10.0.0.11", "10.244.2.0/24", "10.244.1.0/25"))}, ""},
		"the port admits everything":                {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(open)}, "a"},
		"a cloud without port security":             {Route{"10.244.1.0/24", "10.0.0.11"}, ports{tagged(unsupported)}, ""},
		"the port is not in the project":            {Route{"10.244.1.0/24", "10.0.0.11"}, nil, "a"},
		"the same address in another network":       {Route{"10.244.1.0/24", "10.0.0.11"}, ports{on("other", "10.0.0.11")}, "a"},
		"to the wrong Node":                         {Route{"10.244.1.0/24", "10.0.0.12"}, ports{on("n", "10.0.0.12")}, "b"},
		"IPv6":                                      {Route{"fd00:2::/64", "10.0.0.12"}, ports{tagged(on("n", "10.0.0.12", "fd00:2::/64"))}, "b"},
		"the server of the Node is gone":            {Route{"10.244.3.0/24", "10.0.0.13"}, nil, "blackhole"},
		"the Node is gone, its server is not":       {Route{"10.244.3.0/24", "10.0.0.13"}, ports{tagged(on("n", "10.0.0.13", "10.244.3.0/24"))}, "blackhole"},
		"another cluster's node":                    {Route{"10.244.3.0/24", "10.0.0.13"}, ports{on("n", "10.0.0.13", "10.244.3.0/24")}, ""},
		"the Pod CIDR of a new Node":                {Route{"10.244.1.0/24", "10.0.0.13"}, ports{on("n", "10.0.0.13", "10.244.1.0/24")}, "blackhole"},
		"the same at a node of another cluster":     {Route{"10.244.1.0/24", "10.0.0.13"}, ports{foreign}, ""},
		"outside of the Pod network":                {Route{"192.168.0.0/16", "10.0.0.13"}, nil, ""},
		"a route that contains the Pod network":     {Route{"10.0.0.0/8", "10.0.0.13"}, nil, ""},
		"a destination that cannot be read":         {Route{"nonsense", "10.0.0.13"}, nil, ""},
		"outside of the Pod network through a Node": {Route{"192.168.0.0/16", "10.0.0.11"}, ports{on("n", "10.0.0.11")}, ""},
		"the same, and it contains the Pod network": {Route{"10.244.0.0/15", "10.0.0.11"}, ports{on("n", "10.0.0.11")}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{
				Routes: []Route{test.route}, Ports: append(ports{routerPort}, test.ports...), Nodes: nodes, RouterID: "r", ClusterUID: "uid",
				ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00::/16")},
			}
			var got []string
			for _, r := range f.Listed() {
				if r.DestinationCIDR != test.route.Destination || r.Name != test.route.NextHop {
					t.Errorf("got %+v", r)
				}
				word := string(r.TargetNode)
				if r.Blackhole {
					word = "blackhole"
				}
				got = append(got, word)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ",")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPodCIDRMayHaveAnotherFormThanTheRoute(t *testing.T) {
	n := node("a", "10.0.0.11", "FD00:1:0::/64")
	f := Facts{
		Routes: []Route{{"fd00:1::/64", "10.0.0.11"}}, Ports: ports{routerPort, tagged(on("n", "10.0.0.11", "fd00:1::/64"))}, Nodes: []*corev1.Node{n},
		RouterID: "r", ClusterUID: "uid", ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("fd00::/16")},
	}
	listed := f.Listed()
	if len(listed) != 1 || listed[0].DestinationCIDR != n.Spec.PodCIDRs[0] || listed[0].TargetNode != "a" {
		t.Errorf("%+v: Kubernetes would remove the route and add it again", listed)
	}
}

func TestRoutesToNodesOfOtherCloudsAreIgnored(t *testing.T) {
	f := Facts{
		Routes: []Route{{"10.244.1.0/24", "10.0.0.11"}, {"10.244.2.0/24", "10.0.0.12"}, {"10.244.3.0/24", "10.0.0.12"}},
		Nodes:  []*corev1.Node{node("own", "10.0.0.11", "10.244.1.0/24"), node("foreign", "10.0.0.12", "10.244.2.0/24")}, RouterID: "r", ClusterUID: "uid",
		Ports:        ports{routerPort, tagged(on("n", "10.0.0.11", "10.244.1.0/24")), tagged(on("n", "10.0.0.12", "10.244.2.0/24"))},
		ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}, IsOwn: func(n *corev1.Node) bool { return n.Name == "own" },
	}
	if listed := f.Listed(); len(listed) != 1 || listed[0].TargetNode != "own" {
		t.Errorf("listed: %+v", listed)
	}
	if wanted := f.Wanted(); len(wanted) != 1 || wanted[0].Node.Name != "own" {
		t.Errorf("wanted: %+v", wanted)
	}
	if blackholes, kept := f.Strays(); len(blackholes)+len(kept) > 0 {
		t.Errorf("strays: %v, %v", blackholes, kept)
	}
}

// A server may get the address of a deleted one before the Node of that is gone.
func TestNodesWithTheSameAddressKeepTheirRoutes(t *testing.T) {
	to := func(destination string) Route { return Route{destination, "10.0.0.11"} }
	stale, live := node("stale", "10.0.0.11", "10.244.1.0/24"), node("live", "10.0.0.11", "10.244.2.0/24")
	for name, nodes := range map[string][]*corev1.Node{
		"stale Node first": {stale, live},
		"live Node first":  {live, stale},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{
				Routes: []Route{to("10.244.1.0/24"), to("10.244.2.0/24")}, Nodes: nodes, RouterID: "r", ClusterUID: "uid",
				Ports:        ports{routerPort, tagged(on("n", "10.0.0.11", "10.244.1.0/24", "10.244.2.0/24"))},
				ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
			}
			var got []string
			for _, r := range f.Listed() {
				got = append(got, string(r.TargetNode)+" "+r.DestinationCIDR)
			}
			if diff := cmp.Diff([]string{"stale 10.244.1.0/24", "live 10.244.2.0/24"}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestARouteIsThereForItsOwnPodCIDROnly(t *testing.T) {
	f := Facts{
		Routes: []Route{{"10.244.1.0/24", "10.0.0.11"}}, Ports: ports{routerPort, on("n", "10.0.0.11")}, RouterID: "r",
		Nodes: []*corev1.Node{node("a", "10.0.0.11", "10.244.1.0/24", "10.244.2.0/24")},
	}
	if w := f.Wanted(); len(w) != 2 || !w[0].There || w[1].There {
		t.Errorf("%+v", w)
	}
}

func TestOnlyAPairWithTheMACAddressOfThePortIsRemoved(t *testing.T) {
	others := AddressPair{Address: "10.244.1.0/24", MAC: "fa:16:3e:00:00:02"}
	p := Port{MAC: "fa:16:3e:00:00:01", AddressPairs: []AddressPair{{Address: "10.244.1.0/24", MAC: "FA:16:3E:00:00:01"}, others}}
	if diff := cmp.Diff([]AddressPair{others}, p.without("10.244.1.0/24")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTagAndPairsLeftByAnInterruptedChangeAreABlackhole(t *testing.T) {
	nodes := []*corev1.Node{node("a", "10.0.0.11", "10.244.1.0/24")}
	foreign := tagged(on("n", "10.0.0.13"))
	foreign.Tags = []string{"kube-octavia.routes=another"}
	for name, test := range map[string]struct {
		port   Port
		routes []Route
		want   []string
	}{
		"the tag":                           {port: tagged(on("n", "10.0.0.13")), want: []string{"10.244.0.0/32"}},
		"the tag, and pairs of others":      {port: tagged(on("n", "10.0.0.13", "10.244.0.0/16", "10.244.3.7/32")), want: []string{"10.244.0.0/32"}},
		"the tag and a pair":                {port: tagged(on("n", "10.0.0.13", "192.168.0.0/24", "10.244.3.7", "10.244.3.0/24")), want: []string{"10.244.3.0/24"}},
		"the tag and pairs of two families": {port: tagged(on("n", "10.0.0.13", "10.244.3.0/24", "fd00:3::/64")), want: []string{"10.244.3.0/24", "fd00:3::/64"}},
		"nothing":                           {port: on("n", "10.0.0.13", "10.244.3.0/24")},
		"the tag of another cluster":        {port: foreign},
		"the port of a Node":                {port: tagged(on("n", "10.0.0.11", "10.244.1.0/24"))},
		"the router does not reach it":      {port: tagged(on("other", "10.0.0.13", "10.244.3.0/24"))},
		"there is still the route": {
			port: tagged(on("n", "10.0.0.13", "10.244.3.0/24")), routes: []Route{{"10.244.3.0/24", "10.0.0.13"}}, want: []string{"10.244.3.0/24"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{
				Routes: test.routes, Ports: ports{routerPort, test.port}, Nodes: nodes, RouterID: "r", ClusterUID: "uid",
				ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16"), netip.MustParsePrefix("fd00::/16")},
			}
			var got []string
			for _, r := range f.Listed() {
				if r.Name != test.port.FixedIPs[0].Address || !r.Blackhole {
					t.Errorf("got %+v", r)
				}
				got = append(got, r.DestinationCIDR)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoutesLeftByAClusterWithoutNodesAreFound(t *testing.T) {
	const kept = "port port-10.0.0.13 of its next hop has no tag of this cluster: it may be a node of another one"
	to13 := Route{"10.244.3.0/24", "10.0.0.13"}
	for name, test := range map[string]struct {
		routes []Route
		ports  ports
		want   []Left
	}{
		"a route to nowhere":                 {[]Route{to13}, ports{routerPort}, []Left{{Route: to13}}},
		"a route to a server that stayed":    {[]Route{to13}, ports{routerPort, tagged(on("n", "10.0.0.13", "10.244.3.0/24"))}, []Left{{Route: to13}}},
		"a route to a node of another one":   {[]Route{to13}, ports{routerPort, on("n", "10.0.0.13", "10.244.3.0/24")}, []Left{{Route: to13, Keep: kept}}},
		"a route outside of the Pod network": {[]Route{{"192.168.0.0/16", "10.0.0.13"}}, ports{routerPort}, nil},
		"an address pair without a route":    {nil, ports{routerPort, tagged(on("n", "10.0.0.13", "10.244.3.0/24"))}, []Left{{Route: to13, PortID: "port-10.0.0.13"}}},
		"a router with no port in the project": {
			[]Route{to13}, ports{on("n", "10.0.0.13")},
			[]Left{{Route: to13, Keep: "the project has no port of router r, so the next hop is unknown"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{Routes: test.routes, Ports: test.ports, RouterID: "r", ClusterUID: "uid", ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")}}
			if diff := cmp.Diff(test.want, f.Left()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestCachedPortsAreUsedOnlyIfNothingIsToChange(t *testing.T) {
	for name, test := range map[string]struct {
		routes []Route
		want   bool
	}{
		"all complete":          {[]Route{{"10.244.1.0/24", "10.0.0.11"}, {"192.168.0.0/16", "10.0.0.99"}}, false},
		"a Node that is gone":   {[]Route{{"10.244.9.0/24", "10.0.0.99"}}, true},
		"of another cluster":    {[]Route{{"10.244.9.0/24", "10.0.0.12"}}, false},
		"a port does not admit": {[]Route{{"10.244.2.0/24", "10.0.0.11"}}, true},
		"no routes":             {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			f := Facts{
				Routes: test.routes, Ports: ports{routerPort, tagged(on("n", "10.0.0.11", "10.244.1.0/24")), on("n", "10.0.0.12")}, Nodes: []*corev1.Node{node("a", "10.0.0.11", "10.244.1.0/24")},
				RouterID: "r", ClusterUID: "uid", ClusterCIDRs: []netip.Prefix{netip.MustParsePrefix("10.244.0.0/16")},
			}
			if got := f.needsFreshPorts(); got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestTheNextHopIsAnAddressThatTheRouterReaches(t *testing.T) {
	addresses := func(all ...string) (list []corev1.NodeAddress) {
		for _, a := range all {
			kind, address, _ := strings.Cut(a, " ")
			list = append(list, corev1.NodeAddress{Type: corev1.NodeAddressType(kind), Address: address})
		}
		return list
	}
	all := ports{routerPort, on("n", "10.0.0.11"), on("other", "10.9.0.11"), on("n", "fd00::11")}
	for name, test := range map[string]struct {
		addresses []corev1.NodeAddress
		cidr      string
		want      string
	}{
		"the only one":             {addresses("InternalIP 10.0.0.11"), "10.244.1.0/24", "10.0.0.11"},
		"not in the other network": {addresses("InternalIP 10.9.0.11", "InternalIP 10.0.0.11"), "10.244.1.0/24", "10.0.0.11"},
		"of the same family":       {addresses("InternalIP 10.0.0.11", "InternalIP fd00::11"), "fd00:1::/64", "fd00::11"},
		"only external":            {addresses("ExternalIP 10.0.0.11"), "10.244.1.0/24", "it has no InternalIP of the family of its Pod CIDR 10.244.1.0/24"},
		"unknown":                  {addresses("InternalIP 10.0.0.77", "Hostname a"), "10.244.1.0/24", "no port of the project in a network of router r has its address 10.0.0.77"},
		"the router itself":        {addresses("InternalIP 10.0.0.1"), "10.244.1.0/24", "no port of the project"},
	} {
		t.Run(name, func(t *testing.T) {
			port, hop, err := all.nextHop("r", test.addresses, netip.MustParsePrefix(test.cidr))
			got := hop.String()
			if err != nil {
				got = err.Error()
			}
			if !strings.HasPrefix(got, test.want) || err == nil && port.ID != "port-"+test.want {
				t.Errorf("%s, port %s", got, port.ID)
			}
		})
	}
}

func TestRoutesAreMerged(t *testing.T) {
	others, ours, more := Route{"192.168.0.0/16", "10.0.0.99"}, Route{"10.244.1.0/24", "10.0.0.11"}, Route{"10.244.2.0/24", "10.0.0.12"}
	for name, test := range map[string]struct {
		kind                   string
		before, changed, after []Route
	}{
		"add to others":            {adding, []Route{others}, []Route{ours, more}, []Route{others, ours, more}},
		"add what is there":        {adding, []Route{ours, others}, []Route{ours}, []Route{ours, others}},
		"add to none":              {adding, nil, []Route{ours}, []Route{ours}},
		"remove":                   {removing, []Route{others, ours, more}, []Route{ours}, []Route{others, more}},
		"remove what is not there": {removing, []Route{others}, []Route{ours, {"192.168.0.0/16", "10.0.0.98"}}, []Route{others}},
	} {
		t.Run(name, func(t *testing.T) {
			before := fmt.Sprint(test.before)
			if diff := cmp.Diff(test.after, merge(test.kind, test.before, test.changed)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(test.before) != before {
				t.Error("the routes that were read are changed")
			}
		})
	}
}
