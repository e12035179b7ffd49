// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// NetworkSpec describes a network to add.
type NetworkSpec struct {
	// ID is its id; empty means a new one.
	ID               string
	Name, ProjectID  string
	Tags             []string
	External, Shared bool
}

// SubnetSpec describes a subnet to add.
type SubnetSpec struct {
	// ID is its id; empty means a new one.
	ID                         string
	Name, ProjectID, NetworkID string
	Tags                       []string
	CIDR                       netip.Prefix
	// Gateway defaults to the first address of the block; NoGateway means that the subnet has none.
	Gateway   netip.Addr
	NoGateway bool
	// Pools are the ranges of automatically chosen addresses; empty means the whole block except
	// the gateway.
	Pools []AddressRange
	DHCP  bool
}

// RouterSpec describes a router to add.
type RouterSpec struct {
	// ID is its id; empty means a new one.
	ID              string
	Name, ProjectID string
	// ExternalNetworkID is the network of its gateway; empty means no gateway.
	ExternalNetworkID string
	// SubnetIDs are the subnets in which it has an interface, each with the subnet's gateway
	// address.
	SubnetIDs []string
}

// PortSpec describes a port to add.
type PortSpec struct {
	// ID is its id; empty means a new one.
	ID                         string
	Name, ProjectID, NetworkID string
	DeviceID, DeviceOwner      string
	// Host is the host to which the port is bound. A bound port is ACTIVE, an unbound one (empty)
	// is DOWN.
	Host string
	// FixedIPs may omit either the subnet or the address. Empty means one address of each IP
	// version of the network.
	FixedIPs []FixedIP
	// SecurityGroupIDs defaults to the project's default group.
	SecurityGroupIDs []string
}

// PortInfo describes a port to Go callers.
type PortInfo struct {
	ID, NetworkID, DeviceID, MACAddress string
	FixedIPs                            []FixedIP
}

// DevicePort is a port of a device, with what Nova shows of it.
type DevicePort struct {
	PortInfo
	NetworkName, Status string
	// FloatingIPs are the floating IPs of the port.
	FloatingIPs []netip.Addr
}

// AddNetwork adds a network and returns its id. It fails if the id exists.
func (s *Service) AddNetwork(spec NetworkSpec) (id string, err error) {
	err = s.change(func() error {
		if s.networks[spec.ID] != nil {
			return taken("network", spec.ID)
		}
		s.segments++
		n := &network{
			standard: s.newStandard(spec.ID, spec.ProjectID, spec.Name, "", slices.Clone(spec.Tags)), adminUp: true, shared: spec.Shared,
			external: spec.External, portSecurity: true, mtu: s.options.MTU, segment: s.segments, kind: "geneve", subnets: []string{},
		}
		if spec.External {
			physical := "public"
			n.kind, n.physical = "flat", &physical
		}
		s.networks[n.id] = n
		id = n.id
		return nil
	})
	return id, err
}

// ShareNetwork lets a project use the network of another project, and see its subnets, as an RBAC
// policy with the action access_as_shared does. It fails with ErrNotFound if there is no such
// network.
func (s *Service) ShareNetwork(networkID, projectID string) error {
	return s.change(func() error {
		n := s.networks[networkID]
		if n == nil {
			return networkMissing(networkID)
		}
		n.guests = append(slices.Clip(n.guests), projectID)
		return nil
	})
}

// AddSubnet adds a subnet and returns its id. It fails if the id exists, the network does not
// exist, or the blocks, pools and gateway contradict each other.
func (s *Service) AddSubnet(spec SubnetSpec) (id string, err error) {
	err = s.change(func() error {
		n := s.networks[spec.NetworkID]
		switch {
		case s.subnets[spec.ID] != nil:
			return taken("subnet", spec.ID)
		case n == nil:
			return networkMissing(spec.NetworkID)
		case !spec.CIDR.IsValid():
			return fmt.Errorf("subnet %q has no CIDR", spec.Name)
		}
		sub := &subnet{
			standard: s.newStandard(spec.ID, spec.ProjectID, spec.Name, "", slices.Clone(spec.Tags)), network: n.id,
			cidr: spec.CIDR.Masked(), dhcp: spec.DHCP, dns: []string{}, routes: []hostRoute{},
		}
		v := values{}
		switch {
		case spec.NoGateway:
			v["gateway_ip"] = nil
		case spec.Gateway.IsValid():
			v["gateway_ip"] = spec.Gateway
		}
		if len(spec.Pools) > 0 {
			v["allocation_pools"] = slices.Clone(spec.Pools)
		}
		if err := s.configure(sub, v); err != nil {
			return fmt.Errorf("subnet %q (%s): %w", spec.Name, spec.CIDR, err)
		}
		id = sub.id
		return s.attach(n, sub)
	})
	return id, err
}

