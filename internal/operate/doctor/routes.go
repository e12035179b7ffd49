// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
)

// The defaults of Neutron: max_routes of a router and max_allowed_address_pair of a port.
const (
	mostRoutes = 30
	mostPairs  = 10
)

// CheckRoutes checks that routes to the Pods of each Node are possible and exist.
func CheckRoutes(f Facts, r *Result) {
	if !f.Controllers.Route {
		r.Skip("--controllers has no route")
		return
	}
	id := f.Config.Value.Route.RouterID
	const set = "Set router-id in [Route] of cloud.conf to the router of the Nodes' subnet: `openstack router list`, and `openstack router show ROUTER` shows its subnets."
	if id == "" {
		r.Found(Error, "[Route] router-id is not set", "The controller does not start: it does not know which router gets the routes.", set)
		return
	}
	router := f.Cloud.Network.PodRouter
	if !readable(r, router.Missing, "openstack router show "+id, calls.FeatureRoutes) {
		return
	}
	if router.Value == nil {
		r.Found(Error, fmt.Sprintf("[Route] router-id is %s, but the project sees no such router", id), "There can be no routes to Pods.", set)
		return
	}
	r.Saw(fmt.Sprintf("router %s has %s", id, Plural(len(router.Value.Routes), "route")))
	if atomic := f.Cloud.Network.AtomicRoutes; readable(r, atomic.Missing, "openstack extension list --network", calls.FeatureRoutes) {
		r.Saw(map[bool]string{
			true:  "Neutron adds and removes single routes (extraroute-atomic)",
			false: "Neutron has no extraroute-atomic, so the controller sets all routes of the router at once, and does not change those of others",
		}[atomic.Value])
	}
	if !r.Has(f.Cluster.Nodes.Missing, "kubectl get nodes") || !r.Has(f.Cloud.Network.Ports.Missing, "openstack port list") {
		return
	}
	p := podNetwork{Facts: f, r: r, routes: routeFacts(f, *router.Value)}
	p.checkPodCIDRs()
	p.checkWanted()
	p.checkStrays()
	p.checkSecurityGroups()
}

// podNetwork has the input of the checks of routes.
type podNetwork struct {
	Facts
	r      *Result
	routes routes.Facts
}

// routeFacts returns the facts from which the controller decides. Nodes that are not initialized must
// wait.
func routeFacts(f Facts, router routes.Router) routes.Facts {
	facts := routes.Facts{
		Routes: router.Routes, RouterID: router.ID, ClusterUID: f.Cluster.UID.Value, ClusterCIDRs: f.Controllers.ClusterCIDRs,
		IsOwn: instances.IsOwn(f.Config.Value.Global.Region),
	}
	for i := range f.Cluster.Nodes.Value {
		if n := &f.Cluster.Nodes.Value[i]; !instances.IsUninitialized(n) {
			facts.Nodes = append(facts.Nodes, n)
		}
	}
	for _, p := range f.Cloud.Network.Ports.Value {
		port := routes.Port{ID: p.ID, NetworkID: p.NetworkID, DeviceID: p.DeviceID, MAC: p.MAC, AddressPairs: p.AddressPairs, PortSecurity: p.PortSecurity, Tags: p.Tags}
		for _, ip := range p.FixedIPs {
			port.FixedIPs = append(port.FixedIPs, routes.FixedIP{Address: ip.Address})
		}
		facts.Ports = append(facts.Ports, port)
	}
	return facts
}

// checkPodCIDRs finds Nodes without a Pod CIDR.
func (p podNetwork) checkPodCIDRs() {
	var without []string
	for _, n := range p.routes.Nodes {
		if len(n.Spec.PodCIDRs) == 0 {
			without = append(without, n.Name)
		}
	}
	if len(without) > 0 {
		p.r.Found(Warning, "no Pod CIDR: "+Some("Node", without), "A route leads to the Pod CIDR of a Node, so these get none.",
			"Make kube-controller-manager allocate them, with --allocate-node-cidrs=true and --cluster-cidr. If the network plug-in uses its own addresses, it needs no routes: remove route from --controllers.")
	}
}

