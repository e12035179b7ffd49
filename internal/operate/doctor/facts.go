// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"io/fs"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kube-octavia/kube-octavia/internal/cloud/calls"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/node/instances"
	"github.com/kube-octavia/kube-octavia/internal/node/routes"
	"github.com/kube-octavia/kube-octavia/internal/operate/othercontroller"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/claim"
	"github.com/kube-octavia/kube-octavia/internal/reconcile/orphan"
	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// Facts are the input of the checks. It is plain data.
type Facts struct {
	// Now is the time of the diagnosis.
	Now time.Time
	// ConfigPath is the path of cloud.conf or, depending on its origin, what replaces it.
	ConfigPath   string
	ConfigOrigin config.Origin
	Config       Read[config.Config]
	// ConfigProblems are the reasons why cloud.conf cannot be used.
	ConfigProblems []Problem
	// ConfigMode has the permissions of cloud.conf, or 0 if they are unknown.
	ConfigMode fs.FileMode
	// Policy selects the Services that the controller handles. Without a cluster it lacks the cluster's
	// uid.
	Policy claim.Policy
	// Controllers are the controllers of --controllers.
	Controllers Controllers
	Cloud       Cloud
	Cluster     Cluster
}

// Controllers has the enabled controllers.
type Controllers struct {
	Service, Node, NodeLifecycle, Route bool
	// ClusterCIDRs contain the Pod CIDRs of all Nodes. Controller route needs them.
	ClusterCIDRs []netip.Prefix
}

// Nodes reports whether a controller reads servers.
func (c Controllers) Nodes() bool { return c.Node || c.NodeLifecycle }

// Problem is a problem, and what to do about it.
type Problem struct{ What, Do string }

// Read is the result of reading a fact: its value, or why it is missing.
type Read[T any] struct {
	Value T
	Missing
}

// Value returns a fact with a value.
func Value[T any](v T) Read[T] { return Read[T]{Value: v} }

// Missing describes why there is no value.
type Missing struct {
	Kind MissingKind
	// Reason is a sentence without a full stop, or a part of a sentence.
	Reason string
	// Advice is what to change, in the same form. It depends on the cause of the failure, and is empty if the cause
	// does not show it.
	Advice string
	// Need is, for Denied, a sentence that says whether the controller needs the right.
	Need string
}

// MissingKind is the kind of reason.
type MissingKind int

// The kinds.
const (
	// Present: there is a value.
	Present MissingKind = iota
	// NotAsked: there was no API to call, or the value is not needed.
	NotAsked
	// Denied: the login may not read it.
	Denied
	// Failed: the call failed.
	Failed
)

// OK reports whether there is a value.
func (m Missing) OK() bool { return m.Kind == Present }

// Cloud has the facts from OpenStack.
type Cloud struct {
	Login Read[Login]
	// NoService are the services that the service catalogue lacks, if the login was accepted but cannot be used for
	// that reason.
	NoService []Problem
	// NoRegion means that the service catalogue has several regions, and none is configured.
	NoRegion bool
	// APIVersion is the newest version of Octavia.
	APIVersion Read[lb.Version]
	Octavia    Octavia
	Network    Network
	// Servers are the servers of the project.
	Servers Read[[]instances.Server]
	// Orphans are cloud objects of the cluster that no Service uses.
	Orphans Read[[]orphan.Object]
}

// Login is the login that Keystone accepted.
type Login struct {
	Kind      config.Authentication
	ProjectID string
	// Roles are names of roles in the project.
	Roles []string
	// Expires is when the credentials expire; zero means never or unknown. ExpiryUnknown is the reason if it is
	// unknown.
	Expires       time.Time
	ExpiryUnknown string
	// MissingRules are the calls of the controller that its access rules do not allow.
	MissingRules []string
	// MissingOnRequest has such calls of the features of calls.OnRequest.
	MissingOnRequest map[calls.Feature][]string
	// Without has the features for which it has no access rules at all.
	Without   []calls.Feature
	Endpoints []Endpoint
	// CloudTime is the time of Keystone, in whole seconds, at LocalTime, which is accurate to Uncertainty. CloudTime is
	// zero if the answer did not contain it.
	CloudTime, LocalTime time.Time
	Uncertainty          time.Duration
}

// Endpoint is the endpoint of a service. URL is empty if the catalogue lacks the service.
type Endpoint struct{ Service, URL string }

// Octavia has the facts from Octavia.
type Octavia struct {
	Providers Read[[]string]
	Flavors   Read[[]Offer]
	Zones     Read[[]Offer]
	// Quota is the quota of the project by kind, as in QuotaKinds; -1 means no limit.
	Quota Read[map[string]int]
	// Balancers are all load balancers of the project.
	Balancers Read[[]Balancer]
}

// Offer is a flavor or, without id, an availability zone.
type Offer struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
}

// Balancer is a load balancer with its children. Of members it has only the number.
type Balancer struct {
	lb.LoadBalancer
	Members int
}

