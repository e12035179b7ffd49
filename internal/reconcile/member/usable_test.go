// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package member

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

func TestAnAddressIsJudgedByTheSubnetOfTheMembers(t *testing.T) {
	const always, inside, never = "also without a subnet", "only in the subnet", "never"
	for address, c := range map[string]struct{ subnet, usable string }{
		"10.0.0.7":         {"10.0.0.0/24", always},
		"192.0.2.7":        {"10.0.0.0/24", always},
		"169.254.1.1":      {"169.254.1.0/24", inside},
		"fe80::1":          {"fe80::/64", inside},
		"127.0.0.1":        {"127.0.0.0/24", inside},
		"::1":              {"::/64", inside},
		"127.20.0.7":       {"127.20.0.0/24", always}, // while the subnet is not known, it may be in there
		"0.0.0.0":          {"0.0.0.0/0", never},
		"::":               {"::/0", never},
		"224.0.0.1":        {"224.0.0.0/24", never},
		"ff02::1":          {"ff02::/64", never},
		"255.255.255.255":  {"255.255.255.0/24", never},
		"169.254.169.254":  {"169.254.0.0/16", never},
		"fe80::a9fe:a9fe":  {"fe80::/64", never},
		"2001:db8::":       {"2001:db8::/64", always},
		"2001:db8::ffff":   {"2001:db8::/112", always},
		"240.0.0.1":        {"240.0.0.0/24", always},
		"10.0.0.1":         {"10.0.0.0/31", always},
		"10.0.0.4":         {"10.0.0.4/32", always},
		"172.16.255.255":   {"172.16.0.0/15", always},
		"172.17.255.254":   {"172.16.0.0/15", always},
		"100.64.0.1":       {"100.64.0.0/10", always},
		"203.0.113.255":    {"10.0.0.0/24", always},
		"2001:db8:1::1234": {"2001:db8::/64", always},
	} {
		got, a := never, netip.MustParseAddr(address)
		switch {
		case usable(a, netip.Prefix{}):
			got = always
		case usable(a, netip.MustParsePrefix(c.subnet)):
			got = inside
		}
		if got != c.usable {
			t.Errorf("%s in %s is usable %s, want %s", address, c.subnet, got, c.usable)
		}
		if c.usable == always && !usable(a, netip.MustParsePrefix(c.subnet)) {
			t.Errorf("%s is not usable in %s", address, c.subnet)
		}
	}
	if !usable(netip.MustParseAddr("127.20.0.7"), netip.MustParsePrefix("127.21.0.0/24")) {
		t.Error("in a cloud on one machine a router leads to no other subnet")
	}
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	for _, address := range []string{"10.0.0.0", "10.0.0.255", "127.0.0.1", "127.20.0.7", "169.254.1.1", "fe80::1", "::1"} {
		if usable(netip.MustParseAddr(address), subnet) {
			t.Errorf("%s is usable from %s", address, subnet)
		}
	}
}

