// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNetworkingAndRouteAreRead(t *testing.T) {
	got := mustParse(t, credentials+`[Networking]
ipv6-support-disabled = true
public-network-name = public
public-network-name = dmz
internal-network-name = "k8s nodes"
address-sort-order = 10.0.0.0/16, fd00::1/64
[Route]
router-id = 0F1E2D3C-1111-4222-8333-444455556666
`)
	want := Config{
		Networking: Networking{
			IPv6Disabled: true, PublicNetworks: []string{"public", "dmz"}, InternalNetworks: []string{"k8s nodes"},
			SortOrder: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd00::/64")},
		},
		Route: Route{RouterID: "0f1e2d3c-1111-4222-8333-444455556666"},
	}
	if diff := cmp.Diff(want, Config{Networking: got.Networking, Route: got.Route}, cmpopts.EquateComparable(netip.Prefix{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
