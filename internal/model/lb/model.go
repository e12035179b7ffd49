// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lb is the data model of the project: load balancers as a Service should have them, and as OpenStack has
// them, in the same form. It also holds names, tags, the rules of ownership, and the capabilities of clouds.
//
// It imports nothing of this project, no Kubernetes client and no OpenStack SDK. All its types can be printed as
// JSON.
package lb

import (
	"net/netip"
	"slices"
)

// LoadBalancer is one Octavia load balancer and its children.
//
// A wanted one has no ids and no statuses. An observed one has both, and its pools that no listener uses are in
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
	// AdditionalVIPs are further addresses of the VIP's port, in other subnets of its network. They are set when
	// the load balancer is created, and cannot be changed.
	AdditionalVIPs []VIP `json:"additionalVIPs,omitempty"`
	// VIPSecurityGroups are the ids of the security groups on the VIP's port that determine which clients may connect.
	// If there are none, the source ranges of each listener determine that. Beside groups, source ranges have no
	// effect, and Octavia refuses new ones.
	VIPSecurityGroups []string `json:"vipSecurityGroups,omitempty"`
	// AdminDown is Octavia's admin_state_up, negated so that the zero value is the usual one.
	AdminDown bool       `json:"adminDown,omitempty"`
	Listeners []Listener `json:"listeners,omitempty"`
	// DetachedPools are pools that are no listener's default pool: leftovers of interrupted changes.
	DetachedPools []Pool `json:"detachedPools,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string             `json:"operatingStatus,omitempty"`
	// UpdatedAt is Octavia's updated_at, unchanged. It gets a new value when the load balancer or a child is changed
	// through the API, and when a change ends. It has whole seconds, so equal values do not prove that nothing changed.
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// VIP is the virtual IP address of a load balancer. In a wanted VIP, SubnetID is the subnet in which to allocate it or,
// if that is empty, NetworkID the network. Address, if set, is the requested address. PortID, if set, is an existing
// port to use.
type VIP struct {
	Address   string `json:"address,omitempty"`
	SubnetID  string `json:"subnetID,omitempty"`
	NetworkID string `json:"networkID,omitempty"`
	PortID    string `json:"portID,omitempty"`
}

func (l LoadBalancer) vips() []VIP { return append([]VIP{l.VIP}, l.AdditionalVIPs...) }

// VIPOf returns the first VIP with an address of the family: IPv4 or, without is4, IPv6.
func (l LoadBalancer) VIPOf(is4 bool) (VIP, bool) {
	for _, v := range l.vips() {
		if address, err := netip.ParseAddr(v.Address); err == nil && address.Is4() == is4 {
			return v, true
		}
	}
	return VIP{}, false
}

// Has reports whether one of the load balancer's VIPs has the address.
func (l LoadBalancer) Has(address string) bool {
	return slices.ContainsFunc(l.vips(), func(v VIP) bool { return v.Address == address })
}

// DualStack reports whether the load balancer has VIPs of both families.
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
	// ConnectionLimit is the maximum number of concurrent connections; -1 is no limit.
	ConnectionLimit int `json:"connectionLimit"`
	// AllowedCIDRs are the sources that may connect. Empty means every client. Other values mean the same, see
	// AdmitsEveryClient.
	AllowedCIDRs []string `json:"allowedCIDRs,omitempty"`
	// Timeouts is nil if the cloud has none, or none that can be set.
	Timeouts *Timeouts `json:"timeouts,omitempty"`
	// InsertHeaders are the names of the headers that an HTTP or TERMINATED_HTTPS listener adds to each request,
	// sorted.
	InsertHeaders []string `json:"insertHeaders,omitempty"`
	// TLS is set for TERMINATED_HTTPS listeners.
	TLS *TLS `json:"tls,omitempty"`
	// HSTS is the header that a TERMINATED_HTTPS listener adds to each answer.
	HSTS      HSTS `json:"hsts,omitzero"`
	AdminDown bool `json:"adminDown,omitempty"`
	// Pool is the default pool. A wanted PROMETHEUS listener has none; an observed listener may have none.
	Pool *Pool `json:"pool,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// Key identifies the listener in its load balancer. The name does not identify it: names contain an index that is
// reused.
func (l Listener) Key() ListenerKey {
	return ListenerKey{Transport: l.Protocol.Transport(), Port: l.Port}
}

// Timeouts are those of a listener, in milliseconds: for inactive clients, for connecting to a member, for inactive
// members, and for the inspection of a connection before it is forwarded.
type Timeouts struct {
	ClientData    int `json:"clientData"`
	MemberConnect int `json:"memberConnect"`
	MemberData    int `json:"memberData"`
	TCPInspect    int `json:"tcpInspect"`
}

// DefaultTimeouts are the defaults of Octavia's API reference.
var DefaultTimeouts = Timeouts{ClientData: 50_000, MemberConnect: 5_000, MemberData: 50_000}

