// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package dataplane

import (
	"net/netip"
	"time"
)

// Place runs open, which opens one socket, in the right place, such as a network namespace. Nil
// means the process's own.
type Place func(open func() error) error

// do runs open.
func (p Place) do(open func() error) error {
	if p == nil {
		return open()
	}
	return p(open)
}

// LoadBalancer is everything that the data plane needs to know about one load balancer: where it
// listens and to which members it forwards.
type LoadBalancer struct {
	// ID is the load balancer's Octavia id.
	ID string
	// Addresses are the VIPs and their floating IPs, all of them loopback addresses. A listener
	// listens on each of them that is not in its Lacks.
	Addresses []netip.Addr
	// Moved are floating IPs of other load balancers. If one of them belonged to this load balancer
	// before, its open connections continue, because the router tracks them, and no client finds a
	// closed port during the move.
	Moved []netip.Addr
	// PreserveSource dials members from the client's own address, as the ovn
	// provider does; otherwise members see an address of the load balancer,
	// as with amphorae.
	PreserveSource bool
	// Front is where the listeners' sockets are opened, and Back where members
	// are dialled. With a Front the Addresses, and with a Back those of the
	// members, may be other than loopback addresses. Monitors always check from the process's own
	// place, regardless of Back.
	Front, Back Place
	Listeners   []Listener
}

// Listener is one open port.
type Listener struct {
	ID string
	// Protocol is Octavia's listener protocol: TCP, UDP, HTTP, HTTPS (passed
	// through as TCP), TERMINATED_HTTPS (with TLS), PROMETHEUS (which has no pool).
	Protocol string
	Port     int
	// ConnectionLimit is the number of connections served at once; -1 is no
	// limit.
	ConnectionLimit int
	// AllowedCIDRs are the sources that are served; empty means all.
	AllowedCIDRs []netip.Prefix
	// XForwardedFor inserts the client's address into HTTP requests, XForwardedPort the listener's
	// port and XForwardedProto http or https.
	XForwardedFor, XForwardedPort, XForwardedProto bool
	// TLS is nil for a listener that does not terminate TLS.
	TLS *TLS
	// ClientTimeout and MemberTimeout end connections idle on that side, and
	// ConnectTimeout bounds the dialling of a member. Zero means 50 s, 50 s
	// and 5 s, Octavia's defaults.
	ClientTimeout, MemberTimeout, ConnectTimeout time.Duration
	// Lacks are the addresses of the load balancer on which the listener does not listen.
	Lacks []netip.Addr
	// Pool is nil for a listener with no default pool: connections are then
	// closed at once.
	Pool *Pool
}

// Pool is the set of members behind a listener.
type Pool struct {
	ID string
	// Protocol is Octavia's pool protocol: TCP, UDP, HTTP, PROXY, PROXYV2.
	Protocol string
	// Algorithm is ROUND_ROBIN, LEAST_CONNECTIONS, SOURCE_IP or SOURCE_IP_PORT.
	Algorithm string
	// SourceIPPersistence sends all connections of a client address to the same member.
	SourceIPPersistence bool
	// PersistenceTimeout is the time without traffic after which a client address is forgotten;
	// zero means never.
	PersistenceTimeout time.Duration
	Members            []Member
	// Monitor is nil if members are always assumed to be up.
	Monitor *Monitor
}

// Member is one backend.
type Member struct {
	ID      string
	Address netip.Addr
	Port    int
	// Weight zero means no new clients; a client that persistence assigns to the member still
	// reaches it, as with haproxy.
	Weight int
	// Backup members are used only when no other member is up.
	Backup bool
	// AdminUp is false if the member takes no traffic.
	AdminUp bool
	// MonitorAddress and MonitorPort are what the monitor checks; the zero values mean Address and
	// Port.
	MonitorAddress netip.Addr
	MonitorPort    int
}

// Monitor is a health monitor.
type Monitor struct {
	ID string
	// Type is TCP, HTTP, HTTPS, UDP-CONNECT or PING.
	Type                string
	Delay, Timeout      time.Duration
	MaxRetries          int
	MaxRetriesDown      int
	HTTPMethod, URLPath string
	ExpectedCodes       string
	AdminUp             bool
}
