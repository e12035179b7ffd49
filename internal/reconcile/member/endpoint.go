// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// Endpoint is an address and port in an EndpointSlice that takes traffic: of a Pod, or of anything that a person wrote.
type Endpoint struct {
	// Pod is the name of the Pod, or "" if the address is not of a Pod.
	Pod     string
	Address netip.Addr
	Port    int
	// Draining endpoints still serve and are about to end: they get no new connections.
	Draining bool
}

// Key is unique among the endpoints of a port.
func (e Endpoint) Key() netip.AddrPort { return netip.AddrPortFrom(e.Address, uint16(e.Port)) }

// Endpoints returns the endpoints of a Service's port in slices of one address family, sorted by address and port, each
// once. Gated are the addresses of Pods, by their name, that are ready but for a readiness gate that waits for their
// member: they count as ready. An endpoint at another address is of another Pod that had the name, or gets it.
//
// An endpoint that is terminating and still serves is Draining. If there are only such, they are not: they get the
// traffic, as from kube-proxy (KEP-1669).
func Endpoints(slicesOfFamily []discoveryv1.EndpointSlice, port corev1.ServicePort, gated map[string][]netip.Addr) []Endpoint {
	found := map[netip.AddrPort]Endpoint{}
	ready := false
	for i := range slicesOfFamily {
		s := &slicesOfFamily[i]
		number := slicePort(s, port)
		if number == 0 {
			continue
		}
		for _, e := range s.Endpoints {
			endpoint, takes := endpointOf(e, s.AddressType, number, gated)
			if !takes {
				continue
			}
			// While an endpoint moves from slice to slice, both may have it.
			if other, twice := found[endpoint.Key()]; twice && !other.Draining {
				continue
			}
			found[endpoint.Key()] = endpoint
			ready = ready || !endpoint.Draining
		}
	}
	all := make([]Endpoint, 0, len(found))
	for _, e := range found {
		e.Draining = e.Draining && ready
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Endpoint) int { return cmp.Or(a.Address.Compare(b.Address), cmp.Compare(a.Port, b.Port)) })
	return all
}

// AnyEndpoint reports whether the slice has an endpoint of the port that takes traffic: one that is ready, or one that still
// serves while it ends.
func AnyEndpoint(s discoveryv1.EndpointSlice, port corev1.ServicePort) bool {
	number := slicePort(&s, port)
	return number != 0 && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		_, takes := endpointOf(e, s.AddressType, number, nil)
		return takes
	})
}

// AnyReady is AnyEndpoint for any port.
func AnyReady(s *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
		_, takes := endpointOf(e, s.AddressType, 1, nil)
		return takes
	})
}

// slicePort returns the number that a slice has for the Service's port, found by name, or 0. Each slice has its own: the
// same name may mean different numbers in different Pods.
func slicePort(s *discoveryv1.EndpointSlice, port corev1.ServicePort) int {
	for _, p := range s.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if p.Port != nil && *p.Port > 0 && name == port.Name && protocol == cmp.Or(port.Protocol, corev1.ProtocolTCP) {
			return int(*p.Port)
		}
	}
	return 0
}

// Pods returns the names of the Pods that have an endpoint of a Service's port in the slices, whether or not it takes
// traffic.
func Pods(slicesOfFamily []discoveryv1.EndpointSlice, port corev1.ServicePort) map[string]bool {
	names := map[string]bool{}
	for i := range slicesOfFamily {
		if slicePort(&slicesOfFamily[i], port) == 0 {
			continue
		}
		for _, e := range slicesOfFamily[i].Endpoints {
			if name := podOf(e); name != "" {
				names[name] = true
			}
		}
	}
	return names
}

// podOf returns the name of the Pod of an endpoint, or "".
func podOf(e discoveryv1.Endpoint) string {
	if e.TargetRef != nil && (e.TargetRef.Kind == "" || e.TargetRef.Kind == "Pod") {
		return e.TargetRef.Name
	}
	return ""
}

// endpointOf reports whether an endpoint of a slice takes traffic. The API says to use its first address only.
func endpointOf(e discoveryv1.Endpoint, addressType discoveryv1.AddressType, port int, gated map[string][]netip.Addr) (_ Endpoint, takes bool) {
	if len(e.Addresses) == 0 {
		return Endpoint{}, false
	}
	address, err := netip.ParseAddr(e.Addresses[0])
	if err != nil || address.Zone() != "" || address.Is4In6() || address.Is4() != (addressType == discoveryv1.AddressTypeIPv4) ||
		!usable(address, netip.Prefix{}) {
		return Endpoint{}, false
	}
	pod := podOf(e)
	// The API defines nil as ready, serving and not terminating.
	ready := ptr.Deref(e.Conditions.Ready, true)
	terminating := ptr.Deref(e.Conditions.Terminating, false)
	serving := ptr.Deref(e.Conditions.Serving, true)
	switch {
	case ready:
		return Endpoint{Pod: pod, Address: address, Port: port}, true
	case terminating && serving:
		return Endpoint{Pod: pod, Address: address, Port: port, Draining: true}, true
	case !terminating && pod != "" && slices.Contains(gated[pod], address):
		return Endpoint{Pod: pod, Address: address, Port: port}, true
	}
	return Endpoint{}, false
}
