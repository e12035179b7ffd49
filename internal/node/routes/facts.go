// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package routes

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	cloudprovider "k8s.io/cloud-provider"
)

// Route is a route of a router.
type Route struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// Port is a port of Neutron.
type Port struct {
	ID        string    `json:"id"`
	NetworkID string    `json:"network_id"`
	DeviceID  string    `json:"device_id"`
	MAC       string    `json:"mac_address"`
	FixedIPs  []FixedIP `json:"fixed_ips"`
	// AddressPairs are the addresses that the port may send from, besides its own, if it has PortSecurity.
	AddressPairs []AddressPair `json:"allowed_address_pairs"`
	// PortSecurity is nil if the cloud has no such extension.
	PortSecurity *bool    `json:"port_security_enabled"`
	Tags         []string `json:"tags"`
	Revision     int      `json:"revision_number"`
}

// FixedIP is an address of a port.
type FixedIP struct {
	Address string `json:"ip_address"`
}

// AddressPair is an address or CIDR with a MAC address: Neutron checks both. The default MAC address is that of the
// port.
type AddressPair struct {
	Address string `json:"ip_address"`
	MAC     string `json:"mac_address,omitempty"`
}

// Facts has the input of decisions about routes.
type Facts struct {
	// Routes are all routes of the router, including those of other clients.
	Routes []Route
	// Ports are all ports of the project.
	Ports ports
	// Nodes are the Nodes of the cluster.
	Nodes []*corev1.Node
	// RouterID, ClusterUID, ClusterCIDRs and IsOwn are as in Options.
	RouterID, ClusterUID string
	ClusterCIDRs         []netip.Prefix
	IsOwn                func(*corev1.Node) bool
}

// Listed returns the routes of the cluster. Kubernetes creates routes of Nodes that are missing in this list, and
// deletes those that no Node needs and the blackholes. The name of a route is its next hop.
//
// The list omits routes to networks that contain the Pod network: Kubernetes only compares their first and last
// address.
func (f Facts) Listed() []*cloudprovider.Route {
	var all []*cloudprovider.Route
	for _, route := range f.Routes {
		if node := f.nodeOf(route); node != nil {
			cidr, needed := podCIDR(node, route.Destination)
			if f.isOwn(node) && (needed && f.isComplete(route) || !needed && f.isOfCluster(route)) {
				all = append(all, &cloudprovider.Route{Name: route.NextHop, TargetNode: types.NodeName(node.Name), DestinationCIDR: cidr})
			}
			continue
		}
		if f.isBlackhole(route) {
			all = append(all, &cloudprovider.Route{Name: route.NextHop, DestinationCIDR: route.Destination, Blackhole: true})
		}
	}
	for _, port := range f.Ports {
		all = append(all, f.leftAt(port)...)
	}
	return all
}

// leftAt returns what an interrupted change has left at a port: the tag of this cluster, and perhaps address pairs,
// without a Node and a route. They are returned as blackholes, so that Kubernetes deletes them as if the route still
// existed. If the tag stayed, a route to the port that another cluster creates later would count as a route of this
// cluster.
func (f Facts) leftAt(port Port) []*cloudprovider.Route {
	if !port.hasTag(f.ClusterUID) {
		return nil
	}
	hop := ""
	for _, ip := range port.FixedIPs {
		if f.hasNodeAt(ip.Address) || slices.ContainsFunc(f.Routes, func(r Route) bool { return r.NextHop == ip.Address && f.isOfCluster(r) }) {
			return nil
		}
		if found, there := f.Ports.withAddress(f.RouterID, ip.Address); there && found.ID == port.ID {
			hop = ip.Address
		}
	}
	if hop == "" || len(f.ClusterCIDRs) == 0 {
		return nil
	}
	destinations := port.pairsIn(f.ClusterCIDRs)
	if len(destinations) == 0 { // DeleteRoute needs a destination. A single address is never a Pod CIDR of a Node.
		first := f.ClusterCIDRs[0].Addr()
		destinations = []string{netip.PrefixFrom(first, first.BitLen()).String()}
	}
	var all []*cloudprovider.Route
	for _, destination := range destinations {
		all = append(all, &cloudprovider.Route{Name: hop, DestinationCIDR: destination, Blackhole: true})
	}
	return all
}

