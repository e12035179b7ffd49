// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
)

// lastAddress returns the highest address of the prefix, for IPv4 the broadcast address.
func lastAddress(p netip.Prefix) netip.Addr {
	if p.Addr().Is4() {
		a := p.Masked().Addr().As4()
		host := uint32(1)<<(32-p.Bits()) - 1 // 0 bits: shifting by 32 gives 0, and all ones
		binary.BigEndian.PutUint32(a[:], binary.BigEndian.Uint32(a[:])|host)
		return netip.AddrFrom4(a)
	}
	a := p.Masked().Addr().As16()
	for bit := p.Bits(); bit < 128; bit++ {
		a[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom16(a)
}

// hosts returns the range of addresses that Neutron may choose for hosts.
func hosts(p netip.Prefix) AddressRange {
	first, last := p.Masked().Addr(), lastAddress(p)
	if first == last {
		return AddressRange{first, last}
	}
	if p.Addr().Is6() {
		return AddressRange{first.Next(), last}
	}
	if p.Bits() > 30 {
		return AddressRange{first, last}
	}
	return AddressRange{first.Next(), last.Prev()}
}

// defaultPools returns the pools of a subnet that is created without pools: all hosts except the
// gateway.
func defaultPools(p netip.Prefix, gateway netip.Addr) []AddressRange {
	all := hosts(p)
	if !gateway.IsValid() || !all.contains(gateway) {
		return []AddressRange{all}
	}
	var pools []AddressRange
	if gateway != all.First {
		pools = append(pools, AddressRange{all.First, gateway.Prev()})
	}
	if gateway != all.Last {
		pools = append(pools, AddressRange{gateway.Next(), all.Last})
	}
	return pools
}

// fits reports whether a port of that owner may have the address in the subnet.
func fits(p netip.Prefix, addr netip.Addr, owner string) bool {
	if !p.Contains(addr) {
		return false
	}
	if p.Addr().Is4() {
		return p.Bits() > 30 || addr != p.Addr() && addr != lastAddress(p)
	}
	return addr != p.Addr() || owner == "" || owner == ownerRouterInterface || owner == ownerRouterGateway
}

func checkGateway(cidr netip.Prefix, gateway netip.Addr) error {
	switch {
	case !gateway.IsValid():
		return nil
	case gateway.Is4() != cidr.Addr().Is4():
		version := 4
		if cidr.Addr().Is6() {
			version = 6
		}
		return invalidInput("gateway_ip '%s' does not match the ip_version '%d'", gateway, version)
	case cidr.Addr().Is4() && (gateway == cidr.Addr() || gateway == lastAddress(cidr)):
		return invalidInput("Gateway is not valid on subnet")
	}
	return nil
}

func checkPools(cidr netip.Prefix, gateway netip.Addr, pools []AddressRange) error {
	all := hosts(cidr)
	for i, p := range pools {
		shown := p.First.String() + "-" + p.Last.String()
		switch {
		case p.First.Is4() != cidr.Addr().Is4() || p.Last.Is4() != cidr.Addr().Is4() || p.Last.Less(p.First):
			return refuse(http.StatusBadRequest, "InvalidAllocationPool", "The allocation pool %s is not valid.", shown)
		case !all.contains(p.First) || !all.contains(p.Last):
			return refuse(http.StatusBadRequest, "OutOfBoundsAllocationPool", "The allocation pool %s spans beyond the subnet cidr %s.", shown, cidr)
		case gateway.IsValid() && p.contains(gateway):
			return conflict("GatewayConflictWithAllocationPools", "Gateway ip %s conflicts with allocation pool %s.", gateway, shown)
		}
		for _, other := range pools[:i] {
			if other.contains(p.First) || p.contains(other.First) {
				return conflict("OverlappingAllocationPools", "Found overlapping allocation pools: %s-%s %s for subnet %s.", other.First, other.Last, shown, cidr)
			}
		}
	}
	return nil
}

// checkDHCP refuses DHCP where Neutron does, except in loopback networks, which the simulated cloud
// uses.
func checkDHCP(cidr netip.Prefix, dhcp bool) error {
	most := 30
	if cidr.Addr().Is6() {
		most = 126
	}
	switch {
	case !dhcp:
		return nil
	case cidr.Bits() > most:
		return invalidInput("Subnet has a prefix length that is incompatible with DHCP service enabled")
	case cidr.Addr().IsMulticast():
		return invalidInput("Multicast IP subnet is not supported if enable_dhcp is True")
	case cidr.Addr().Is4() && cidr.Addr().IsUnspecified():
		return invalidInput("First IP '0.0.0.0' of network is not supported if enable_dhcp is True.")
	}
	return nil
}

// automaticAddress returns the address that a host with the MAC address configures itself in an
// IPv6 subnet of 64 bits (modified EUI-64).
func automaticAddress(cidr netip.Prefix, mac string) netip.Addr {
	a := cidr.Addr().As16()
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return netip.Addr{}
	}
	copy(a[8:11], hw[:3])
	a[8] ^= 2
	a[11], a[12] = 0xff, 0xfe
	copy(a[13:], hw[3:])
	return netip.AddrFrom16(a)
}