// ListenerKey is unique among the listeners of a load balancer.
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
	// Persistence is nil without session persistence.
	Persistence *Persistence   `json:"persistence,omitempty"`
	Members     []Member       `json:"members,omitempty"`
	Monitor     *HealthMonitor `json:"monitor,omitempty"`
	AdminDown   bool           `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// Any reports whether is(status) is true for the pool, its monitor or one of its members.
func (p Pool) Any(is func(ProvisioningStatus) bool) bool {
	return is(p.ProvisioningStatus) || p.Monitor != nil && is(p.Monitor.ProvisioningStatus) ||
		slices.ContainsFunc(p.Members, func(m Member) bool { return is(m.ProvisioningStatus) })
}

// Unfinished reports whether the pool or anything in it is PENDING.
func (p Pool) Unfinished() bool { return p.Any(ProvisioningStatus.Pending) }

// Persistence keeps each client on one member. Only Octavia's SOURCE_IP is used.
type Persistence struct {
	Type string `json:"type"`
	// TimeoutSeconds is how long an inactive client is remembered, for UDP and SCTP pools only. 0 is Octavia's
	// default.
	TimeoutSeconds int `json:"timeoutSeconds,omitempty"`
}

// DefaultPersistenceSeconds is the timeout that Kubernetes sets for sessionAffinity ClientIP without a timeout.
const DefaultPersistenceSeconds = 10800

// PersistenceSourceIP keeps each client address on one member.
const PersistenceSourceIP = "SOURCE_IP"

// Member is one backend of a pool. Octavia identifies members by address and port.
type Member struct {
	ID       string `json:"id,omitempty"`
	Name     string `json:"name,omitempty"`
	Address  string `json:"address"`
	Port     int    `json:"port"`
	SubnetID string `json:"subnetID,omitempty"`
	// Weight is 1 for an ordinary member and 0 for one that gets no new connections.
	Weight int `json:"weight"`
	// MonitorPort is the port of health checks; 0 means Port.
	MonitorPort int  `json:"monitorPort,omitempty"`
	Backup      bool `json:"backup,omitempty"`
	AdminDown   bool `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
	OperatingStatus    string             `json:"operatingStatus,omitempty"`
}

// Subnet is a subnet of Neutron in which members have their addresses.
type Subnet struct {
	ID   string       `json:"id"`
	CIDR netip.Prefix `json:"cidr"`
}

// SubnetPlan has the purposes of the addresses of a subnet.
type SubnetPlan struct {
	Subnet
	// Gateway is not valid if there is none.
	Gateway netip.Addr `json:"gateway"`
	// Pools are the ranges from which Neutron takes addresses for ports that request none.
	Pools []AddressRange `json:"pools,omitempty"`
	// DHCP means that Neutron takes an address of Pools for DHCP.
	DHCP bool `json:"dhcp,omitempty"`
}

// AddressRange are the addresses from First to Last.
type AddressRange struct {
	First netip.Addr `json:"first"`
	Last  netip.Addr `json:"last"`
}

// MemberKey is unique among the members of a pool.
type MemberKey struct {
	Address string `json:"address"`
	Port    int    `json:"port"`
}

// Key identifies the member in its pool.
func (m Member) Key() MemberKey { return MemberKey{Address: m.Address, Port: m.Port} }

// HealthMonitor checks the members of a pool. Members that do not respond get no traffic.
type HealthMonitor struct {
	ID   string      `json:"id,omitempty"`
	Name string      `json:"name,omitempty"`
	Tags []string    `json:"tags,omitempty"`
	Type MonitorType `json:"type"`
	// DelaySeconds is the time between checks. TimeoutSeconds is the time limit of one check. Octavia requires timeout
	// <= delay.
	DelaySeconds   int `json:"delaySeconds"`
	TimeoutSeconds int `json:"timeoutSeconds"`
	// MaxRetries is the number of successful checks after which a member is up. MaxRetriesDown is the number of failed
	// checks after which it is down. Both are 1 to 10.
	MaxRetries     int `json:"maxRetries"`
	MaxRetriesDown int `json:"maxRetriesDown"`
	// HTTPMethod, URLPath and ExpectedCodes are for monitors of type HTTP.
	HTTPMethod    string `json:"httpMethod,omitempty"`
	URLPath       string `json:"urlPath,omitempty"`
	ExpectedCodes string `json:"expectedCodes,omitempty"`
	AdminDown     bool   `json:"adminDown,omitempty"`

	ProvisioningStatus ProvisioningStatus `json:"provisioningStatus,omitempty"`
}

