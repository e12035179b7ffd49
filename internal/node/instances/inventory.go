// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Inventory has the servers and ports of a project.
type Inventory struct {
	// Servers holds the servers by id.
	Servers map[string]Server
	// Ports holds the ports by id.
	Ports map[string]Port
	// Networks holds the names of networks by id. It is empty if no port is the parent of a trunk.
	Networks map[string]string
}

// Server is a server of Nova, with microversion 2.47.
type Server struct {
	ID     string `json:"id"`
	Name   string `json:"name"`
	Status string `json:"status"`
	// HostID identifies the physical host without revealing it. It is empty while the server has no
	// host.
	HostID           string            `json:"hostId"`
	AvailabilityZone string            `json:"OS-EXT-AZ:availability_zone"`
	AccessIPv4       string            `json:"accessIPv4"`
	AccessIPv6       string            `json:"accessIPv6"`
	Metadata         map[string]string `json:"metadata"`
	Flavor           Flavor            `json:"flavor"`
	// Addresses holds the addresses by the names of networks.
	Addresses map[string][]Address `json:"addresses"`
}

// Flavor is the flavor of a server at the time when the server was created or resized.
type Flavor struct {
	Name string `json:"original_name"`
}

// Address is an address of a server.
type Address struct {
	Address string `json:"addr"`
	// Type is fixed or floating.
	Type string `json:"OS-EXT-IPS:type"`
}

// Port is a port of Neutron.
type Port struct {
	ID        string    `json:"id"`
	DeviceID  string    `json:"device_id"`
	NetworkID string    `json:"network_id"`
	Status    string    `json:"status"`
	FixedIPs  []FixedIP `json:"fixed_ips"`
	// Trunk is set if the port is the parent of a trunk.
	Trunk *Trunk `json:"trunk_details"`
}

// FixedIP is an address of a port.
type FixedIP struct {
	Address string `json:"ip_address"`
}

// Trunk is a trunk. Through the parent port, a server is connected to the networks of the subports.
type Trunk struct {
	SubPorts []SubPort `json:"sub_ports"`
}

// SubPort is a port of a trunk.
type SubPort struct {
	PortID string `json:"port_id"`
}

// IsStopped reports whether the server does not run, because it was shut down or shelved.
func (s Server) IsStopped() bool {
	return slices.Contains([]string{"SHUTOFF", "SHELVED", "SHELVED_OFFLOADED"}, s.Status)
}

// IsDeleted reports whether the server is deleted from the view of users. In a cloud with reclaim_instance_interval,
// Nova keeps a deleted server for a while as SOFT_DELETED: it is not in lists, but can be read by id.
func (s Server) IsDeleted() bool { return s.Status == "SOFT_DELETED" || s.Status == "DELETED" }

// NeverRan reports whether the server never ran on a host: it is being built, or the build has
// failed.
func (s Server) NeverRan() bool {
	return s.HostID == "" && (s.Status == "BUILD" || s.Status == "ERROR")
}

// Named returns the servers that may be the one with the name: those that are not deleted. Servers that never ran count
// only if there are no others. Nova and Kubernetes treat upper and lower case differently, so case matters only if a
// server has exactly the name.
func (inv Inventory) Named(name string) (found []Server) {
	for _, server := range inv.Servers {
		if strings.EqualFold(server.Name, name) && !server.IsDeleted() {
			found = append(found, server)
		}
	}
	found = preferred(found, func(s Server) bool { return !s.NeverRan() })
	return preferred(found, func(s Server) bool { return s.Name == name })
}

// preferred returns the servers that are better, or all servers if none is better.
func preferred(all []Server, better func(Server) bool) []Server {
	some := slices.DeleteFunc(slices.Clone(all), func(s Server) bool { return !better(s) })
	if len(some) == 0 {
		return all
	}
	return some
}

// ByName returns the only server with the name.
func (inv Inventory) ByName(name string) (Server, error) {
	found := inv.Named(name)
	switch len(found) {
	case 0:
		return Server{}, fmt.Errorf("no server of the project is named %s: a Node gets its provider id from the server with its name; "+
			"rename the server, or set --hostname-override or --provider-id of kubelet", name)
	case 1:
		return found[0], nil
	}
	var ids []string
	for _, server := range found {
		ids = append(ids, server.ID)
	}
	slices.Sort(ids)
	return Server{}, fmt.Errorf("%d servers of the project are named %s, so it is unknown which one is the Node: rename or delete all but one of %s",
		len(found), name, strings.Join(ids, ", "))
}

// lost returns the text for a Node that is ready although its server no longer exists, with what the user must do, and
// the server that has the name of the Node now, if there is one. server is the one of the Node's id, if Nova still
// shows it as deleted.
func (inv Inventory) lost(name string, id ProviderID, server Server) (note string, successor runtime.Object) {
	what := fmt.Sprintf("Nova has no server %s, the one of the Node's provider id", id.Server)
	if server.IsDeleted() {
		what = fmt.Sprintf("server %s of the Node's provider id is deleted (%s)", id.Server, server.Status)
	}
	if others := inv.Named(name); len(others) > 0 {
		note = fmt.Sprintf("%s, and server %s has the name of the Node: it was probably created again. The Node keeps the provider id, addresses and labels of the old one, "+
			"which Kubernetes does not change, so load balancers may not reach the new one. Delete the Node with kubectl delete node %s, and restart kubelet on the server, which registers it again",
			what, others[0].ID, name)
		return note, &corev1.ObjectReference{Kind: "Server", Name: others[0].ID}
	}
	note = fmt.Sprintf("%s, but the Node is ready. Controller node-lifecycle deletes it as soon as it is not ready. If the server is in another project, correct [Global] of cloud.conf; "+
		"if it was created again under another name, delete the Node with kubectl delete node %s", what, name)
	return note, nil
}

// HasServerOfAny reports whether a server belongs to one of the Nodes by its provider id.
func (inv Inventory) HasServerOfAny(nodes []*corev1.Node) bool {
	return slices.ContainsFunc(nodes, func(node *corev1.Node) bool {
		id, err := ParseProviderID(node.Spec.ProviderID)
		_, there := inv.Servers[id.Server]
		return err == nil && there
	})
}

// ports returns the ports of a server, ordered by id, as in Neutron's lists.
func (inv Inventory) ports(serverID string) []Port {
	var all []Port
	for _, port := range inv.Ports {
		if port.DeviceID == serverID {
			all = append(all, port)
		}
	}
	slices.SortFunc(all, func(a, b Port) int { return strings.Compare(a.ID, b.ID) })
	return all
}