// Network has the facts from Neutron.
type Network struct {
	Networks Read[[]Net]
	Subnets  Read[[]Subnet]
	// Ports are the ports of the project, and InVIPNetworks all visible ones in the networks of
	// VIPs.
	Ports, InVIPNetworks Read[[]Port]
	Routers              Read[[]Router]
	Groups               Read[[]Group]
	Availability         Read[[]Availability]
	// Quota is the quota of the project by kind.
	Quota Read[map[string]Quota]
	// PodRouter is the router with the routes to Pods; nil if no router has its id.
	PodRouter Read[*routes.Router]
	// AtomicRoutes is true if single routes of a router can be added.
	AtomicRoutes Read[bool]
}

// Net is a network.
type Net struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	ProjectID string   `json:"project_id"`
	External  bool     `json:"router:external"`
	Subnets   []string `json:"subnets"`
}

// Subnet is a subnet.
type Subnet struct {
	ID        string  `json:"id"`
	Name      string  `json:"name"`
	NetworkID string  `json:"network_id"`
	IPVersion int     `json:"ip_version"`
	CIDR      string  `json:"cidr"`
	Pools     []Range `json:"allocation_pools"`
}

// Range is a range of addresses, including both ends.
type Range struct {
	Start string `json:"start"`
	End   string `json:"end"`
}

// Port is a port.
type Port struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	NetworkID      string   `json:"network_id"`
	DeviceID       string   `json:"device_id"`
	DeviceOwner    string   `json:"device_owner"`
	FixedIPs       []IP     `json:"fixed_ips"`
	SecurityGroups []string `json:"security_groups"`
	// PortSecurity is nil if the cloud lacks the extension: then it is enabled.
	PortSecurity *bool `json:"port_security_enabled"`
	// MAC, AddressPairs and Tags are read only with controller route.
	MAC          string               `json:"mac_address"`
	AddressPairs []routes.AddressPair `json:"allowed_address_pairs"`
	Tags         []string             `json:"tags"`
	// LoadBalancerID is set for a VIP port that Octavia created.
	LoadBalancerID string `json:"-"`
}

// IP is an address of a port.
type IP struct {
	SubnetID string `json:"subnet_id"`
	Address  string `json:"ip_address"`
}

// Router is a router. Gateway is nil without a gateway.
type Router struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Gateway *struct {
		NetworkID string `json:"network_id"`
	} `json:"external_gateway_info"`
}

// Group is a security group.
type Group struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Rules       []Rule `json:"security_group_rules"`
}

// Rule is a rule of a security group. Nil means any.
type Rule struct {
	Direction            string  `json:"direction"`
	EtherType            string  `json:"ethertype"`
	Protocol             *string `json:"protocol"`
	PortMin              *int    `json:"port_range_min"`
	PortMax              *int    `json:"port_range_max"`
	RemoteIPPrefix       *string `json:"remote_ip_prefix"`
	RemoteGroupID        *string `json:"remote_group_id"`
	RemoteAddressGroupID *string `json:"remote_address_group_id"`
}

// Availability has the number of addresses of a network, and of those in use.
type Availability struct {
	NetworkID string             `json:"network_id"`
	Subnets   []AvailableAddress `json:"subnet_ip_availability"`
}

// AvailableAddress has the number of addresses of a subnet, and of those in use.
type AvailableAddress struct {
	SubnetID  string  `json:"subnet_id"`
	IPVersion int     `json:"ip_version"`
	Total     float64 `json:"total_ips"`
	Used      float64 `json:"used_ips"`
}

// Quota is a limit of Neutron, -1 for none, and its usage.
type Quota struct {
	Limit int `json:"limit"`
	Used  int `json:"used"`
}

// Cluster has the facts from Kubernetes.
type Cluster struct {
	// Version is the version of the API server.
	Version Read[string]
	// User is the user whose rights were checked, and UID the uid of the cluster.
	User, UID Read[string]
	Services  Read[[]corev1.Service]
	Nodes     Read[[]corev1.Node]
	// Refused are the rights of the controller that the user does not have.
	Refused Read[[]Right]
	// OCCM is the Lease of the leading cloud controller manager, and Own that of the controller. They are nil if there
	// is none. Workloads run openstack-cloud-controller-manager, and Instances are the Leases of all instances of
	// kube-octavia.
	OCCM, Own Read[*othercontroller.Lease]
	Workloads Read[[]othercontroller.Workload]
	Instances Read[[]othercontroller.Lease]
	// OwnLease is the namespace and name of the controller's Lease.
	OwnLease othercontroller.LeaseName
}

// Protected reports whether security groups apply to the port.
func (p Port) Protected() bool { return p.PortSecurity == nil || *p.PortSecurity }

// In reports whether the port has an address in the subnet.
func (p Port) In(subnetID string) bool {
	return slices.ContainsFunc(p.FixedIPs, func(ip IP) bool { return ip.SubnetID == subnetID })
}
