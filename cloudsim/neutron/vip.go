// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// VIPRequest is Octavia's request for a VIP. At least one of PortID, SubnetID and NetworkID must be
// set; they take precedence in this order.
type VIPRequest struct {
	LoadBalancerID, ProjectID string
	// Provider is the load balancer's provider. With "ovn" the port looks like those of this
	// provider, otherwise like those of the amphora provider.
	Provider                    string
	SubnetID, NetworkID, PortID string
	// Address is the requested address; empty means any. With PortID it must be one of the port's.
	Address string
	// Additional are further addresses, in subnets of the same network. With
	// PortID they are the port's addresses in these subnets.
	Additional []VIPAddress
}

// VIPAddress is an address in a subnet. In a request an empty address means any.
type VIPAddress struct {
	SubnetID, Address string
}

// VIP is the VIP that Octavia gets.
type VIP struct {
	PortID, NetworkID, SubnetID, Address string
	Additional                           []VIPAddress
	// Created means that the port was created for the VIP and is deleted with it.
	Created bool
}

// SubnetInfo has what Octavia needs to know about a subnet.
type SubnetInfo struct {
	ID, NetworkID, CIDR string
	IPVersion           int // 4 or 6
}

// AllocateVIP creates a VIP port, which belongs to the project and counts towards its quota, or
// uses the given port. Its errors wrap ErrNotFound, ErrAddressInUse, ErrInvalidAddress,
// ErrAmbiguous, ErrQuota, ErrNoAddresses or a PortInUseError; then nothing has changed. It does not
// check the project's access to networks, because Octavia uses Neutron with its own account: call
// Subnet and Network before.
func (s *Service) AllocateVIP(req VIPRequest) (vip VIP, err error) {
	err = s.change(func() error {
		if req.PortID != "" {
			vip, err = s.vipOnPort(req)
		} else {
			vip, err = s.newVIP(req)
		}
		return err
	})
	if err != nil {
		return VIP{}, fmt.Errorf("VIP of load balancer %s: %w", req.LoadBalancerID, err)
	}
	return vip, nil
}

// vipOnPort uses a port that the user created. Of several addresses in the subnet of the VIP
// Octavia takes the first, even if another one was requested. It does not mark the port as used,
// and replaces its security groups.
func (s *Service) vipOnPort(req VIPRequest) (VIP, error) {
	p := s.ports[req.PortID]
	if p == nil {
		return VIP{}, portMissing(req.PortID)
	}
	if p.deviceID != "" {
		return VIP{}, &PortInUseError{p.id, p.deviceID}
	}
	if req.SubnetID == "" && req.Address == "" && len(p.fixed) != 1 {
		return VIP{}, fmt.Errorf("%w: port %s has %d addresses", ErrAmbiguous, p.id, len(p.fixed))
	}
	at := slices.IndexFunc(p.fixed, func(f FixedIP) bool {
		return (req.SubnetID == "" || req.SubnetID == f.SubnetID) && (req.Address == "" || sameAddress(req.Address, f.IPAddress))
	})
	if at < 0 {
		return VIP{}, fmt.Errorf("%w: port %s has no address that fits (subnet %q, address %q)", ErrInvalidAddress, p.id, req.SubnetID, req.Address)
	}
	vip := VIP{PortID: p.id, NetworkID: p.network, SubnetID: p.fixed[at].SubnetID}
	for _, f := range p.fixed {
		wished := slices.ContainsFunc(req.Additional, func(a VIPAddress) bool { return a.SubnetID == f.SubnetID })
		switch {
		case vip.Address == "" && f.SubnetID == vip.SubnetID:
			vip.Address = f.IPAddress
		case wished:
			vip.Additional = append(vip.Additional, VIPAddress{SubnetID: f.SubnetID, Address: f.IPAddress})
		}
	}
	if s.vipGroups[p.id] == "" {
		p.groups = []string{s.newVIPGroup(p.id, req.LoadBalancerID)}
	}
	return vip, nil
}

func sameAddress(a, b string) bool {
	x, errX := netip.ParseAddr(a)
	y, errY := netip.ParseAddr(b)
	return errX == nil && errY == nil && x == y
}

// newVIP creates a VIP port.
func (s *Service) newVIP(req VIPRequest) (VIP, error) {
	n, wishes, err := s.vipWishes(req)
	if err != nil {
		return VIP{}, err
	}
	if err := s.checkQuota(req.ProjectID, "port", 1); err != nil {
		return VIP{}, err
	}
	p := &port{
		standard: s.newStandard("", req.ProjectID, "octavia-lb-"+req.LoadBalancerID, "", nil), network: n.id,
		deviceID: "lb-" + req.LoadBalancerID, deviceOwner: ownerOctavia, status: "DOWN", vnic: "normal",
		portSecurity: n.portSecurity, groups: []string{}, pairs: []addressPair{}, madeByOctavia: true,
	}
	if req.Provider == "ovn" {
		p.name, p.deviceOwner, p.adminUp = "ovn-lb-vip-"+req.LoadBalancerID, "", true
	}
	if err := s.plug(n, p, wishes); err != nil {
		return VIP{}, err
	}
	if req.Provider != "ovn" {
		p.groups = []string{s.newVIPGroup(p.id, req.LoadBalancerID)}
	}
	granted := inWishedOrder(p.fixed, wishes)
	vip := VIP{PortID: p.id, NetworkID: n.id, SubnetID: granted[0].SubnetID, Address: granted[0].Address, Created: true}
	vip.Additional = append(vip.Additional, granted[1:]...)
	return vip, nil
}