// FloatingIP is a Neutron floating IP.
type FloatingIP struct {
	ID string `json:"id,omitempty"`
	// Address is, in a wanted floating IP, the requested address; empty means any.
	Address   string `json:"address,omitempty"`
	NetworkID string `json:"networkID,omitempty"`
	// SubnetIDs are, in a wanted one, the subnets to allocate it from, in order; with none, Neutron chooses.
	SubnetIDs   []string `json:"subnetIDs,omitempty"`
	Description string   `json:"description,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	ProjectID   string   `json:"projectID,omitempty"`
	// PortID is the port that it is attached to, or "".
	PortID string `json:"portID,omitempty"`
	// ForwardingRouterID is the router with the port forwardings of the floating IP, or "". A floating IP with port
	// forwardings cannot be attached to a port.
	ForwardingRouterID string `json:"forwardingRouterID,omitempty"`
	// KuryrVIP is the VIP to which a floating IP leads that Kuryr created. It is "" for all others.
	KuryrVIP string `json:"kuryrVIP,omitempty"`
}

// Wanted is everything that a Service should have in the cloud. With the zero value, everything that the Service has is
// deleted.
type Wanted struct {
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// FloatingIP is nil for an internal load balancer.
	FloatingIP *FloatingIP `json:"floatingIP,omitempty"`
	// KeepFloatingIP detaches an unwanted floating IP of ours and keeps it in the project, instead of deleting it.
	KeepFloatingIP bool `json:"keepFloatingIP,omitempty"`
	// Serial creates a new load balancer without children, and these afterwards with one call each, instead of
	// everything with one call.
	Serial bool `json:"serial,omitempty"`
	// The JSON names are part of digests on Services (annotation programmed): they must not change.

	// KeepMonitors leaves health monitors as they are, and opens no port on a load balancer that has one.
	KeepMonitors bool `json:"monitorsAsFound,omitempty"`
	// KeepAddress neither moves nor releases floating IPs, and does not delete the load balancer that they are on.
	KeepAddress bool `json:"addressAsFound,omitempty"`
	// MoveMembers replaces pools with members in another subnet than the wanted one.
	MoveMembers bool `json:"subnetsMatter,omitempty"`
	// Withheld is what the Service requests and this cloud does not support. The rest is wanted without it.
	Withheld []Withheld `json:"withheld,omitempty"`
	// Addresses is what is known about addresses when the plan is made. It is not a part of what the Service requests.
	Addresses AddressFacts `json:"-"`
}

// AddressFacts is what a plan for floating IPs depends on, beside the Service and the cloud.
type AddressFacts struct {
	// Published is the address that the Service published last, or "". It is attached again if another address cannot
	// be attached.
	Published string
	// Requested are the addresses and ids of floating IPs that other Services request. They are never deleted.
	Requested []string
	// Abandoned are the ids of floating IPs that were created for Services of this cluster which do not exist any more.
	Abandoned []string
	// Rejected are the rejections of floating IPs that the cloud did not attach and that are not due for a retry yet.
	Rejected []Rejection
}

// RejectionOf returns why the cloud did not attach the floating IP to the port, or false.
func (a AddressFacts) RejectionOf(f FloatingIP, portID string) (Rejection, bool) {
	i := slices.IndexFunc(a.Rejected, func(r Rejection) bool { return r.FloatingIPID == f.ID && r.PortID == portID })
	if i < 0 {
		return Rejection{}, false
	}
	return a.Rejected[i], true
}

// RequestedElsewhere reports whether another Service requests the floating IP.
func (a AddressFacts) RequestedElsewhere(f FloatingIP) bool {
	return slices.Contains(a.Requested, f.Address) || slices.Contains(a.Requested, f.ID)
}

// Rejection is an answer of the cloud: it does not attach a floating IP to a port.
type Rejection struct {
	FloatingIPID, PortID string
	// Message is the text for the user, with the answer of the cloud.
	Message string
}

// Withheld is an unsupported part of a request.
type Withheld struct {
	// Reason is a condition's reason, in CamelCase.
	Reason string `json:"reason"`
	// Message is the text for the user: what is missing and what to do.
	Message string `json:"message"`
}

// Observed is everything that a Service has in the cloud.
type Observed struct {
	LoadBalancer *LoadBalancer `json:"loadBalancer,omitempty"`
	// Sharer means that LoadBalancer was created for another owner, and that the Service has, or may have, ports on
	// it.
	Sharer bool `json:"sharer,omitempty"`
	// FloatingIPs are those on the VIP port, and those with the wanted or the last published address, wherever they
	// are.
	FloatingIPs []FloatingIP `json:"floatingIPs,omitempty"`
	// Predecessor is the load balancer that LoadBalancer replaces. It has the Service's uid, too, and keeps the
	// Service's address, or its floating IPs (which are in FloatingIPs), until LoadBalancer can serve.
	Predecessor *LoadBalancer `json:"predecessor,omitempty"`
	// Duplicates are the ids of further load balancers with the Service's uid: created by a call whose answer was
	// lost, and found too late.
	Duplicates []string `json:"duplicates,omitempty"`
	// Unsettled are ids of such load balancers that are PENDING, so that they cannot be deleted yet.
	Unsettled []string `json:"unsettled,omitempty"`
	// CopiedID is the id on the Service if the id was copied from another Service, so that it is not a request; or "".
	CopiedID string `json:"copiedID,omitempty"`
}

// LoadBalancerIDs returns the ids of all observed load balancers.
func (o Observed) LoadBalancerIDs() []string {
	ids := slices.Concat(o.Duplicates, o.Unsettled)
	for _, l := range []*LoadBalancer{o.LoadBalancer, o.Predecessor} {
		if l != nil {
			ids = append(ids, l.ID)
		}
	}
	return ids
}

// Address returns the address for clients: the floating IP on the VIP port, else the VIP, else "".
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
