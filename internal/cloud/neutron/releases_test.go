// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/kube-octavia/kube-octavia/internal/model/lb"
	"github.com/kube-octavia/kube-octavia/internal/model/securitygroup"
	"github.com/kube-octavia/kube-octavia/test/mutate"
)

// readAll is everything that is read from the answers.
type readAll struct {
	FloatingIPs []lb.FloatingIP
	VIPPorts    map[string]bool
	Network     string
	Subnet      string
	CIDR        netip.Prefix
	Plan        lb.SubnetPlan
	Own         bool
	Ports       []securitygroup.Port
}

func TestAnswersOfOtherReleasesMeanTheSame(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(transport http.RoundTripper) (all readAll) {
		client, err := through(transport), error(nil)
		all.FloatingIPs, err = client.FloatingIPs(t.Context())
		must(err)
		all.VIPPorts, err = client.ExistingPorts(t.Context(), vipPorts)
		must(err)
		all.Network, err = client.ExternalNetwork(t.Context())
		must(err)
		all.Subnet, err = client.SubnetOfAddress(t.Context(), "10.0.0.2")
		must(err)
		all.CIDR, err = client.CIDR(t.Context(), all.Subnet)
		must(err)
		all.Plan, err = client.SubnetPlan(t.Context(), all.Subnet, 0)
		must(err)
		all.Own, err = client.OwnsSubnet(t.Context(), all.Subnet)
		must(err)
		all.Ports, err = client.PortsOfServers(t.Context(), "server")
		must(err)
		return all
	}
	document := mutate.Parse(answers)
	want := read(&mutate.Cloud{Document: document, Words: words})
	rapid.Check(t, func(t *rapid.T) {
		newer := mutate.Newer{Next: &mutate.Cloud{Document: document, Words: words}, Choose: mutate.Choices(rapid.Uint64().Draw(t, "seed"))}
		if diff := cmp.Diff(want, read(newer), cmpopts.EquateComparable(netip.Prefix{}, netip.Addr{})); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
