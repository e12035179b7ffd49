// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
)

// addressesPerBalancer is the maximum number of addresses that a load balancer needs in the subnet of its VIP:
// with provider amphora the VIP and two amphorae.
const addressesPerBalancer = 3

// checkAddresses compares the free addresses with what the Services without a load balancer need.
func checkAddresses(f facts, r *Result) {
	c, ok := f.configured(r)
	if !ok || !r.Has(f.Cloud.Network.Subnets.Missing, "openstack subnet list") {
		return
	}
	need := len(waiting(f))
	seen, external := map[string]bool{}, map[string]bool{}
	for _, s := range sections(c) {
		for _, subnet := range f.vipSubnets(s) {
			if s.AtClusterIP == nil && subnet.IPVersion == 4 && !seen[subnet.ID] {
				seen[subnet.ID] = true
				checkVIPSubnet(f, r, subnet, need, capabilities(f, s.Provider).OVN())
			}
		}
		if s.FloatingNetworkID != "" && !s.Internal {
			external[s.FloatingNetworkID] = true
		}
	}
	if len(seen) == 0 {
		r.Saw("the subnet of VIPs is unknown, or has only IPv6, so its free addresses were not counted")
	}
	for _, n := range f.externals() {
		if external[n.ID] || len(external) == 0 && !c.LoadBalancer.Internal {
			checkExternal(f, r, n, need)
		}
	}
}

// checkVIPSubnet counts the free addresses of a subnet of VIPs.
func checkVIPSubnet(f facts, r *Result, subnet Subnet, need int, ovn bool) {
	free, known := f.free(subnet)
	if !known {
		r.Has(f.Cloud.Network.InVIPNetworks.Missing, "openstack port list --network "+subnet.NetworkID)
		return
	}
	each := addressesPerBalancer
	if ovn {
		each = 1
	}
	text := fmt.Sprintf("subnet %s of VIPs has %s", subnet.Name, Plural(free, "free address"))
	const why = "Each load balancer takes addresses in it: the VIP and, with provider amphora, one or two for the amphorae."
	do := fmt.Sprintf("Extend its allocation pools: `openstack subnet set --allocation-pool start=FIRST,end=LAST %s`; or set subnet-id to a larger subnet; or delete what is not needed.", subnet.ID)
	switch wanted := fmt.Sprintf("%s, and %s no load balancer yet", text, have(need)); {
	case free == 0:
		r.Found(Error, text, why, do)
	case free < need:
		r.Found(Error, wanted, why, do)
	case free < each*max(need, 1):
		r.Found(Warning, wanted, why, do)
	default:
		r.Saw(text)
	}
}

// checkExternal counts the free addresses of an external network, which usually only administrators can read.
func checkExternal(f facts, r *Result, n Net, need int) {
	i := slices.IndexFunc(f.Cloud.Network.Availability.Value, func(a Availability) bool { return a.NetworkID == n.ID })
	if !f.Cloud.Network.Availability.OK() || i < 0 {
		r.Saw(fmt.Sprintf("the free addresses of external network %s are unknown: usually only administrators can read them (`openstack ip availability show %s`)", n.Name, n.ID))
		return
	}
	free := 0.0
	for _, s := range f.Cloud.Network.Availability.Value[i].Subnets {
		if s.IPVersion == 4 {
			free += s.Total - s.Used
		}
	}
	text := fmt.Sprintf("external network %s has %s", n.Name, Plural(int(free), "free address"))
	const why = "Each external Service needs a floating IP."
	const do = "Release floating IPs that are not needed (`openstack floating ip list --status DOWN`), or ask the operator of the cloud for more addresses."
	switch {
	case free < 1:
		r.Found(Error, text, why, do)
	case int(free) < need:
		r.Found(Warning, fmt.Sprintf("%s, and %s no load balancer yet", text, have(need)), why, do)
	default:
		r.Saw(text)
	}
}

// have returns "1 Service has" or "2 Services have".
func have(n int) string {
	if n == 1 {
		return Plural(n, "Service") + " has"
	}
	return Plural(n, "Service") + " have"
}

// free returns the number of free addresses of an IPv4 subnet: Neutron's count or, without it, the size of the
// allocation pools minus the ports that the project sees. Without these it is unknown.
func (f facts) free(subnet Subnet) (n int, known bool) {
	for _, a := range f.Cloud.Network.Availability.Value {
		for _, s := range a.Subnets {
			if s.SubnetID == subnet.ID {
				return int(s.Total - s.Used), true
			}
		}
	}
	if !f.Cloud.Network.InVIPNetworks.OK() {
		return 0, false
	}
	used := map[netip.Addr]bool{}
	for _, p := range f.Cloud.Network.InVIPNetworks.Value {
		for _, ip := range p.FixedIPs {
			if a, err := netip.ParseAddr(ip.Address); err == nil && ip.SubnetID == subnet.ID {
				used[a] = true
			}
		}
	}
	for _, pool := range subnet.Pools {
		first, err1 := netip.ParseAddr(pool.Start)
		last, err2 := netip.ParseAddr(pool.End)
		if err1 != nil || err2 != nil || !first.Is4() || !last.Is4() {
			continue
		}
		n += int(number(last)) - int(number(first)) + 1
		for a := range used {
			if first.Compare(a) <= 0 && a.Compare(last) <= 0 {
				n--
			}
		}
	}
	return n, true
}

// number returns an IPv4 address as a number.
func number(a netip.Addr) uint32 {
	bytes := a.As4()
	return binary.BigEndian.Uint32(bytes[:])
}
