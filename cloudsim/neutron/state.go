// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/netip"
	"slices"
	"time"
)

// Device owners of ports that Neutron itself creates.
const (
	ownerRouterInterface = "network:router_interface"
	ownerRouterGateway   = "network:router_gateway"
	ownerFloatingIP      = "network:floatingip"
	ownerDHCP            = "network:dhcp"
	ownerOctavia         = "Octavia"
)

// standard has the attributes of all resources. Slices in the state are never changed in place,
// only replaced, because views share them.
type standard struct {
	id, name, project, description string
	tags                           []string
	revision                       int
	created, updated               time.Time
}

func (s *standard) attributes() *standard { return s }

type network struct {
	standard
	adminUp, shared, external, portSecurity, isDefault bool
	mtu, segment                                       int
	kind                                               string
	physical                                           *string
	subnets                                            []string // in order of creation
	guests                                             []string // projects with which it is shared, in addition to shared
}

// sharedWith reports whether the project may use the network of another project.
func (n *network) sharedWith(project string) bool {
	return n.shared || slices.Contains(n.guests, project)
}

type subnet struct {
	standard
	network     string
	cidr        netip.Prefix
	gateway     netip.Addr // the zero Addr means none
	pools       []AddressRange
	dhcp        bool
	dns         []string
	routes      []hostRoute
	raMode      string
	addressMode string
	free        *allocator
}

// automatic reports whether hosts choose their own addresses in the subnet, from
// their MAC addresses.
func (s *subnet) automatic() bool {
	return s.addressMode == "slaac" || s.addressMode == "dhcpv6-stateless"
}

func (s *subnet) ipVersion() int {
	if s.cidr.Addr().Is4() {
		return 4
	}
	return 6
}

type hostRoute struct {
	Destination string `json:"destination"`
	NextHop     string `json:"nexthop"`
}

// FixedIP is an address of a port.
type FixedIP struct {
	SubnetID  string `json:"subnet_id"`
	IPAddress string `json:"ip_address"`
}

type addressPair struct {
	MACAddress string `json:"mac_address"`
	IPAddress  string `json:"ip_address"`
}

// networkMAC is a MAC address in a network, which is unique there.
type networkMAC struct{ network, mac string }

type port struct {
	standard
	network, mac, deviceID, deviceOwner string
	status, host, vnic                  string
	adminUp, portSecurity               bool
	fixed                               []FixedIP
	groups                              []string
	pairs                               []addressPair
	// madeByOctavia means that the port is deleted when Octavia releases its VIP.
	madeByOctavia bool
}

type router struct {
	standard
	adminUp, snat bool
	gateway       string   // id of the gateway port, "" for none
	interfaces    []string // ids of the interface ports
	routes        []hostRoute
}

type floatingIP struct {
	standard
	network, subnet string
	address         netip.Addr
	external        string // id of the port that holds the address
	// port and fixed are empty while it is not associated. router is empty if, in addition, it has
	// no port forwardings.
	port, fixed, router string
	forwardings         []portForwarding // in order of creation
}

type securityGroup struct {
	standard
	stateful bool
	rules    []string // in order of creation
}

type securityGroupRule struct {
	standard
	group, direction, ethertype string
	protocol, prefix, remote    string // "" for none
	min, max                    *int
	about                       *string // the description; nil for the rules that a group has from the start
	number                      int     // in order of creation, of all rules
}
