// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"net/netip"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

// route adds a route to the router.
func route(destination, hop string) func(*Facts) {
	return network(func(n *Network) {
		n.PodRouter.Value.Routes = append(n.PodRouter.Value.Routes, routes.Route{Destination: destination, NextHop: hop})
	})
}

func noRoutes(f *Facts) { f.Cloud.Network.PodRouter.Value.Routes = nil }

// closed removes the address pairs of the port of Node a.
func closed(f *Facts) { f.Cloud.Network.Ports.Value[1].AddressPairs = nil }

func TestTheRouterOfRoutes(t *testing.T) {
	requireNodeResults(t, CheckRoutes, map[string]wrongNodes{
		"right":                            {nil, OK, "2 of 2 routes to Pods there", ""},
		"switched off":                     {func(f *Facts) { f.Controllers.Route = false; noRoutes(f) }, Skipped, "--controllers", ""},
		"no router-id":                     {func(f *Facts) { f.Config.Value.Route.RouterID = "" }, Error, "router-id is not set", "openstack router list"},
		"a router that does not exist":     {network(func(n *Network) { n.PodRouter.Value = nil }), Error, "router-id is router, but the project sees no such router", "openstack router list"},
		"a router that may not be read":    {network(func(n *Network) { n.PodRouter.Missing = denied }), Error, "the login may not", "credential rotate --with=routes"},
		"a Neutron that does not answer":   {network(func(n *Network) { n.PodRouter.Missing = failed }), Unknown, "503", "openstack router show router"},
		"extensions that may not be read":  {network(func(n *Network) { n.AtomicRoutes.Missing = denied }), Error, "the login may not", "credential rotate --with=routes"},
		"single routes":                    {nil, OK, "single routes (extraroute-atomic)", ""},
		"all routes at once":               {network(func(n *Network) { n.AtomicRoutes.Value = false }), OK, "no extraroute-atomic", ""},
		"no cluster":                       {func(f *Facts) { f.Cluster.Nodes.Missing = none }, OK, "router router has 3 routes", ""},
		"ports that may not be read":       {network(func(n *Network) { n.Ports.Missing = failed }), Unknown, "503", "openstack port list"},
		"the router is in another network": {network(func(n *Network) { n.Ports.Value[0].NetworkID = "other" }), Error, "no route to the Pods of 2 Nodes (a, b) is possible. Node a: no port of the project in a network of router router", "openstack router add subnet router subnet`"},
		"the router of another project":    {network(func(n *Network) { n.Ports.Value = n.Ports.Value[:1] }), Error, "no route to the Pods of 2 Nodes (a, b)", "openstack router add subnet router SUBNET`"},
	})
}

func TestRoutesToPods(t *testing.T) {
	onlyA := func(f *Facts) {
		f.Cloud.Network.PodRouter.Value.Routes = f.Cloud.Network.PodRouter.Value.Routes[:1]
	}
	isNew := func(f *Facts) { f.Cluster.Nodes.Value[1].CreationTimestamp = metav1.NewTime(noon) }
	outside := func(f *Facts) {
		f.Controllers.ClusterCIDRs = []netip.Prefix{netip.MustParsePrefix("10.244.0.0/23")}
	}
	many := func(n int) func(*Facts) {
		return func(f *Facts) {
			for i := range n {
				route(fmt.Sprintf("192.168.%d.0/24", i+1), "10.0.0.99")(f)
			}
		}
	}
	tagged := func(tags ...string) func(*Facts) {
		return func(f *Facts) {
			port := portOf("other", "10.0.0.99", "10.244.9.0/24")
			port.Tags = tags
			f.Cloud.Network.Ports.Value = append(f.Cloud.Network.Ports.Value, port)
		}
	}
	requireNodeResults(t, CheckRoutes, map[string]wrongNodes{
		"no Pod CIDR": {all(nodeA(func(n *corev1.Node) { n.Spec.PodCIDRs = nil }), func(f *Facts) {
			f.Cloud.Network.PodRouter.Value.Routes = f.Cloud.Network.PodRouter.Value.Routes[1:]
		}), Warning, "no Pod CIDR: Node a", "--allocate-node-cidrs"},
		"not initialized": {all(noRoutes, func(f *Facts) {
			for i := range f.Cluster.Nodes.Value {
				n := &f.Cluster.Nodes.Value[i]
				n.Spec.Taints, n.Status.Addresses = []corev1.Taint{taint}, nil
			}
		}), OK, "0 of 0 routes", ""},
		"no address of the family": {all(nodeA(func(n *corev1.Node) { n.Spec.PodCIDRs = append(n.Spec.PodCIDRs, "fd00:1::/64") }), func(f *Facts) {
			f.Controllers.ClusterCIDRs = append(f.Controllers.ClusterCIDRs, netip.MustParsePrefix("fd00::/16"))
		}), Error, "Node a: it has no InternalIP of the family", "kubectl get nodes -o wide"},
		"a Pod CIDR outside of --cluster-cidr": {outside, Warning, "outside of --cluster-cidr [10.244.0.0/23]: Node b", "kube-controller-manager"},

		"a Node of another cloud": {all(onlyA, func(f *Facts) { f.Cluster.Nodes.Value[1].Spec.ProviderID = "aws:///b" }), OK, "1 of 1 route", ""},

		"a route that is missing": {onlyA, Warning, "router router lacks the routes to the Pods of Node b, although kube-octavia works", "FailedToCreateRoute"},
		"two routes to a Node that are missing": {all(onlyA, func(f *Facts) {
			f.Cluster.Nodes.Value[1].Spec.PodCIDRs = []string{"10.244.2.0/25", "10.244.2.128/25"}
		}), Warning, "the routes to the Pods of Node b,", "FailedToCreateRoute"},
		"a route that is missing, of a new Node":            {all(onlyA, isNew), OK, "routes to come: those to Node b", ""},
		"a route that is missing, and nothing works":        {all(onlyA, idle), OK, "routes to come: those to Node b", ""},
		"a port that keeps Pods in":                         {closed, Warning, "do not let packets of Pods pass: Node a", "FailedToCreateRoute"},
		"a port without port security":                      {all(closed, network(func(n *Network) { off := false; n.Ports.Value[1].PortSecurity = &off })), OK, "2 of 2 routes", ""},
		"more routes than Neutron allows by default":        {all(idle, onlyA, many(29)), Warning, "router router should have 31 routes, but 1 of those of the Nodes are missing", "max_routes"},
		"as many routes as Neutron allows":                  {all(idle, onlyA, many(28)), OK, "1 of 2 routes", ""},
		"more routes than Neutron allows by default, there": {many(40), OK, "2 of 2 routes", ""},

		"a route to an unused address":              {route("10.244.9.0/24", "10.0.0.99"), Warning, "the next hop is not a Node: route 10.244.9.0/24 via 10.0.0.99", "openstack router remove route router --route destination=10.244.9.0/24,gateway=10.0.0.99"},
		"a route to a server that was a Node":       {all(route("10.244.9.0/24", "10.0.0.99"), tagged("kube-octavia.routes=cluster")), Warning, "the next hop is not a Node: route", "A running controller removes it"},
		"a route to a server outside the cluster":   {all(route("10.244.9.0/24", "10.0.0.99"), tagged()), Warning, "not a Node, but a port of the project: route 10.244.9.0/24", "another Pod network"},
		"a route to an unused address, not to Pods": {route("192.168.9.0/24", "10.0.0.99"), OK, "router router has 4 routes", ""},
	})
}