// needsFreshPorts reports whether a list of ports that may be old is not sufficient, because it might show a new Node
// as gone, or a port that admits Pods as one that does not.
func (f Facts) needsFreshPorts() bool {
	return slices.ContainsFunc(f.Routes, func(route Route) bool {
		if !f.hasNodeAt(route.NextHop) {
			return f.isBlackhole(route)
		}
		return f.isOfCluster(route) && !f.isComplete(route)
	})
}

// isComplete reports whether packets of Pods can leave the next hop, and its port has the tag of this
// cluster. A port that openstack-cloud-controller-manager has changed has no tag yet.
func (f Facts) isComplete(route Route) bool {
	port, there := f.Ports.withAddress(f.RouterID, route.NextHop)
	cidr, err := netip.ParsePrefix(route.Destination)
	return !there || err != nil || port.admits(cidr) && port.hasTag(f.ClusterUID)
}

// isBlackhole reports whether a route of the cluster no longer leads to one of its Nodes. The address of a removed Node
// may now belong to a server outside the cluster, such as a node of another cluster with the same Pod network, whose
// route must stay. So one of these must be true:
//
//   - no port of the router's networks has the address,
//   - the port has the tag of this cluster,
//   - the port has the tag of no cluster, and the destination is the Pod CIDR of another Node of this cluster.
//
// If the project has no port of the router, its next hops are unknown, and no route is a blackhole.
func (f Facts) isBlackhole(route Route) bool {
	if !f.isOfCluster(route) || len(f.Ports.networksOf(f.RouterID)) == 0 {
		return false
	}
	port, there := f.Ports.withAddress(f.RouterID, route.NextHop)
	return !there || port.hasTag(f.ClusterUID) || !port.hasTagOfACluster() && f.isPodCIDR(route.Destination)
}

// Wanted is a route that a Node needs.
type Wanted struct {
	Node *corev1.Node
	Route
	// Port is the port of the next hop. Err is the reason why no route is possible; then both are
	// unknown.
	Port Port
	Err  error
	// Outside is whether the destination is outside the Pod network, so that the route is never removed.
	Outside bool
	// There is whether the router has the route, and Admitted whether the port admits packets of the Pods.
	There, Admitted bool
}

func (f Facts) isOwn(node *corev1.Node) bool { return f.IsOwn == nil || f.IsOwn(node) }

// Wanted returns the routes that the Nodes of this cloud and region need, including those that the router
// has.
func (f Facts) Wanted() (all []Wanted) {
	for _, node := range f.Nodes {
		if !f.isOwn(node) {
			continue
		}
		for _, text := range node.Spec.PodCIDRs {
			w := Wanted{Node: node, Route: Route{Destination: text}}
			cidr, err := netip.ParsePrefix(text)
			w.Err = err
			if err == nil {
				var hop netip.Addr
				w.Port, hop, w.Err = f.Ports.nextHop(f.RouterID, node.Status.Addresses, cidr)
				w.NextHop, w.Outside, w.Admitted = hop.String(), !f.isOfCluster(w.Route), w.Port.admits(cidr)
			}
			w.There = slices.ContainsFunc(f.Routes, func(r Route) bool {
				found, is := podCIDR(node, r.Destination)
				return is && found == text && r.NextHop == w.NextHop
			})
			all = append(all, w)
		}
	}
	return all
}

// Strays returns the routes into the Pod network that do not lead to a Node: blackholes, and those that are kept
// because they may belong to another client.
func (f Facts) Strays() (blackholes, kept []Route) {
	for _, route := range f.Routes {
		switch {
		case f.hasNodeAt(route.NextHop) || !f.isOfCluster(route):
		case f.isBlackhole(route):
			blackholes = append(blackholes, route)
		default:
			kept = append(kept, route)
		}
	}
	return blackholes, kept
}

