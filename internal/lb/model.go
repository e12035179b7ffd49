// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lb is the model that every other room speaks in: the load balancer
// that a Service is to have, and the one that OpenStack has, as the same plain
// data. It holds names, tags and the rules of ownership, and what a cloud is
// able to do.
//
// It imports nothing of this project, no Kubernetes client and no OpenStack
// SDK, and everything in it prints as JSON.
package lb

import (
	"net/netip"
	"slices"
)

// LoadBalancer is one Octavia load balancer and its children.
//
// As a wanted load balancer it carries no ids and no statuses. As an observed
// one it carries both, and its pools that no listener uses are in
// DetachedPools.
type LoadBalancer struct {
	ID               string   `json:"id,omitempty"`
	Name             string   `json:"name"`
	Description      string   `json:"description,omitempty"`
	Tags             []string `json:"tags,omitempty"`
	ProjectID        string   `json:"projectID,omitempty"`
	Provider         string   `json:"provider,omitempty"`
	FlavorID         string   `json:"flavorID,omitempty"`
	AvailabilityZone string   `json:"availabilityZone,omitempty"`
	VIP              VIP      `json:"vip"`
	// AdditionalVIPs are at further addresses of the VIP's port, in other subnets of its
	// network. They are chosen when the load balancer is made, and cannot be changed.
	AdditionalVIPs []VIP `json:"additionalVIPs,omitempty"`
	// AdminDown is Octavia's admin_state_up, negated so that the zero value
	// is the usual one.
	AdminDown bool       `json:"adminDown,omitempty"`
	Listeners []Listener `json:"listeners,omitempty"`
	// DetachedPools are pools that no listener has as its default pool:
	// what is left of an addition or a removal that was cut short.
	DetachedPools []Pool `json:"detachedPools,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string             `json:"operatingStatus,omitempty"`
	// UpdatedAt is Octavia's updated_at as it came. It moves when the load
	// balancer or anything below it is changed through the API, and when a
	// change ends. It has whole seconds: equal values are a hint, not proof.
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// VIP is the virtual IP address of a load balancer. In a wanted load balancer
// SubnetID, or else NetworkID, says where to take it from, and Address, when
// set, which one; or PortID is a port that a person made and that becomes it.
type VIP struct {
	Address   string `json:"address,omitempty"`
	SubnetID  string `json:"subnetID,omitempty"`
	NetworkID string `json:"networkID,omitempty"`
	PortID    string `json:"portID,omitempty"`
}

// VIPOf returns the first VIP with an address of the family: IPv4 or, without is4, IPv6.
func (l LoadBalancer) VIPOf(is4 bool) (VIP, bool) {
	for _, v := range append([]VIP{l.VIP}, l.AdditionalVIPs...) {
		if address, err := netip.ParseAddr(v.Address); err == nil && address.Is4() == is4 {
			return v, true
		}
	}
	return VIP{}, false
}

// Has reports whether the address is one of its VIPs'.
func (l LoadBalancer) Has(address string) bool {
	return slices.ContainsFunc(append([]VIP{l.VIP}, l.AdditionalVIPs...), func(v VIP) bool { return v.Address == address })
}

// DualStack reports whether it has VIPs of both families.
func (l LoadBalancer) DualStack() bool {
	_, has4 := l.VIPOf(true)
	_, has6 := l.VIPOf(false)
	return has4 && has6
}

// Listener is an open port of the VIP.
type Listener struct {
	ID       string           `json:"id,omitempty"`
	Name     string           `json:"name"`
	Tags     []string         `json:"tags,omitempty"`
	Protocol ListenerProtocol `json:"protocol"`
	Port     int              `json:"port"`
	// ConnectionLimit is the number of connections at once, -1 for no limit.
	ConnectionLimit int `json:"connectionLimit"`
	// AllowedCIDRs are the sources that may connect. Empty is everybody, which
	// Octavia also shows as 0.0.0.0/0 or ::/0.
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
	// Timeouts is nil where the cloud has none, or none that can be set.
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// InsertHeaders are the names of the headers that a listener of protocol HTTP or
	// TERMINATED_HTTPS adds to each request, sorted.
	InsertHeaders []string `json:"insertHeaders,omitempty"`
	// TLS is set for listeners of protocol TERMINATED_HTTPS.
	TLS       *TLS `json:"tls,omitempty"`
	AdminDown bool `json:"adminDown,omitempty"`
	// Pool is the default pool. A wanted listener of protocol PROMETHEUS has none, and an
	// observed one may lack it.
	Pool *Pool `json:"pool,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// Key tells the listener from all others of its load balancer. Names do not:
// they bear an index that is not unique over time.
func (l Listener) Key() ListenerKey {
	return ListenerKey{Transport: l.Protocol.Transport(), Port: l.Port}
}

// Timeouts say how long a listener waits, in milliseconds: for a client that is
// silent, for a connection to a member, for a member that is silent, and for what is
// to be looked into before a connection is forwarded.
type Timeouts struct {
	ClientData    int `json:"clientData"`
	MemberConnect int `json:"memberConnect"`
	MemberData    int `json:"memberData"`
	TCPInspect    int `json:"tcpInspect"`
}

// DefaultTimeouts are those that Octavia's API documents.
var DefaultTimeouts = Timeouts{ClientData: 50_000, MemberConnect: 5_000, MemberData: 50_000}

// ListenerKey is what only one listener of a load balancer can have.
type ListenerKey struct {
	Transport Transport `json:"transport"`
	Port      int       `json:"port"`
}

// Pool is the set of members behind a listener.
type Pool struct {
	ID        string       `json:"id,omitempty"`
	Name      string       `json:"name"`
	Tags      []string     `json:"tags,omitempty"`
	Protocol  PoolProtocol `json:"protocol"`
	Algorithm Algorithm    `json:"algorithm"`
	// Persistence is nil when connections of one client may go anywhere.
	Persistence *Persistence   `json:"persistence,omitempty"`
	Members     []Member       `json:"members,omitempty"`
	Monitor     *HealthMonitor `json:"monitor,omitempty"`
	AdminDown   bool           `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// Any reports whether the status of the pool, or of anything in it, is one of those
// that is asks for.
func (p Pool) Any(is func(ProvisioningStatus) bool) bool {
	return is(p.ProvisioningStatus) || p.Monitor != nil && is(p.Monitor.ProvisioningStatus) ||
		slices.ContainsFunc(p.Members, func(m Member) bool { return is(m.ProvisioningStatus) })
}

// Unfinished reports whether the pool or anything in it is PENDING.
func (p Pool) Unfinished() bool { return p.Any(ProvisioningStatus.Pending) }

// Persistence keeps a client on one member. Only Octavia's SOURCE_IP is used.
type Persistence struct {
	Type string `json:"type"`
	// TimeoutSeconds is how long an idle client is remembered. Octavia has it
	// for UDP and SCTP pools only; 0 leaves Octavia's default.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
}

// DefaultPersistenceSeconds is the timeout that Kubernetes fills in for Services with
// sessionAffinity ClientIP that name none.
const DefaultPersistenceSeconds = 10800

// PersistenceSourceIP keeps a client address on one member.
const PersistenceSourceIP = "SOURCE_IP"

// Member is one backend of a pool. Octavia tells members apart by address and
// port.
type Member struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Address  string `json:"address"`
	Port     int    `json:"port"`
	SubnetID string `json:"subnetID,omitempty"`
	// Weight is 1 for a member like any other and 0 for one that gets no new
	// connection.
	Weight int `json:"weight"`
	// MonitorPort is where the health monitor looks; 0 is Port.
	MonitorPort int  `json:"monitorPort,omitempty"`
	Backup      bool `json:"backup,omitempty"`
	AdminDown   bool `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string             `json:"operatingStatus,omitempty"`
}

// MemberKey is what only one member of a pool can have.
type MemberKey struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

// Key tells the member from all others of its pool.
func (m Member) Key() MemberKey { return MemberKey{Address: m.Address, Port: m.Port} }

// HealthMonitor takes members out of the pool that do not answer.
type HealthMonitor struct {
	ID   string      `json:"id,omitempty"`
	Name string      `json:"name,omitempty"`
	Tags []string    `json:"tags,omitempty"`
	Type MonitorType `json:"type"`
	// DelaySeconds lies between two looks, TimeoutSeconds is how long one may
	// take; Octavia wants the timeout not to be longer than the delay.
	DelaySeconds   int `json:"delaySeconds"`
	TimeoutSeconds int `json:"timeoutSeconds"`
	// MaxRetries is how many good looks bring a member up, MaxRetriesDown how
	// many bad ones take it down; 1 to 10 both.
	MaxRetries     int `json:"maxRetries"`
	MaxRetriesDown int `json:"maxRetriesDown"`
	// HTTPMethod, URLPath and ExpectedCodes are set for monitors of type HTTP.
	HTTPMethod    string `json:"httpMethod,omitempty"`
	URLPath       string `json:"urlPath,omitempty"`
	ExpectedCodes string `json:"expectedCodes,omitempty"`
	AdminDown     bool   `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// FloatingIP is a Neutron floating IP.
type FloatingIP struct {
	ID string `json:"id,omitempty"`
	// Address is, in a wanted floating IP, the one the user asked for, or
	// empty for any.
	Address   string `json:"address,omitempty"`
	NetworkID string `json:"networkID,omitempty"`
	// SubnetIDs are, in a wanted one, the subnets to take it from: the first that has
	// an address left. Empty leaves the choice to Neutron.
	SubnetIDs   []string `json:"subnetIDs,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	ProjectID   string   `json:"projectID,omitempty"`
	// PortID is the port that the address leads to, empty for none.
	PortID string `json:"portID,omitempty"`
}

// Wanted is everything that a Service is to have in the cloud. The zero value
// wants nothing: what is there is to go.
type Wanted struct {
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// FloatingIP is nil for an internal load balancer.
	FloatingIP *FloatingIP `json:"floatingIP,omitempty"`
	// KeepFloatingIP leaves a floating IP that is no longer wanted in the
	// project, detached, where otherwise ours would be deleted.
	KeepFloatingIP bool `json:"keepFloatingIP,omitempty"`
	// Serial makes a load balancer that is yet to be created alone, and what is
	// below it afterwards, by one call each, where otherwise one call makes all.
	Serial bool `json:"serial,omitempty"`
	// MonitorsAsFound neither makes, changes nor deletes health monitors, and opens
	// no port beside one.
	MonitorsAsFound bool `json:"monitorsAsFound,omitempty"`
	// AddressAsFound neither moves nor releases floating IPs, nor ends the load
	// balancer that they are on.
	AddressAsFound bool `json:"addressAsFound,omitempty"`
	// SubnetsMatter replaces members that are in another subnet than they are wanted in,
	// with their pool.
	SubnetsMatter bool `json:"subnetsMatter,omitempty"`
	// Withheld is what the Service asks for and cannot have in this cloud. The
	// rest is wanted without it.
	Withheld []Withheld `json:"withheld,omitempty"`
}

// Withheld is a part that is left out, and why.
type Withheld struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string `json:"reason"`
	// Message tells the user what is missing and what can be done.
	Message string `json:"message"`
}