func TestSecurityGroupsBetweenPods(t *testing.T) {
	rules := func(all ...Rule) func(*Facts) {
		return network(func(n *Network) { n.Groups.Value[0].Rules = all })
	}
	group, pods, part, tcp, udp, port := "group", "10.244.0.0/16", "10.244.0.0/17", "tcp", "17", 443
	ingress := func(change func(*Rule)) Rule {
		r := Rule{Direction: "ingress", EtherType: "IPv4"}
		change(&r)
		return r
	}
	requireNodeResults(t, CheckRoutes, map[string]wrongNodes{
		"closed": {rules(), Error, "security groups of 2 Nodes (a, b) do not admit all of the Pod network 10.244.0.0/16", "--ingress --remote-ip 10.244.0.0/16 GROUP"},
		"closed, but a single Node": {all(rules(), func(f *Facts) {
			f.Cluster.Nodes.Value = f.Cluster.Nodes.Value[:1]
			f.Cloud.Network.PodRouter.Value.Routes = nil
			route("10.244.1.0/24", "10.0.0.11")(f)
		}), OK, "1 of 1 route", ""},
		"closed, without port security": {all(rules(), network(func(n *Network) {
			off := false
			n.Ports.Value[1].PortSecurity, n.Ports.Value[2].PortSecurity = &off, &off
		})), OK, "", ""},
		"one port": {rules(ingress(func(r *Rule) { r.Protocol, r.PortMin, r.PortMax = &tcp, &port, &port })), Error, "do not admit all", ""},
		"one port of TCP and UDP": {rules(
			ingress(func(r *Rule) { r.Protocol, r.PortMin, r.PortMax = &tcp, &port, &port }),
			ingress(func(r *Rule) { r.Protocol, r.PortMin, r.PortMax = &udp, &port, &port }),
		), Error, "do not admit all", ""},
		"a part of the Pods":          {rules(ingress(func(r *Rule) { r.RemoteIPPrefix = &part })), Error, "do not admit all", ""},
		"only TCP":                    {rules(ingress(func(r *Rule) { r.Protocol = &tcp })), Error, "do not admit all", ""},
		"TCP and UDP":                 {rules(ingress(func(r *Rule) { r.Protocol = &tcp }), ingress(func(r *Rule) { r.Protocol, r.RemoteIPPrefix = &udp, &pods })), OK, "", ""},
		"the group of the Nodes":      {rules(ingress(func(r *Rule) { r.RemoteGroupID = &group })), Unknown, "only by rules for groups", "--remote-ip 10.244.0.0/16"},
		"a group that is not seen":    {network(func(n *Network) { n.Groups.Value = nil }), Unknown, "only by rules for groups", ""},
		"groups that may not be read": {network(func(n *Network) { n.Groups.Missing = failed }), Unknown, "503", "openstack security group list"},
	})
}
