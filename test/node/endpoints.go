// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/kube-octavia/kube-octavia/cloudsim/dataplane"
)

// How long the kernel's connection tracking, which kube-proxy relies on,
// remembers a silent connection or flow.
const (
	tcpIdle = 24 * time.Hour
	udpIdle = 3 * time.Minute
)

// forwarding returns what the node does for the Service, as a load balancer: a listener for each
// NodePort that has endpoints.
func forwarding(svc *corev1.Service, all []*discoveryv1.EndpointSlice, nd Node, pods podNetwork) dataplane.LoadBalancer {
	local := svc.Spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
	lb := dataplane.LoadBalancer{
		Addresses: []netip.Addr{nd.Address},
		// With the policy Cluster the Pod sees the node, because kube-proxy
		// masquerades; with Local it sees the peer.
		PreserveSource: local,
		Front:          place(nd.Namespace),
		Back:           pods.from(nd.Namespace),
	}
	for _, port := range svc.Spec.Ports {
		if port.NodePort == 0 || port.Protocol != corev1.ProtocolTCP && port.Protocol != corev1.ProtocolUDP {
			continue
		}
		members := endpoints(all, port, local, nd.Name, pods)
		if len(members) == 0 {
			continue
		}
		id := fmt.Sprintf("%s-%d", port.Protocol, port.NodePort)
		pool := &dataplane.Pool{ID: id, Protocol: string(port.Protocol), Algorithm: "ROUND_ROBIN", Members: members}
		if svc.Spec.SessionAffinity == corev1.ServiceAffinityClientIP {
			pool.SourceIPPersistence = true
			pool.PersistenceTimeout = affinityTimeout(svc)
		}
		idle := tcpIdle
		if port.Protocol == corev1.ProtocolUDP {
			idle = udpIdle
		}
		lb.Listeners = append(lb.Listeners, dataplane.Listener{
			ID: id, Protocol: string(port.Protocol), Port: int(port.NodePort), ConnectionLimit: -1,
			ClientTimeout: idle, MemberTimeout: idle, Pool: pool,
		})
	}
	return lb
}

func affinityTimeout(svc *corev1.Service) time.Duration {
	if c := svc.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
		return time.Duration(*c.ClientIP.TimeoutSeconds) * time.Second
	}
	return 3 * time.Hour // the API's default
}

// endpoints returns the members for one port: the ready endpoints, or if there are none, those that
// serve while they terminate.
func endpoints(all []*discoveryv1.EndpointSlice, port corev1.ServicePort, local bool, nodeName string, pods podNetwork) []dataplane.Member {
	var ready, terminating []dataplane.Member
	for _, s := range all {
		number, ok := slicePort(s, port)
		if !ok {
			continue
		}
		for _, e := range s.Endpoints {
			if local && !onNode(e, nodeName) {
				continue
			}
			m, ok := memberOf(e, number, pods)
			switch {
			case !ok:
			case isReady(e):
				ready = append(ready, m)
			case isTrue(e.Conditions.Serving) && isTrue(e.Conditions.Terminating):
				terminating = append(terminating, m)
			}
		}
	}
	chosen := ready
	if len(chosen) == 0 {
		chosen = terminating
	}
	// An endpoint may be in two slices for a moment.
	slices.SortFunc(chosen, func(a, b dataplane.Member) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(chosen, func(a, b dataplane.Member) bool { return a.ID == b.ID })
}

// slicePort finds the port in the slice by name and protocol.
func slicePort(s *discoveryv1.EndpointSlice, port corev1.ServicePort) (int, bool) {
	if s.AddressType != discoveryv1.AddressTypeIPv4 {
		return 0, false
	}
	for _, p := range s.Ports {
		name, protocol := "", corev1.ProtocolTCP
		if p.Name != nil {
			name = *p.Name
		}
		if p.Protocol != nil {
			protocol = *p.Protocol
		}
		if name == port.Name && protocol == port.Protocol && p.Port != nil {
			return int(*p.Port), true
		}
	}
	return 0, false
}

func memberOf(e discoveryv1.Endpoint, port int, pods podNetwork) (dataplane.Member, bool) {
	if len(e.Addresses) == 0 {
		return dataplane.Member{}, false
	}
	pod, err := netip.ParseAddr(e.Addresses[0])
	if err != nil {
		return dataplane.Member{}, false
	}
	at, ok := pods.reachedAt(pod)
	return dataplane.Member{
		ID:      pod.String() + ":" + strconv.Itoa(port),
		Address: at, Port: port, Weight: 1, AdminUp: true,
	}, ok
}

// isReady treats an endpoint without this condition as ready, as the API requires.
func isReady(e discoveryv1.Endpoint) bool {
	return e.Conditions.Ready == nil || *e.Conditions.Ready
}

func isTrue(b *bool) bool { return b != nil && *b }

func onNode(e discoveryv1.Endpoint, name string) bool {
	return e.NodeName != nil && *e.NodeName == name
}