// AddRouter adds a router and returns its id. It fails, and adds nothing, if the id exists or a
// network or subnet does not exist.
func (s *Service) AddRouter(spec RouterSpec) (id string, err error) {
	err = s.change(func() error {
		if s.routers[spec.ID] != nil {
			return taken("router", spec.ID)
		}
		r := &router{standard: s.newStandard(spec.ID, spec.ProjectID, spec.Name, "", nil), adminUp: true, snat: true, interfaces: []string{}, routes: []hostRoute{}}
		if err := s.joinAll(r, spec); err != nil {
			for _, portID := range append(slices.Clone(r.interfaces), r.gateway) {
				if p := s.ports[portID]; p != nil {
					s.removePort(p)
				}
			}
			return fmt.Errorf("router %q: %w", spec.Name, err)
		}
		s.routers[r.id] = r
		id = r.id
		return nil
	})
	return id, err
}

func (s *Service) joinAll(r *router, spec RouterSpec) error {
	if spec.ExternalNetworkID != "" {
		n := s.networks[spec.ExternalNetworkID]
		if n == nil {
			return networkMissing(spec.ExternalNetworkID)
		}
		p := s.routerPort(r, n.id, ownerRouterGateway)
		p.project = ""
		if err := s.plug(n, p, nil); err != nil {
			return err
		}
		r.gateway = p.id
	}
	for _, id := range spec.SubnetIDs {
		sub := s.subnets[id]
		if sub == nil {
			return subnetMissing(id)
		}
		if _, err := s.joinSubnet(r, sub); err != nil {
			return err
		}
	}
	return nil
}

// AddPort adds a port, regardless of the project's quota. It fails if the id exists, the network
// does not exist or the addresses are not available. Its errors wrap the same errors as those of
// AllocateVIP.
func (s *Service) AddPort(spec PortSpec) (info PortInfo, err error) {
	err = s.change(func() error {
		n := s.networks[spec.NetworkID]
		switch {
		case s.ports[spec.ID] != nil:
			return taken("port", spec.ID)
		case n == nil:
			return networkMissing(spec.NetworkID)
		}
		wishes, err := wishesOf(spec.FixedIPs)
		if err != nil {
			return err
		}
		p := &port{
			standard: s.newStandard(spec.ID, spec.ProjectID, spec.Name, "", nil), network: n.id, deviceID: spec.DeviceID, deviceOwner: spec.DeviceOwner,
			host: spec.Host, vnic: "normal", adminUp: true, portSecurity: true, groups: slices.Clone(spec.SecurityGroupIDs), pairs: []addressPair{},
		}
		if len(p.groups) == 0 {
			p.groups = []string{}
			if group := s.ensureDefaultGroup(p.project); group != "" {
				p.groups = []string{group}
			}
		}
		if err := s.plug(n, p, wishes); err != nil {
			return fmt.Errorf("port %q: %w", spec.Name, err)
		}
		info = p.info()
		return nil
	})
	return info, err
}

func (p *port) info() PortInfo {
	return PortInfo{ID: p.id, NetworkID: p.network, DeviceID: p.deviceID, MACAddress: p.mac, FixedIPs: slices.Clone(p.fixed)}
}

func wishesOf(fixed []FixedIP) (wishes []addressWish, err error) {
	for _, f := range fixed {
		w := addressWish{subnet: f.SubnetID}
		if f.IPAddress != "" {
			w.address, err = netip.ParseAddr(f.IPAddress)
			if err != nil {
				return nil, fmt.Errorf("%w: %q", ErrInvalidAddress, f.IPAddress)
			}
		}
		wishes = append(wishes, w)
	}
	return wishes, nil
}

// DeletePort deletes a port; floating IPs on it are disassociated and kept. It
// fails with ErrNotFound if there is no such port.
func (s *Service) DeletePort(id string) error {
	return s.change(func() error {
		p := s.ports[id]
		if p == nil {
			return portMissing(id)
		}
		if err := s.freeOfTrunk(id); err != nil {
			return err
		}
		s.removePort(p)
		return nil
	})
}