// Observed is everything that a Service has in the cloud.
type Observed struct {
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// Guest reports whether LoadBalancer was created for another owner, and the Service has, or
	// may have, ports on it.
	Guest bool `json:"guest,omitempty"`
	// FloatingIPs are those on the VIP port, and those that have the wanted or
	// the last published address, wherever they are.
	FloatingIPs []FloatingIP `json:"floatingIPs,omitempty"`
	// Predecessor is the load balancer that LoadBalancer takes the place of: it
	// bears the Service's uid, too, and has the Service's floating IPs, which are
	// among FloatingIPs, or its address, until the other one can serve.
	Predecessor *LoadBalancer `json:"predecessor,omitempty"`
	// Duplicates are ids of further load balancers that bear the Service's
	// uid: made by a create whose answer was lost, and found too late.
	Duplicates []string `json:"duplicates,omitempty"`
	// Unsettled are such ids as well, of those on which Octavia is working, so
	// that nothing can be done about them yet.
	Unsettled []string `json:"unsettled,omitempty"`
}

// LoadBalancerIDs returns the ids of all load balancers that were observed.
func (o Observed) LoadBalancerIDs() []string {
	ids := slices.Concat(o.Duplicates, o.Unsettled)
	for _, l := range []*LoadBalancer{o.LoadBalancer, o.Predecessor} {
		if l != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Address returns the address at which clients reach the load balancer: the
// floating IP on its VIP port, else the VIP itself, else "".
func (o Observed) Address() string {
	if o.LoadBalancer == nil {
		return ""
	}
	for _, f := range o.FloatingIPs {
		if f.PortID != "" && f.PortID == o.LoadBalancer.VIP.PortID {
			return f.Address
		}
	}
	return o.LoadBalancer.VIP.Address
}