// checkWanted compares the routes that the Nodes need with the existing ones.
func (p podNetwork) checkWanted() {
	var impossible []routes.Wanted
	var outside, lacking, closed, young []string
	wanted, others, complete := p.routes.Wanted(), len(p.routes.Routes), 0
	for _, w := range wanted {
		if w.There {
			others--
		}
		if w.Outside {
			outside = append(outside, w.Node.Name)
		}
		switch {
		case w.Err != nil:
			impossible = append(impossible, w)
		case w.There && w.Admitted:
			complete++
		case !works(p.Facts) || !isSettled(p.Facts, *w.Node):
			young = append(young, w.Node.Name)
		case !w.Admitted:
			closed = append(closed, w.Node.Name)
		default:
			lacking = append(lacking, w.Node.Name)
		}
	}
	p.r.Saw(fmt.Sprintf("%d of %s to Pods there", complete, Plural(len(wanted), "route")))
	if len(young) > 0 {
		p.r.Saw("routes to come: those to " + names(young))
	}
	p.reportImpossible(impossible)
	if len(outside) > 0 {
		p.r.Found(Warning, fmt.Sprintf("a Pod CIDR outside of --cluster-cidr %v: %s", p.Controllers.ClusterCIDRs, names(outside)),
			"The controller adds routes for these Nodes, but never removes them.", "Set --cluster-cidr as for kube-controller-manager: `kubectl get nodes -o custom-columns=NAME:.metadata.name,CIDRS:.spec.podCIDRs`.")
	}
	p.reportLacking(lacking, closed)
	if total := len(wanted) + others; total > mostRoutes && complete < len(wanted) {
		p.r.Found(Warning, fmt.Sprintf("router %s should have %d routes, but %d of those of the Nodes are missing", p.routes.RouterID, total, len(wanted)-complete),
			fmt.Sprintf("Neutron allows %d routes for each router by default.", mostRoutes),
			"Ask the operator of the cloud whether max_routes in neutron.conf is high enough, or since OpenStack 2026.2 the quota router_route of the project. Otherwise use a network plug-in with an overlay.")
	}
}

// names returns the names of Nodes without duplicates: a Node may have a Pod CIDR of each IP
// family.
func names(nodes []string) string {
	slices.Sort(nodes)
	return Some("Node", slices.Compact(nodes))
}

// reportImpossible reports Nodes to which no route is possible, with the first error of each
// reason.
func (p podNetwork) reportImpossible(all []routes.Wanted) {
	for _, noAddress := range []bool{true, false} {
		var nodes []string
		var first *routes.Wanted
		for i, w := range all {
			if errors.Is(w.Err, routes.ErrNoAddress) == noAddress {
				nodes = append(nodes, w.Node.Name)
				first = cmp.Or(first, &all[i])
			}
		}
		if first == nil {
			continue
		}
		do := "Give the Nodes an address of this family, or remove the family from --cluster-cidr of kube-controller-manager: `kubectl get nodes -o wide`."
		if !noAddress {
			do = fmt.Sprintf("Connect the router with the subnet of the Nodes: `openstack router add subnet %s %s`; or set router-id in [Route] of cloud.conf to the router that is connected to it: `openstack router list`.",
				p.routes.RouterID, p.subnetOf(first.Node))
		}
		p.r.Found(Error, fmt.Sprintf("no route to the Pods of %s is possible. Node %s: %v", names(nodes), first.Node.Name, first.Err),
			"A route leads to an address of the Node in a subnet of the router.", do)
	}
}

// subnetOf returns the subnet in which a port has an internal address of the Node, or a placeholder.
func (p podNetwork) subnetOf(n *corev1.Node) string {
	for _, port := range p.Cloud.Network.Ports.Value {
		for _, ip := range port.FixedIPs {
			if slices.Contains(n.Status.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.Address}) {
				return ip.SubnetID
			}
		}
	}
	return "SUBNET"
}

