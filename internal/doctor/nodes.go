// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/target"
)

// nodePorts returns the ports with the addresses of each node, by its name.
func (f Facts) nodePorts() map[string][]Port {
	ports := map[string][]Port{}
	for _, n := range f.Cluster.Nodes.Value {
		addresses := nodeAddresses([]corev1.Node{n})
		server, _ := target.ServerID(n.Spec.ProviderID) // without one, the addresses decide
		for _, p := range f.Cloud.Network.Ports.Value {
			has := slices.ContainsFunc(p.FixedIPs, func(ip IP) bool {
				a, err := netip.ParseAddr(ip.Address)
				return err == nil && slices.Contains(addresses, a)
			})
			if has && (server == "" || p.DeviceID == server) {
				ports[n.Name] = append(ports[n.Name], p)
			}
		}
	}
	return ports
}

// nodeAddresses returns the addresses of the nodes.
func nodeAddresses(nodes []corev1.Node) (all []netip.Addr) {
	for _, n := range nodes {
		for _, a := range n.Status.Addresses {
			if address, err := netip.ParseAddr(a.Address); err == nil && a.Type == corev1.NodeInternalIP {
				all = append(all, address)
			}
		}
	}
	return all
}
