// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"math/rand/v2"
	"net"
	"net/netip"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
	"github.com/kube-octavia/kube-octavia/test/netns"
)

// podAddresses are those that Pods have.
var podAddresses = netip.MustParsePrefix("10.240.0.0/12")

// Loopback returns the loopback address on which a Pod with the address listens where Pods have no network namespace.
// Any other address stays as it is.
func Loopback(pod netip.Addr) netip.Addr {
	if at, isPod := (podNetwork{}).reachedAt(pod); isPod {
		return at
	}
	return pod
}

// podNetwork is where Pods listen: in a network namespace at their addresses,
// or, without one, on loopback addresses instead. With ports each Pod is in the
// namespace of one of them.
type podNetwork struct {
	namespace string
	ports     []PodPort
}

// inNamespace reports whether Pods listen at the addresses that they have.
func (p podNetwork) inNamespace() bool { return p.namespace != "" || len(p.ports) > 0 }

// from returns where nodes forward to Pods: in the Pods' namespace, or, if each Pod has its own, in
// that of the node.
func (p podNetwork) from(node string) dataplane.Place {
	if len(p.ports) > 0 {
		return place(node)
	}
	return place(p.namespace)
}

// candidates are places for a new Pod, to be tried in turn: free ports, or random
// addresses.
func (p podNetwork) candidates(taken func(netip.Addr) bool) []PodPort {
	var all []PodPort
	for _, port := range p.ports {
		if !taken(port.Address) {
			all = append(all, port)
		}
	}
	const attempts = 20 // an address in use is a matter of chance: there are a million
	for len(p.ports) == 0 && len(all) < attempts {
		all = append(all, PodPort{p.namespace, netip.AddrFrom4([4]byte{10, byte(240 + rand.IntN(16)), byte(rand.IntN(256)), byte(1 + rand.IntN(254))})})
	}
	return all
}

// reachedAt returns the address at which a Pod with the address listens; false means that the
// address is not of the simulated pod network.
func (p podNetwork) reachedAt(pod netip.Addr) (netip.Addr, bool) {
	if !podAddresses.Contains(pod) {
		return netip.Addr{}, false
	}
	if p.inNamespace() {
		return pod, true
	}
	b := pod.As4()
	b[0] = 127
	return netip.AddrFrom4(b), true
}

// place opens sockets in the network namespace.
func place(namespace string) dataplane.Place {
	if namespace == "" {
		return nil
	}
	return func(open func() error) error { return netns.In(namespace, open) }
}

// listen opens a TCP port in the network namespace.
func listen(namespace, address string) (ln net.Listener, err error) {
	err = netns.In(namespace, func() (err error) {
		ln, err = net.Listen("tcp", address)
		return err
	})
	return ln, err
}

// listenPacket opens a UDP port in the network namespace.
func listenPacket(namespace, address string) (c net.PacketConn, err error) {
	err = netns.In(namespace, func() (err error) {
		c, err = net.ListenPacket("udp", address)
		return err
	})
	return c, err
}