// reportLacking reports Nodes whose routes should be complete, because the controller works.
func (p podNetwork) reportLacking(lacking, closed []string) {
	const do = "Look for event FailedToCreateRoute: `kubectl describe node %s`. Does the controller run with --controllers=route? `kubectl -n %s get deploy kube-octavia -o yaml` shows its arguments."
	if len(lacking) > 0 {
		p.r.Found(Warning, fmt.Sprintf("router %s lacks the routes to the Pods of %s, although kube-octavia works", p.routes.RouterID, names(lacking)),
			"These Pods cannot be reached from other Nodes.", fmt.Sprintf(do, lacking[0], p.Cluster.OwnLease.Namespace))
	}
	if len(closed) > 0 {
		p.r.Found(Warning, fmt.Sprintf("ports do not let packets of Pods pass: %s, although kube-octavia works", names(closed)),
			fmt.Sprintf("The Pod CIDR is not among the allowed address pairs of the port, so Neutron drops what these Pods send. By default Neutron allows %d pairs per port.", mostPairs),
			fmt.Sprintf(do, closed[0], p.Cluster.OwnLease.Namespace))
	}
}

// checkStrays finds routes into the Pod network that lead to no Node.
func (p podNetwork) checkStrays() {
	remove := func(stray routes.Route) string {
		return fmt.Sprintf("`openstack router remove route %s --route destination=%s,gateway=%s`", p.routes.RouterID, stray.Destination, stray.NextHop)
	}
	blackholes, kept := p.routes.Strays()
	if len(blackholes) > 0 {
		p.r.Found(Warning, "the next hop is not a Node: "+some(blackholes), "Packets into this part of the Pod network are lost.",
			"A running controller removes it within a minute. To do it manually: "+remove(blackholes[0])+".")
	}
	if len(kept) > 0 {
		p.r.Found(Warning, "the next hop is not a Node, but a port of the project: "+some(kept),
			"The controller keeps such a route, because it may belong to another cluster. In that case both clusters have the same Pod network, and packets are lost.",
			"If nothing needs it, "+remove(kept[0])+". Otherwise give one cluster another Pod network or router.")
	}
}

func some(all []routes.Route) string {
	var texts []string
	for _, one := range all {
		texts = append(texts, one.Destination+" via "+one.NextHop)
	}
	return Some("route", texts)
}

// checkSecurityGroups checks whether the ports of the Nodes admit what Pods of other Nodes send.
func (p podNetwork) checkSecurityGroups() {
	groups := p.Cloud.Network.Groups
	if len(p.routes.Nodes) < 2 || !p.r.Has(groups.Missing, "openstack security group list") {
		return
	}
	for _, cidr := range p.Controllers.ClusterCIDRs {
		found := map[Status][]string{}
		for _, w := range p.routes.Wanted() {
			if own, err := netip.ParsePrefix(w.Destination); w.Err == nil && err == nil && cidr.Contains(own.Addr()) {
				status := p.letIn(w.Port.ID, cidr)
				found[status] = append(found[status], w.Node.Name)
			}
		}
		const why = "Pods of one Node reach those of another only if the security groups of the Nodes admit the Pod network."
		do := fmt.Sprintf("Add a rule to a security group of the Nodes: `openstack security group rule create --ingress --remote-ip %s GROUP`.", cidr)
		if closed := found[Error]; len(closed) > 0 {
			p.r.Found(Error, fmt.Sprintf("security groups of %s do not admit all of the Pod network %s", names(closed), cidr), why, do)
		}
		if perhaps := found[Unknown]; len(perhaps) > 0 {
			p.r.Found(Unknown, fmt.Sprintf("security groups of %s admit the Pod network %s only by rules for groups, or by groups that the project does not see", names(perhaps), cidr),
				why+" Whether a group contains the addresses of Pods depends on the driver of Neutron.", do)
		}
	}
}

// letIn returns whether a port admits TCP and UDP from the Pod network.
func (p podNetwork) letIn(portID string, cidr netip.Prefix) Status {
	ports := p.Cloud.Network.Ports.Value
	i := slices.IndexFunc(ports, func(port Port) bool { return port.ID == portID })
	var all []Status
	for _, transport := range []string{"tcp", "udp"} {
		access := Access{Transport: transport, From: 1, To: 65535, Source: cidr, ByPods: true}
		all = append(all, access.LetIn(ports[i:i+1], p.Cloud.Network.Groups.Value))
	}
	for _, worst := range []Status{Error, Unknown} {
		if slices.Contains(all, worst) {
			return worst
		}
	}
	return OK
}
