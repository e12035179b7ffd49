// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package desired

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// ServiceSubnetProblems says why the subnet cannot have load balancers at the ClusterIPs of a cluster, or returns
// nothing. Kubernetes assigns ClusterIPs without asking Neutron. So Neutron must not assign any address of the Service
// ranges to other ports.
//
// The ranges are those of the cluster, of any family. If none contains the ClusterIP, only the ClusterIP itself counts.
// A range that was added later, outside of the subnet, matters only to the Services that have their ClusterIP in this
// range.
func ServiceSubnetProblems(subnet lb.SubnetPlan, ranges []netip.Prefix, clusterIP netip.Addr) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	ranges = slices.DeleteFunc(slices.Clone(ranges), func(r netip.Prefix) bool { return r.Addr().Is4() != clusterIP.Is4() })
	has := func(r netip.Prefix) bool { return r.Contains(clusterIP) }
	if !slices.ContainsFunc(ranges, has) {
		ranges = append(ranges, netip.PrefixFrom(clusterIP, clusterIP.BitLen()))
	}
	for _, r := range ranges {
		r = r.Masked()
		if has(r) && !contains(subnet.CIDR, r) {
			add("subnet %s has the addresses %s, which do not contain the Service range %s: name a subnet in service-subnet-id that contains it",
				subnet.ID, subnet.CIDR, r)
			continue
		}
		if r.Contains(subnet.Gateway) {
			add("gateway_ip %s of subnet %s is in the Service range %s, so it may be or become a ClusterIP: create the subnet with a gateway outside of %s",
				subnet.Gateway, subnet.ID, r, r)
		}
		for _, pool := range subnet.Pools {
			if overlaps(r, pool) {
				add("allocation pool %s-%s of subnet %s overlaps the Service range %s, so Neutron may assign ClusterIPs to other ports: "+
					"reduce the pools of the subnet to addresses outside of %s", pool.First, pool.Last, subnet.ID, r, r)
			}
		}
	}
	if len(problems) == 0 && subnet.DHCP && len(subnet.Pools) == 0 {
		add("subnet %s has enable_dhcp and no allocation pool, so DHCP finds no address: disable DHCP, or add a pool outside of the Service range", subnet.ID)
	}
	return problems
}

// ServiceSubnetUnusable refuses a Service because of the subnet of the ClusterIPs.
func ServiceSubnetUnusable(problems ...string) *Invalid {
	return invalid(ReasonServiceSubnetUnusable, "service-subnet-id in [ClusterIP] of cloud.conf: %s", strings.Join(problems, "; "))
}

func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// overlaps reports whether the prefix and the pool have a common address: the prefix contains the first address of the
// pool, or the pool contains the first address of the prefix.
func overlaps(r netip.Prefix, pool lb.AddressRange) bool {
	begins := r.Masked().Addr()
	return r.Contains(pool.First) || pool.First.Compare(begins) <= 0 && begins.Compare(pool.Last) <= 0
}