// Left is a route that a deleted cluster has left, or the rest of one at a port.
type Left struct {
	Route
	// PortID is set if the router no longer has the route, and only address pairs and the tag of the port
	// are left.
	PortID string
	// Keep is the reason why the route may belong to another cluster, or "".
	Keep string
}

// Left returns the routes into the Pod network, if the cluster and all its Nodes are gone.
func (f Facts) Left() (all []Left) {
	blackholes, kept := f.Strays()
	for _, route := range blackholes {
		all = append(all, Left{Route: route})
	}
	for _, route := range kept {
		keep := "the project has no port of router " + f.RouterID + ", so the next hop is unknown"
		if port, there := f.Ports.withAddress(f.RouterID, route.NextHop); there {
			keep = "port " + port.ID + " of its next hop has no tag of this cluster: it may be a node of another one"
		}
		all = append(all, Left{Route: route, Keep: keep})
	}
	for _, port := range f.Ports {
		for _, rest := range f.leftAt(port) {
			all = append(all, Left{Route: Route{Destination: rest.DestinationCIDR, NextHop: rest.Name}, PortID: port.ID})
		}
	}
	return all
}

// isOfCluster reports whether the destination is in the Pod network.
func (f Facts) isOfCluster(route Route) bool {
	cidr, err := netip.ParsePrefix(route.Destination)
	return err == nil && slices.ContainsFunc(f.ClusterCIDRs, func(all netip.Prefix) bool { return contains(all, cidr) })
}

func (f Facts) isPodCIDR(destination string) bool {
	return slices.ContainsFunc(f.Nodes, func(node *corev1.Node) bool {
		_, is := podCIDR(node, destination)
		return is
	})
}

// podCIDR reports whether the destination is a Pod CIDR of the Node, and returns it as the Node spells it: an IPv6 CIDR
// can be written in several ways, and Kubernetes compares texts.
func podCIDR(node *corev1.Node, destination string) (cidr string, is bool) {
	want, err := netip.ParsePrefix(destination)
	i := slices.IndexFunc(node.Spec.PodCIDRs, func(text string) bool {
		have, failure := netip.ParsePrefix(text)
		return err == nil && failure == nil && have == want
	})
	if i < 0 {
		return destination, false
	}
	return node.Spec.PodCIDRs[i], true
}

// nodeOf returns the Node that has the next hop of the route as address, or nil. If a removed Node and its successor
// have the same address, it returns the one that needs the route, if any.
func (f Facts) nodeOf(route Route) (found *corev1.Node) {
	for _, node := range f.Nodes {
		if !hasAddress(node, route.NextHop) {
			continue
		}
		if _, is := podCIDR(node, route.Destination); is {
			return node
		}
		found = node
	}
	return found
}

func (f Facts) hasNodeAt(address string) bool {
	return slices.ContainsFunc(f.Nodes, func(node *corev1.Node) bool { return hasAddress(node, address) })
}

func hasAddress(node *corev1.Node, address string) bool {
	return slices.ContainsFunc(node.Status.Addresses, func(a corev1.NodeAddress) bool { return a.Address == address })
}

// ports are the ports of the project.
type ports []Port

// withAddress returns the port with the address in a network of the router.
func (all ports) withAddress(routerID, address string) (Port, bool) {
	networks := all.networksOf(routerID)
	i := slices.IndexFunc(all, func(p Port) bool {
		return slices.Contains(networks, p.NetworkID) && p.DeviceID != routerID && p.has(address)
	})
	if i < 0 {
		return Port{}, false
	}
	return all[i], true
}

// networksOf returns the networks in which the router has an interface.
func (all ports) networksOf(routerID string) []string {
	var networks []string
	for _, p := range all {
		if p.DeviceID == routerID {
			networks = append(networks, p.NetworkID)
		}
	}
	return networks
}

