// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package instances

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/internal/settings/config"
)

// fixed returns addresses as Nova lists them.
func fixed(addresses ...string) []Address {
	var all []Address
	for _, a := range addresses {
		all = append(all, Address{Address: a, Type: "fixed"})
	}
	return all
}

// port returns an active port of server s.
func port(id, network string, addresses ...string) Port {
	p := Port{ID: id, DeviceID: "s", NetworkID: network, Status: "ACTIVE"}
	for _, a := range addresses {
		p.FixedIPs = append(p.FixedIPs, FixedIP{Address: a})
	}
	return p
}

func inventory(ports ...Port) Inventory {
	inv := Inventory{Ports: map[string]Port{}, Networks: map[string]string{"n-private": "private", "n-vlan": "vlan", "n-storage": "storage"}}
	for _, p := range ports {
		inv.Ports[p.ID] = p
	}
	return inv
}

func TestAddressesOfANode(t *testing.T) {
	private := port("p1", "n-private", "10.0.0.5", "fd00::5")
	storage := port("p2", "n-storage", "192.168.9.5")
	down := port("p3", "n-private", "10.0.0.99")
	down.Status = "DOWN"
	subport := port("p4", "n-vlan", "172.16.0.5")
	subport.DeviceID = ""
	parent := port("p5", "n-private", "10.0.0.6")
	parent.Trunk = &Trunk{SubPorts: []SubPort{{PortID: "p4"}, {PortID: "unknown"}}}
	both := map[string][]Address{"storage": fixed("192.168.9.5"), "private": append(fixed("10.0.0.5", "fd00::5"), Address{"203.0.113.7", "floating"})}
	for name, test := range map[string]struct {
		inventory  Inventory
		server     Server
		networking config.Networking
		want       string
	}{
		"fixed addresses come first, floating IPs are external": {
			inventory: inventory(private, storage), server: Server{Addresses: both},
			want: "InternalIP 10.0.0.5, InternalIP fd00::5, InternalIP 192.168.9.5, ExternalIP 203.0.113.7",
		},
		"ports are in the order of their ids": {
			inventory: inventory(storage, private, port("p0", "n-private", "10.0.0.4")),
			want:      "InternalIP 10.0.0.4, InternalIP 10.0.0.5, InternalIP fd00::5, InternalIP 192.168.9.5",
		},
		"ports that are not active do not count": {
			inventory: inventory(private, down), want: "InternalIP 10.0.0.5, InternalIP fd00::5",
		},
		"what Nova alone lists comes last, in the order of the networks": {
			inventory: inventory(private), server: Server{Addresses: map[string][]Address{"b": fixed("10.2.0.1"), "a": fixed("10.3.0.1")}},
			want: "InternalIP 10.0.0.5, InternalIP fd00::5, InternalIP 10.3.0.1, InternalIP 10.2.0.1",
		},
		"no IPv6": {
			inventory: inventory(private, storage), server: Server{Addresses: both, AccessIPv6: "fd00::9"}, networking: config.Networking{IPv6Disabled: true},
			want: "InternalIP 10.0.0.5, InternalIP 192.168.9.5, ExternalIP 203.0.113.7",
		},
		"access addresses and the host name of the metadata": {
			inventory: inventory(private), server: Server{AccessIPv4: "198.51.100.1", AccessIPv6: "2001:db8::1", Metadata: map[string]string{"hostname": "node-1.example.com"}},
			want: "InternalIP 10.0.0.5, InternalIP fd00::5, ExternalIP 198.51.100.1, ExternalIP 2001:db8::1, Hostname node-1.example.com",
		},
		"addresses of a public network are external only": {
			inventory: inventory(private, storage), server: Server{Addresses: both}, networking: config.Networking{PublicNetworks: []string{"storage"}},
			want: "InternalIP 10.0.0.5, InternalIP fd00::5, ExternalIP 203.0.113.7, ExternalIP 192.168.9.5",
		},
		"with internal networks the others are left out, but not floating IPs": {
			inventory: inventory(private, storage), server: Server{Addresses: both}, networking: config.Networking{InternalNetworks: []string{"storage"}},
			want: "InternalIP 192.168.9.5, ExternalIP 203.0.113.7",
		},
		"subports of a trunk": {
			inventory: inventory(parent, subport), server: Server{Addresses: map[string][]Address{"private": fixed("10.0.0.6")}},
			want: "InternalIP 10.0.0.6, InternalIP 172.16.0.5",
		},
		"a subport in a public network": {
			inventory: inventory(parent, subport), networking: config.Networking{PublicNetworks: []string{"vlan"}},
			want: "InternalIP 10.0.0.6, ExternalIP 172.16.0.5",
		},
		"preferred CIDRs come first, in ascending order, the rest stays": {
			inventory:  inventory(port("p1", "n", "10.0.0.9", "10.0.0.2", "192.168.9.5", "172.16.0.1")),
			server:     Server{Metadata: map[string]string{"hostname": "n1"}},
			networking: config.Networking{SortOrder: []netip.Prefix{netip.MustParsePrefix("192.168.0.0/16"), netip.MustParsePrefix("10.0.0.0/8")}},
			want:       "InternalIP 192.168.9.5, InternalIP 10.0.0.2, InternalIP 10.0.0.9, InternalIP 172.16.0.1, Hostname n1",
		},
		"what is no address is left out": {
			inventory: inventory(port("p1", "n", "", "nonsense", "10.0.0.1")), want: "InternalIP 10.0.0.1",
		},
		"a server without ports": {inventory: inventory(), want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			test.server.ID = "s"
			var got []string
			for _, a := range test.inventory.Addresses(test.server, test.networking) {
				got = append(got, string(a.Type)+" "+a.Address)
			}
			if diff := cmp.Diff(test.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
