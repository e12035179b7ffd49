// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"net/netip"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/reconcile/member"
)

// nodePorts returns the ports with the addresses of each node, by the node's name.
func (f facts) nodePorts() map[string][]Port {
	with := map[netip.Addr][]Port{}
	for _, p := range f.Cloud.Network.Ports.Value {
		for _, ip := range p.FixedIPs {
			if a, err := netip.ParseAddr(ip.Address); err == nil {
				with[a] = append(with[a], p)
			}
		}
	}
	ports := map[string][]Port{}
	for _, n := range f.Cluster.Nodes.Value {
		server, _ := member.ServerID(n.Spec.ProviderID) // without one, ports are found by address
		for _, a := range nodeAddresses([]corev1.Node{n}) {
			for _, p := range with[a] {
				if server == "" || p.DeviceID == server {
					ports[n.Name] = append(ports[n.Name], p)
				}
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