// ErrNoAddress is the error for a Node that has no address that could be a next hop.
var ErrNoAddress = errors.New("it has no InternalIP of the family of its Pod CIDR")

// nextHop returns the first internal address of a Node, in the family of the CIDR, that the router reaches, and its
// port.
func (all ports) nextHop(routerID string, addresses []corev1.NodeAddress, cidr netip.Prefix) (Port, netip.Addr, error) {
	var candidates []string
	for _, a := range addresses {
		ip, err := netip.ParseAddr(a.Address)
		if err != nil || a.Type != corev1.NodeInternalIP || ip.Is4() != cidr.Addr().Is4() {
			continue
		}
		if port, there := all.withAddress(routerID, a.Address); there {
			return port, ip, nil
		}
		candidates = append(candidates, a.Address)
	}
	if candidates == nil {
		return Port{}, netip.Addr{}, fmt.Errorf("%w %s", ErrNoAddress, cidr)
	}
	return Port{}, netip.Addr{}, fmt.Errorf("no port of the project in a network of router %s has its address %s: check router-id of [Route] in cloud.conf",
		routerID, strings.Join(candidates, " or "))
}

func (p Port) has(address string) bool {
	return slices.ContainsFunc(p.FixedIPs, func(ip FixedIP) bool { return ip.Address == address })
}

// admits reports whether the port admits packets from the CIDR.
func (p Port) admits(cidr netip.Prefix) bool {
	if p.PortSecurity != nil && !*p.PortSecurity {
		return true
	}
	return slices.ContainsFunc(p.AddressPairs, func(pair AddressPair) bool {
		all, err := parseCIDR(pair.Address)
		return err == nil && contains(all, cidr) && p.sendsAs(pair)
	})
}

// sendsAs reports whether the pair is for packets with the MAC address of the port.
func (p Port) sendsAs(pair AddressPair) bool {
	return pair.MAC == "" || p.MAC == "" || strings.EqualFold(pair.MAC, p.MAC)
}

// pairsIn returns the address pairs of the port that can be Pod CIDRs of a Node. A pair for the whole Pod network, or
// for a single address, was set by another client.
func (p Port) pairsIn(clusterCIDRs []netip.Prefix) []string {
	var in []string
	for _, pair := range p.AddressPairs {
		part, err := netip.ParsePrefix(pair.Address)
		if err != nil || part.IsSingleIP() || !p.sendsAs(pair) {
			continue
		}
		if slices.ContainsFunc(clusterCIDRs, func(all netip.Prefix) bool { return contains(all, part) && all.Bits() < part.Bits() }) {
			in = append(in, pair.Address)
		}
	}
	return in
}

// without returns the address pairs of the port except that of the CIDR.
func (p Port) without(cidr string) []AddressPair {
	return slices.DeleteFunc(slices.Clone(p.AddressPairs), func(pair AddressPair) bool { return pair.Address == cidr && p.sendsAs(pair) })
}

// parseCIDR parses a CIDR or an address.
func parseCIDR(text string) (netip.Prefix, error) {
	if ip, err := netip.ParseAddr(text); err == nil {
		return netip.PrefixFrom(ip, ip.BitLen()), nil
	}
	return netip.ParsePrefix(text)
}

// contains reports whether all addresses of part are in all.
func contains(all, part netip.Prefix) bool {
	return all.Bits() <= part.Bits() && all.Contains(part.Addr())
}

// tagPrefix precedes the uid of the cluster in the tag of ports to which it has routes.
const tagPrefix = "kube-octavia.routes="

func clusterTag(uid string) string { return tagPrefix + uid }

func (p Port) hasTag(clusterUID string) bool { return slices.Contains(p.Tags, clusterTag(clusterUID)) }

func (p Port) hasTagOfACluster() bool {
	return slices.ContainsFunc(p.Tags, func(tag string) bool { return strings.HasPrefix(tag, tagPrefix) })
}
