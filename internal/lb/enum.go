// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

// Transport is the layer-4 protocol of a port, as Kubernetes names it.
type Transport string

// The transports of a Service port.
const (
	TCP  Transport = "TCP"
	UDP  Transport = "UDP"
	SCTP Transport = "SCTP"
)

// ListenerProtocol is Octavia's protocol of a listener.
type ListenerProtocol string

// The listener protocols that load balancers are built from or found with.
const (
	ListenerTCP             ListenerProtocol = "TCP"
	ListenerUDP             ListenerProtocol = "UDP"
	ListenerSCTP            ListenerProtocol = "SCTP"
	ListenerHTTP            ListenerProtocol = "HTTP"
	ListenerHTTPS           ListenerProtocol = "HTTPS"
	ListenerTerminatedHTTPS ListenerProtocol = "TERMINATED_HTTPS"
	ListenerPrometheus      ListenerProtocol = "PROMETHEUS"
)

// Transport returns the layer-4 protocol on which the listener takes its port:
// everything but UDP and SCTP runs over TCP.
func (p ListenerProtocol) Transport() Transport {
	switch p {
	case ListenerUDP, ListenerSCTP:
		return Transport(p)
	default:
		return TCP
	}
}

// PoolProtocol is Octavia's protocol of a pool.
type PoolProtocol string

// The pool protocols that pools are built with.
const (
	PoolTCP  PoolProtocol = "TCP"
	PoolUDP  PoolProtocol = "UDP"
	PoolSCTP PoolProtocol = "SCTP"
	PoolHTTP PoolProtocol = "HTTP"
	// PoolProxy and PoolProxyV2 tell members who the client is, by the PROXY protocol,
	// version 1 or 2.
	PoolProxy   PoolProtocol = "PROXY"
	PoolProxyV2 PoolProtocol = "PROXYV2"
)

// Proxy reports whether members of the pool learn the client's address by the PROXY
// protocol.
func (p PoolProtocol) Proxy() bool { return p == PoolProxy || p == PoolProxyV2 }

// The headers that listeners are made to add to requests.
const (
	// HeaderForwardedFor has the client's address.
	HeaderForwardedFor = "X-Forwarded-For"
	// HeaderForwardedProto has the protocol that the client spoke.
	HeaderForwardedProto = "X-Forwarded-Proto"
)

// Algorithm is Octavia's lb_algorithm of a pool.
type Algorithm string

// Octavia's algorithms. Provider ovn has SourceIPPort only, which needs API
// version 2.13.
const (
	RoundRobin       Algorithm = "ROUND_ROBIN"
	LeastConnections Algorithm = "LEAST_CONNECTIONS"
	SourceIP         Algorithm = "SOURCE_IP"
	SourceIPPort     Algorithm = "SOURCE_IP_PORT"
)

// MonitorType is Octavia's type of a health monitor. It cannot be changed.
type MonitorType string

// The monitor types that monitors are built with.
const (
	MonitorTCP        MonitorType = "TCP"
	MonitorHTTP       MonitorType = "HTTP"
	MonitorUDPConnect MonitorType = "UDP-CONNECT"
	MonitorSCTP       MonitorType = "SCTP"
)

// ProvisioningStatus is Octavia's provisioning_status.
type ProvisioningStatus string

// Octavia's provisioning statuses.
const (
	Active        ProvisioningStatus = "ACTIVE"
	PendingCreate ProvisioningStatus = "PENDING_CREATE"
	PendingUpdate ProvisioningStatus = "PENDING_UPDATE"
	PendingDelete ProvisioningStatus = "PENDING_DELETE"
	Error         ProvisioningStatus = "ERROR"
	Deleted       ProvisioningStatus = "DELETED"
)

// Pending reports whether Octavia is at work, and refuses every write meanwhile.
func (s ProvisioningStatus) Pending() bool {
	return s == PendingCreate || s == PendingUpdate || s == PendingDelete
}
