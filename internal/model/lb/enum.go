// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package lb

// Transport is the layer-4 protocol of a port, as in Kubernetes.
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

// Transport returns the layer-4 protocol of the listener: TCP for all protocols but UDP and SCTP.
func (p ListenerProtocol) Transport() Transport {
	if p == ListenerUDP || p == ListenerSCTP {
		return Transport(p)
	}
	return TCP
}

// PoolProtocol is Octavia's protocol of a pool.
type PoolProtocol string

// The pool protocols that pools are built with.
const (
	PoolTCP  PoolProtocol = "TCP"
	PoolUDP  PoolProtocol = "UDP"
	PoolSCTP PoolProtocol = "SCTP"
	PoolHTTP PoolProtocol = "HTTP"
	// PoolProxy and PoolProxyV2 pass the client address to members with the PROXY protocol, version 1 or 2.
	PoolProxy   PoolProtocol = "PROXY"
	PoolProxyV2 PoolProtocol = "PROXYV2"
)

// Transport returns the layer-4 protocol of the pool: TCP for all protocols but UDP and SCTP.
func (p PoolProtocol) Transport() Transport {
	if p == PoolUDP || p == PoolSCTP {
		return Transport(p)
	}
	return TCP
}

// Proxy reports whether members get the client address with the PROXY protocol.
func (p PoolProtocol) Proxy() bool { return p == PoolProxy || p == PoolProxyV2 }

// The headers that listeners add to requests.
const (
	// HeaderForwardedFor contains the client's address.
	HeaderForwardedFor = "X-Forwarded-For"
	// HeaderForwardedProto contains the client's protocol.
	HeaderForwardedProto = "X-Forwarded-Proto"
)

// Algorithm is Octavia's lb_algorithm of a pool.
type Algorithm string

// Octavia's algorithms. Provider ovn supports SourceIPPort, which needs API version 2.13, and since its release 11
// SourceIP.
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

// Pending reports whether Octavia is working on the object, and meanwhile refuses writes.
func (s ProvisioningStatus) Pending() bool {
	return s == PendingCreate || s == PendingUpdate || s == PendingDelete
}
