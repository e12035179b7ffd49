// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/netip"
	"testing"

	"pgregory.net/rapid"
)

func TestAllocatorNeverGivesAnAddressTwiceAndFindsEveryFreeOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		block := rapid.SampledFrom([]string{"10.0.0.0/28", "10.0.0.0/27", "fd00::/124"}).Draw(t, "block")
		prefix := netip.MustParsePrefix(block)
		pools := drawPools(t, prefix)
		a := newAllocator(pools)
		used := map[netip.Addr]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				addr, ok := a.take()
				if free := freeIn(pools, used); ok != (free > 0) {
					t.Fatalf("take() found %v: %v, with %d free", addr, ok, free)
				}
				if ok && (used[addr] || !inPools(pools, addr)) {
					t.Fatalf("take() gave %v, which is used or in no pool", addr)
				}
				if ok {
					used[addr] = true
				}
			},
			"claim": func(t *rapid.T) {
				addr := drawAddress(t, prefix)
				if ok := a.claim(addr); ok == used[addr] {
					t.Fatalf("claim(%v) = %v, used before: %v", addr, ok, used[addr])
				}
				used[addr] = true
			},
			"release": func(t *rapid.T) {
				addr := drawAddress(t, prefix)
				a.release(addr)
				delete(used, addr)
			},
			"setPools": func(t *rapid.T) {
				pools = drawPools(t, prefix)
				a.setPools(pools)
			},
		})
	})
}

// drawPools cuts a block into two pools that do not overlap, in any order.
func drawPools(t *rapid.T, prefix netip.Prefix) []AddressRange {
	all := hosts(prefix)
	cut := rapid.SampledFrom(list(all)[:len(list(all))-1]).Draw(t, "cut")
	pools := []AddressRange{{all.First, cut}, {cut.Next(), all.Last}}
	if rapid.Bool().Draw(t, "swap") {
		pools[0], pools[1] = pools[1], pools[0]
	}
	return pools[:rapid.IntRange(0, 2).Draw(t, "pools")]
}

func list(r AddressRange) []netip.Addr {
	var all []netip.Addr
	for a := r.First; r.contains(a); a = a.Next() {
		all = append(all, a)
	}
	return all
}

func drawAddress(t *rapid.T, prefix netip.Prefix) netip.Addr {
	return rapid.SampledFrom(list(AddressRange{prefix.Addr(), lastAddress(prefix)})).Draw(t, "address")
}

func inPools(pools []AddressRange, addr netip.Addr) bool {
	for _, p := range pools {
		if p.contains(addr) {
			return true
		}
	}
	return false
}

func freeIn(pools []AddressRange, used map[netip.Addr]bool) int {
	free := 0
	for _, p := range pools {
		for _, addr := range list(p) {
			if !used[addr] {
				free++
			}
		}
	}
	return free
}

func TestAllocatorReusesTheLowestFreedAddressFirst(t *testing.T) {
	a := newAllocator(defaultPools(netip.MustParsePrefix("10.0.0.0/24"), netip.MustParseAddr("10.0.0.1")))
	for range 10 {
		a.take()
	}
	a.release(netip.MustParseAddr("10.0.0.9"))
	a.release(netip.MustParseAddr("10.0.0.4"))
	for _, want := range []string{"10.0.0.4", "10.0.0.9", "10.0.0.12"} {
		if got, ok := a.take(); !ok || got.String() != want {
			t.Errorf("take() = %v, %v, want %s", got, ok, want)
		}
	}
}

func TestAllocatorFillsALargeBlock(t *testing.T) {
	pools := defaultPools(netip.MustParsePrefix("10.0.0.0/17"), netip.Addr{})
	a := newAllocator(pools)
	n := 0
	for ; ; n++ {
		if _, ok := a.take(); !ok {
			break
		}
	}
	if want := 1<<15 - 2; n != want {
		t.Errorf("%d addresses in a /17, want %d", n, want)
	}
}

func TestDefaultPoolsLeaveTheGatewayOut(t *testing.T) {
	for _, test := range []struct {
		name                string
		cidr, gateway, want string
	}{
		{"gateway is the first address", "10.0.0.0/24", "10.0.0.1", "10.0.0.2-10.0.0.254"},
		{"gateway is the last address", "10.0.0.0/24", "10.0.0.254", "10.0.0.1-10.0.0.253"},
		{"gateway is in the middle", "10.0.0.0/24", "10.0.0.9", "10.0.0.1-10.0.0.8 10.0.0.10-10.0.0.254"},
		{"gateway is outside", "10.0.0.0/24", "10.9.9.9", "10.0.0.1-10.0.0.254"},
		{"a subnet of two addresses", "10.0.0.0/31", "10.0.0.1", "10.0.0.0-10.0.0.0"},
		{"a subnet of one address", "10.0.0.7/32", "", "10.0.0.7-10.0.0.7"},
		{"IPv6", "fd00::/64", "fd00::1", "fd00::2-fd00::ffff:ffff:ffff:ffff"},
	} {
		t.Run(test.name, func(t *testing.T) {
			gateway, _ := netip.ParseAddr(test.gateway)
			got := ""
			for _, p := range defaultPools(netip.MustParsePrefix(test.cidr), gateway) {
				got += " " + p.First.String() + "-" + p.Last.String()
			}
			if got != " "+test.want {
				t.Errorf("pools of %s with gateway %q are%s, want %s", test.cidr, test.gateway, got, test.want)
			}
		})
	}
}

func TestAutomaticAddressIsDerivedFromTheMACAddress(t *testing.T) {
	got := automaticAddress(netip.MustParsePrefix("fd00:1::/64"), "fa:16:3e:12:34:56")
	if want := "fd00:1::f816:3eff:fe12:3456"; got.String() != want {
		t.Errorf("address %v, want %s", got, want)
	}
}