func TestABadFirstAddressDoesNotHideAGoodSecondOne(t *testing.T) {
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	for name, c := range map[string]struct {
		addresses []string
		want      string
	}{
		"the metadata address":        {[]string{"InternalIP", "169.254.169.254", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"a mapped metadata address":   {[]string{"InternalIP", "::ffff:169.254.169.254", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"unspecified":                 {[]string{"InternalIP", "0.0.0.0", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"multicast":                   {[]string{"InternalIP", "224.0.0.1", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"loopback":                    {[]string{"InternalIP", "127.0.0.1", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"the subnet's broadcast":      {[]string{"InternalIP", "10.0.0.255", "InternalIP", "10.0.1.7"}, "10.0.1.7"},
		"the network's own address":   {[]string{"InternalIP", "10.0.0.0", "ExternalIP", "192.0.2.7"}, "192.0.2.7"},
		"a zone":                      {[]string{"InternalIP", "fe80::1%eth0", "InternalIP", "10.0.0.7"}, "10.0.0.7"},
		"the other way round":         {[]string{"InternalIP", "10.0.0.7", "InternalIP", "169.254.169.254"}, "10.0.0.7"},
		"nothing but bad ones":        {[]string{"InternalIP", "169.254.169.254", "ExternalIP", "127.0.0.1"}, ""},
		"bad internal, good external": {[]string{"InternalIP", "169.254.0.3", "ExternalIP", "192.0.2.7"}, "192.0.2.7"},
	} {
		t.Run(name, func(t *testing.T) {
			n := node("n", addresses(c.addresses...))
			choice := Choice{Family: corev1.IPv4Protocol, Subnet: subnet}
			targets, addressless := Nodes([]corev1.Node{n}, choice)
			left := Unusable([]corev1.Node{n}, choice)
			if c.want == "" {
				if len(targets) > 0 || !slices.Equal(addressless, []string{"n"}) || len(left) != 1 || left[0].Node != "n" {
					t.Errorf("targets %v, without an address %v, left out %v", targets, addressless, left)
				}
				return
			}
			if len(targets) != 1 || targets[0].Address.String() != c.want || len(left) > 0 {
				t.Errorf("targets %v, want %s; left out %v", targets, c.want, left)
			}
		})
	}
}

func TestANodeIsLeftOutForItsAddressesOnlyIfItHasSome(t *testing.T) {
	nodes := []corev1.Node{
		node("bad", addresses("InternalIP", "169.254.169.254", "ExternalIP", "0.0.0.0")),
		node("none", addresses()),
		node("other family", addresses("InternalIP", "2001:db8::1")),
		node("good"),
		node("excluded", addresses("InternalIP", "0.0.0.0"), label("node.kubernetes.io/exclude-from-external-load-balancers", "")),
	}
	want := []LeftOut{{Node: "bad", Addresses: []netip.Addr{netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("0.0.0.0")}}}
	if diff := cmp.Diff(want, Unusable(nodes, Choice{Family: corev1.IPv4Protocol}), cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
}

// anyNode is a node with up to three addresses of any kind.
func anyNode(name string) *rapid.Generator[corev1.Node] {
	address := rapid.OneOf(
		rapid.SampledFrom([]string{
			"169.254.169.254", "169.254.7.7", "0.0.0.0", "224.0.0.1", "239.1.2.3", "127.0.0.1", "127.33.0.1", "255.255.255.255", "10.0.0.0", "10.0.0.255",
			"::ffff:169.254.169.254", "::ffff:10.0.0.9", "::", "::1", "ff02::1", "fe80::1", "fe80::1%eth0", "fe80::a9fe:a9fe", "", "x", "010.0.0.1",
			"10.0.0.7", "10.0.1.7", "192.0.2.1", "2001:db8::7",
		}),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 4, 4), func(b []byte) string { a, _ := netip.AddrFromSlice(b); return a.String() }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 16, 16), func(b []byte) string { a, _ := netip.AddrFromSlice(b); return a.String() }),
	)
	return rapid.Custom(func(t *rapid.T) corev1.Node {
		var all []string
		for range rapid.IntRange(0, 3).Draw(t, "addresses") {
			all = append(all, rapid.SampledFrom([]string{"InternalIP", "ExternalIP", "Hostname"}).Draw(t, "type"), address.Draw(t, "address"))
		}
		return node(name, addresses(all...))
	})
}

func TestOneBadNodeDoesNotChangeTheTargetsMadeOfTheOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		family := rapid.SampledFrom([]corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}).Draw(t, "family")
		choice := Choice{Family: family, Named: rapid.Bool().Draw(t, "named"), Type: corev1.NodeAddressType(rapid.SampledFrom([]string{"", "InternalIP", "ExternalIP"}).Draw(t, "type"))}
		choice.Subnet = rapid.SampledFrom([]netip.Prefix{
			{}, netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("127.33.0.0/16"), netip.MustParsePrefix("169.254.0.0/16"), netip.MustParsePrefix("2001:db8::/64"),
		}).Draw(t, "subnet")
		var nodes []corev1.Node
		for i := range rapid.IntRange(1, 6).Draw(t, "nodes") {
			nodes = append(nodes, anyNode(string(rune('a'+i))).Draw(t, "node"))
		}
		targets, _ := Nodes(nodes, choice)
		for _, target := range targets {
			a := target.Address
			special := a.IsLinkLocalUnicast() || a.IsLoopback()
			if a.IsUnspecified() || a.IsMulticast() || a.Zone() != "" || a.Is4In6() || a == metadataV4 || special && choice.Subnet.IsValid() && !choice.Subnet.Contains(a) && !choice.Subnet.Addr().IsLoopback() ||
				a.String() == "127.0.0.1" {
				t.Errorf("%s of node %s is a target, from subnet %v", a, target.Node, choice.Subnet)
			}
		}
		one := rapid.IntRange(0, len(nodes)-1).Draw(t, "one")
		without, _ := Nodes(slices.Delete(slices.Clone(nodes), one, one+1), choice)
		others := slices.DeleteFunc(slices.Clone(targets), func(t Target) bool { return t.Node == nodes[one].Name })
		if !slices.Equal(others, without) {
			t.Errorf("without node %s the targets are %v, with it %v", nodes[one].Name, without, targets)
		}
	})
}
