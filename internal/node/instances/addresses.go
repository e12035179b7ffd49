// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	cloudnodeutil "k8s.io/cloud-provider/node/helpers"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// hostnameKey is the key of a server's metadata with the host name of its Node.
const hostnameKey = "hostname"

// Addresses returns the addresses of a Node in the order of openstack-cloud-controller-manager, because programs use the
// first address of a type:
//
//  1. the fixed addresses of its active ports, which are internal,
//  2. the server's access addresses, which are external,
//  3. the host name in the server's metadata,
//  4. the addresses that Nova lists for each network, ordered by the name of the network, and those of subports of trunks.
//
// An address in a public network is external, not internal. If internal networks are configured, addresses of all other
// networks are omitted. Finally, addresses are sorted by the preferred CIDRs.
func (inv Inventory) Addresses(server Server, networking config.Networking) []corev1.NodeAddress {
	list := addressList{networking: networking}
	ports := inv.ports(server.ID)
	for _, port := range ports {
		if port.Status != "ACTIVE" {
			continue
		}
		for _, ip := range port.FixedIPs {
			list.add(corev1.NodeInternalIP, ip.Address)
		}
	}
	for _, address := range []string{server.AccessIPv4, server.AccessIPv6} {
		if address != "" {
			list.add(corev1.NodeExternalIP, address)
		}
	}
	if name := server.Metadata[hostnameKey]; name != "" {
		cloudnodeutil.AddToNodeAddresses(&list.addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: name})
	}
	byNetwork := inv.byNetwork(server, ports)
	for _, network := range slices.Sorted(maps.Keys(byNetwork)) {
		for _, address := range byNetwork[network] {
			list.addOfNetwork(network, address)
		}
	}
	list.sort()
	return list.addresses
}

// isIP reports whether the entry is an IP address. A host name may not resolve to anything.
func isIP(a corev1.NodeAddress) bool {
	return a.Type == corev1.NodeInternalIP || a.Type == corev1.NodeExternalIP
}

// byNetwork returns the addresses that Nova lists and those of the subports of trunks, by the names of the networks.
func (inv Inventory) byNetwork(server Server, ports []Port) map[string][]Address {
	all := map[string][]Address{}
	for network, addresses := range server.Addresses {
		all[network] = slices.Clone(addresses)
	}
	for _, port := range ports {
		if port.Trunk == nil {
			continue
		}
		for _, sub := range port.Trunk.SubPorts {
			subport, there := inv.Ports[sub.PortID]
			network, named := inv.Networks[subport.NetworkID]
			if !there || !named {
				continue
			}
			for _, ip := range subport.FixedIPs {
				all[network] = append(all[network], Address{Address: ip.Address, Type: "fixed"})
			}
		}
	}
	return all
}

// addressList is a list of addresses under construction.
type addressList struct {
	networking config.Networking
	addresses  []corev1.NodeAddress
}

// add adds an address, unless the list has it with this type, or it has a family that Nodes do not
// get.
func (l *addressList) add(kind corev1.NodeAddressType, address string) {
	ip, err := netip.ParseAddr(address)
	if err != nil || ip.Is6() && l.networking.IPv6Disabled {
		return
	}
	cloudnodeutil.AddToNodeAddresses(&l.addresses, corev1.NodeAddress{Type: kind, Address: address})
}

// addOfNetwork adds an address of a network, with the type that the network determines.
func (l *addressList) addOfNetwork(network string, address Address) {
	internal := l.networking.InternalNetworks
	switch {
	case address.Type == "floating":
		l.add(corev1.NodeExternalIP, address.Address)
	case slices.Contains(l.networking.PublicNetworks, network):
		l.remove(address.Address)
		l.add(corev1.NodeExternalIP, address.Address)
	case len(internal) == 0 || slices.Contains(internal, network):
		l.add(corev1.NodeInternalIP, address.Address)
	default:
		l.remove(address.Address)
	}
}

func (l *addressList) remove(address string) {
	l.addresses = slices.DeleteFunc(l.addresses, func(a corev1.NodeAddress) bool { return a.Address == address })
}

// sort puts the addresses in preferred CIDRs first, those in one CIDR in ascending order. The others keep their order.
func (l *addressList) sort() {
	preferred := l.networking.SortOrder
	if len(preferred) == 0 {
		return
	}
	rank := func(a corev1.NodeAddress) (int, netip.Addr) {
		ip, err := netip.ParseAddr(a.Address)
		i := slices.IndexFunc(preferred, func(cidr netip.Prefix) bool { return err == nil && cidr.Contains(ip) })
		if i < 0 {
			return len(preferred), netip.Addr{}
		}
		return i, ip
	}
	slices.SortStableFunc(l.addresses, func(a, b corev1.NodeAddress) int {
		rankA, ipA := rank(a)
		rankB, ipB := rank(b)
		return cmp.Or(cmp.Compare(rankA, rankB), ipA.Compare(ipB))
	})
}