// PortsOf returns the ports of a device, such as a server, ordered by id.
func (s *Service) PortsOf(deviceID string) []PortInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	var infos []PortInfo
	for _, p := range inOrder(s.ports, func(p *port) bool { return p.deviceID == deviceID }) {
		infos = append(infos, p.info())
	}
	return infos
}

// Devices returns the ports of all devices whose owner begins with the prefix,
// such as "compute:", by the id of the device, each in the order of creation.
func (s *Service) Devices(ownerPrefix string) map[string][]DevicePort {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []*port
	for _, p := range s.ports {
		if p.deviceID != "" && strings.HasPrefix(p.deviceOwner, ownerPrefix) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b *port) int { return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id)) })
	devices := map[string][]DevicePort{}
	for _, p := range found {
		d := DevicePort{PortInfo: p.info(), NetworkName: s.networks[p.network].name, Status: p.status}
		for _, id := range s.floatingOf[p.id] {
			d.FloatingIPs = append(d.FloatingIPs, s.floatingIPs[id].address)
		}
		devices[p.deviceID] = append(devices[p.deviceID], d)
	}
	return devices
}

func taken(kind, id string) error { return fmt.Errorf("there is a %s %s already", kind, id) }

// Seed describes a typical small cloud: an external network, a private network with an IPv4 and an
// IPv6 subnet, and a router between them.
type Seed struct {
	// ProjectID owns the private network and the router, AdminProjectID the external network.
	// Default security groups are created in both and in Projects.
	ProjectID, AdminProjectID string
	Projects                  []string
	// PublicCIDR and PrivateCIDR are IPv4 blocks. The zero Prefix as PrivateIPv6CIDR means no IPv6
	// subnet.
	PublicCIDR, PrivateCIDR, PrivateIPv6CIDR netip.Prefix
	// PublicPools and PrivatePools are the IPv4 allocation pools; empty means the whole block
	// except the gateway, which is the block's first address.
	PublicPools, PrivatePools []AddressRange
}

// Seeded has the ids of the objects of a Seed. PrivateIPv6SubnetID is empty if there is no such
// subnet.
type Seeded struct {
	PublicNetworkID, PublicSubnetID, PrivateNetworkID, PrivateSubnetID, PrivateIPv6SubnetID, RouterID string
}

// Seed creates the cloud: networks "public" and "private", subnets "public-subnet",
// "private-subnet" and "private-subnet-v6", router "router1".
func (s *Service) Seed(seed Seed) (ids Seeded, err error) {
	err = s.change(func() error {
		for _, project := range append([]string{seed.AdminProjectID, seed.ProjectID}, seed.Projects...) {
			s.ensureDefaultGroup(project)
		}
		return nil
	})
	step := func(to *string, add func() (string, error)) {
		if err == nil {
			*to, err = add()
		}
	}
	step(&ids.PublicNetworkID, func() (string, error) {
		return s.AddNetwork(NetworkSpec{Name: "public", ProjectID: seed.AdminProjectID, External: true})
	})
	step(&ids.PublicSubnetID, func() (string, error) {
		return s.AddSubnet(SubnetSpec{Name: "public-subnet", ProjectID: seed.AdminProjectID, NetworkID: ids.PublicNetworkID, CIDR: seed.PublicCIDR, Pools: seed.PublicPools})
	})
	step(&ids.PrivateNetworkID, func() (string, error) {
		return s.AddNetwork(NetworkSpec{Name: "private", ProjectID: seed.ProjectID})
	})
	step(&ids.PrivateSubnetID, func() (string, error) {
		return s.AddSubnet(SubnetSpec{Name: "private-subnet", ProjectID: seed.ProjectID, NetworkID: ids.PrivateNetworkID, CIDR: seed.PrivateCIDR, Pools: seed.PrivatePools, DHCP: true})
	})
	joined := []string{}
	if seed.PrivateIPv6CIDR.IsValid() {
		step(&ids.PrivateIPv6SubnetID, func() (string, error) {
			return s.AddSubnet(SubnetSpec{Name: "private-subnet-v6", ProjectID: seed.ProjectID, NetworkID: ids.PrivateNetworkID, CIDR: seed.PrivateIPv6CIDR, DHCP: true})
		})
		joined = append(joined, ids.PrivateIPv6SubnetID)
	}
	step(&ids.RouterID, func() (string, error) {
		return s.AddRouter(RouterSpec{
			Name: "router1", ProjectID: seed.ProjectID, ExternalNetworkID: ids.PublicNetworkID, SubnetIDs: append([]string{ids.PrivateSubnetID}, joined...),
		})
	})
	return ids, err
}