// inWishedOrder returns a port's addresses in the order of the wishes that they fulfil. At least
// one must fulfil the first wish.
func inWishedOrder(fixed []FixedIP, wishes []addressWish) []VIPAddress {
	left := slices.Clone(fixed)
	granted := make([]VIPAddress, len(wishes))
	// A wish for any address must not get the address that another wish names.
	for _, named := range []bool{true, false} {
		for i, w := range wishes {
			at := slices.IndexFunc(left, func(f FixedIP) bool {
				return f.SubnetID == w.subnet && (!named || f.IPAddress == w.address.String())
			})
			if w.address.IsValid() == named && at >= 0 {
				granted[i] = VIPAddress{SubnetID: left[at].SubnetID, Address: left[at].IPAddress}
				left = slices.Delete(left, at, at+1)
			}
		}
	}
	return slices.DeleteFunc(granted, func(a VIPAddress) bool { return a.Address == "" })
}

// vipWishes returns the network of the VIP and the addresses, the VIP's own first.
func (s *Service) vipWishes(req VIPRequest) (*network, []addressWish, error) {
	subnetID, err := s.vipSubnet(req)
	if err != nil {
		return nil, nil, err
	}
	var wishes []addressWish
	for _, a := range append([]VIPAddress{{subnetID, req.Address}}, req.Additional...) {
		sub := s.subnets[a.SubnetID]
		if sub == nil {
			return nil, nil, subnetMissing(a.SubnetID)
		}
		if sub.network != s.subnets[subnetID].network {
			return nil, nil, fmt.Errorf("%w: subnet %s is in another network than subnet %s", ErrInvalidAddress, a.SubnetID, subnetID)
		}
		w := addressWish{subnet: a.SubnetID}
		if a.Address != "" {
			w.address, err = netip.ParseAddr(a.Address)
			if err != nil {
				return nil, nil, fmt.Errorf("%w: %q", ErrInvalidAddress, a.Address)
			}
			w.address = w.address.Unmap()
		}
		wishes = append(wishes, w)
	}
	return s.networks[s.subnets[subnetID].network], wishes, nil
}

// vipSubnet chooses the subnet of a VIP as Octavia does: if only a network is given, the subnet
// that contains the address or, without an address, the first IPv4 subnet.
func (s *Service) vipSubnet(req VIPRequest) (string, error) {
	if req.SubnetID != "" {
		if s.subnets[req.SubnetID] == nil {
			return "", subnetMissing(req.SubnetID)
		}
		return req.SubnetID, nil
	}
	n := s.networks[req.NetworkID]
	if n == nil {
		return "", networkMissing(req.NetworkID)
	}
	wanted, _ := netip.ParseAddr(req.Address)
	i := slices.IndexFunc(n.subnets, func(id string) bool {
		sub := s.subnets[id]
		if req.Address != "" {
			return sub.cidr.Contains(wanted)
		}
		return sub.ipVersion() == 4
	})
	switch {
	case i >= 0:
		return n.subnets[i], nil
	case req.Address != "":
		return "", fmt.Errorf("%w: network %s has no subnet with %s", ErrInvalidAddress, n.id, req.Address)
	case len(n.subnets) == 0:
		return "", fmt.Errorf("%w: network %s has no subnet", ErrInvalidAddress, n.id)
	}
	return n.subnets[0], nil
}

// newVIPGroup creates the security group of a VIP's port, in a project without tenants, and returns
// its id.
func (s *Service) newVIPGroup(portID, loadBalancerID string) string {
	g := s.newGroup("", s.serviceProject, "lb-"+loadBalancerID, "", true)
	s.vipGroups[portID] = g.id
	return g.id
}

// ReleaseVIP deletes the VIP port if AllocateVIP created it. It keeps any other port, but removes the VIP's
// security group from it. The floating IPs of a deleted port are disassociated and kept. A port that does not
// exist any more is not an error.
func (s *Service) ReleaseVIP(portID string) error {
	return s.change(func() error {
		switch p := s.ports[portID]; {
		case p == nil:
		case p.madeByOctavia:
			s.removePort(p)
		default:
			p.groups = slices.DeleteFunc(slices.Clone(p.groups), func(id string) bool { return id == s.vipGroups[portID] })
		}
		if g := s.groups[s.vipGroups[portID]]; g != nil && !s.groupInUse(g.id) {
			s.dropGroup(g)
		}
		delete(s.vipGroups, portID)
		return nil
	})
}

// Subnet looks up a subnet that the project can see: Octavia lets a project use only these. With an
// empty project it looks up any subnet.
func (s *Service) Subnet(projectID, id string) (SubnetInfo, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.visibleSubnet(onBehalfOf(projectID), id)
	if sub == nil {
		return SubnetInfo{}, false
	}
	return SubnetInfo{ID: sub.id, NetworkID: sub.network, CIDR: sub.cidr.String(), IPVersion: sub.ipVersion()}, true
}

// Network reports whether there is a network that the project can see; with an
// empty project, any.
func (s *Service) Network(projectID, id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.visibleNetwork(onBehalfOf(projectID), id) != nil
}

// onBehalfOf returns a caller that sees what the project sees, or everything if the project is
// empty.
func onBehalfOf(projectID string) wire.Identity {
	if projectID == "" {
		return wire.Identity{Roles: []string{"admin"}}
	}
	return wire.Identity{ProjectID: projectID}
}
