// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"net/netip"
	"slices"
)

// allocate allocates the addresses of a port in the network: the requested ones or, if wishes is
// nil, one of each IP version. It allocates all of them or none.
func (s *Service) allocate(n *network, wishes []addressWish, owner, mac string) (fixed []FixedIP, err error) {
	defer func() {
		if err != nil {
			s.release(fixed)
			fixed = nil
		}
	}()
	fixed = []FixedIP{}
	if wishes == nil {
		fixed, err = s.allocateAny(n)
		if err != nil {
			return fixed, err
		}
	}
	// Specific addresses are allocated first, so that none of them is chosen for a wish without an
	// address.
	wishes = slices.Clone(wishes)
	slices.SortStableFunc(wishes, func(a, b addressWish) int {
		switch {
		case a.address.IsValid() == b.address.IsValid():
			return 0
		case a.address.IsValid():
			return -1
		}
		return 1
	})
	for _, w := range wishes {
		got, err := s.allocateWish(n, w, owner)
		if err != nil {
			return fixed, err
		}
		fixed = append(fixed, got...)
	}
	if owner == ownerRouterInterface || owner == ownerRouterGateway {
		return fixed, nil
	}
	return s.allocateAutomatic(n, fixed, mac)
}

// allocateAny chooses one address of each IP version that has a subnet in the network.
func (s *Service) allocateAny(n *network) (fixed []FixedIP, err error) {
	fixed = []FixedIP{}
	for _, version := range []int{4, 6} {
		offered := false
		found := slices.ContainsFunc(n.subnets, func(id string) bool {
			sub := s.subnets[id]
			if sub.ipVersion() != version || sub.automatic() {
				return false
			}
			offered = true
			addr, ok := sub.free.take()
			if ok {
				fixed = append(fixed, FixedIP{SubnetID: id, IPAddress: addr.String()})
			}
			return ok
		})
		if offered && !found {
			return fixed, noAddresses(n.id)
		}
	}
	return fixed, nil
}

// allocateAutomatic adds the addresses that a host configures itself, in the subnets with automatic
// addresses.
func (s *Service) allocateAutomatic(n *network, fixed []FixedIP, mac string) ([]FixedIP, error) {
	for _, id := range n.subnets {
		sub := s.subnets[id]
		if !sub.automatic() || slices.ContainsFunc(fixed, func(f FixedIP) bool { return f.SubnetID == id }) {
			continue
		}
		addr := automaticAddress(sub.cidr, mac)
		if !sub.free.claim(addr) {
			return fixed, alreadyAllocated(addr, id)
		}
		fixed = append(fixed, FixedIP{SubnetID: id, IPAddress: addr.String()})
	}
	return fixed, nil
}

// allocateWish returns no address if the wish names only a subnet with automatic addresses.
func (s *Service) allocateWish(n *network, w addressWish, owner string) ([]FixedIP, error) {
	sub, err := s.subnetOfWish(n, w, owner)
	if err != nil {
		return nil, err
	}
	router := owner == ownerRouterInterface || owner == ownerRouterGateway
	addr := w.address
	switch {
	case sub.automatic() && !router && !addr.IsValid():
		return nil, nil
	case sub.automatic() && !router:
		return nil, refuse(http.StatusBadRequest, "AllocationOnAutoAddressSubnet",
			"IPv6 address %s cannot be directly assigned to a port on subnet %s as the subnet is configured for automatic addresses", addr, sub.id).because(ErrInvalidAddress)
	case addr.IsValid():
		if !sub.free.claim(addr) {
			return nil, alreadyAllocated(addr, sub.id)
		}
	default:
		var ok bool
		addr, ok = sub.free.take()
		if !ok {
			return nil, noAddresses(n.id)
		}
	}
	return []FixedIP{{SubnetID: sub.id, IPAddress: addr.String()}}, nil
}

// subnetOfWish finds the subnet of the network that can fulfil the wish.
func (s *Service) subnetOfWish(n *network, w addressWish, owner string) (*subnet, error) {
	switch {
	case len(n.subnets) == 0:
		return nil, invalidInput("IP allocation requires subnets for network")
	case w.subnet != "":
		sub := s.subnets[w.subnet]
		switch {
		case sub == nil:
			return nil, subnetMissing(w.subnet)
		case sub.network != n.id:
			return nil, invalidInput("Failed to create port on network %s, because fixed_ips included invalid subnet %s", n.id, w.subnet)
		case w.address.IsValid() && !fits(sub.cidr, w.address, owner):
			return nil, refuse(http.StatusBadRequest, "InvalidIpForSubnet", "IP address %s is not a valid IP for the specified subnet.", w.address).because(ErrInvalidAddress)
		}
		return sub, nil
	case !w.address.IsValid():
		return nil, invalidInput("IP allocation requires subnet_id or ip_address")
	}
	for _, id := range n.subnets {
		if fits(s.subnets[id].cidr, w.address, owner) {
			return s.subnets[id], nil
		}
	}
	return nil, refuse(http.StatusBadRequest, "InvalidIpForNetwork", "IP address %s is not a valid IP for any of the subnets on the specified network.", w.address).because(ErrInvalidAddress)
}

// reallocate changes the addresses of a port. It keeps those that are requested again.
func (s *Service) reallocate(n *network, p *port, wishes []addressWish) error {
	var kept, dropped []FixedIP
	var fresh []addressWish
	for _, w := range wishes {
		has := slices.IndexFunc(p.fixed, func(f FixedIP) bool {
			return !slices.Contains(kept, f) && (w.subnet == "" || w.subnet == f.SubnetID) && (!w.address.IsValid() || w.address.String() == f.IPAddress)
		})
		if has < 0 || w == (addressWish{}) {
			fresh = append(fresh, w)
			continue
		}
		kept = append(kept, p.fixed[has])
	}
	for _, f := range p.fixed {
		if slices.Contains(kept, f) {
			continue
		}
		if s.subnets[f.SubnetID].automatic() && p.deviceOwner != ownerRouterInterface {
			kept = append(kept, f) // the client cannot remove automatic addresses
			continue
		}
		dropped = append(dropped, f)
	}
	added := []FixedIP{}
	for _, w := range fresh {
		got, err := s.allocateWish(n, w, p.deviceOwner)
		if err != nil {
			s.release(added)
			return err
		}
		added = append(added, got...)
	}
	s.release(dropped)
	p.fixed = append(slices.Clip(kept), added...)
	if p.fixed == nil {
		p.fixed = []FixedIP{}
	}
	return nil
}

// release frees addresses in their subnets.
func (s *Service) release(fixed []FixedIP) {
	for _, f := range fixed {
		if addr, err := netip.ParseAddr(f.IPAddress); err == nil && s.subnets[f.SubnetID] != nil {
			s.subnets[f.SubnetID].free.release(addr)
		}
	}
}

func alreadyAllocated(addr netip.Addr, subnetID string) *apiError {
	return conflict("IpAddressAlreadyAllocated", "IP address %s already allocated in subnet %s", addr, subnetID).because(ErrAddressInUse)
}

func noAddresses(networkID string) *apiError {
	return conflict("IpAddressGenerationFailure", "No more IP addresses available on network %s.", networkID).because(ErrNoAddresses)
}
