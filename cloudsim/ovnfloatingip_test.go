// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/listeners"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/loadbalancers"
	"github.com/gophercloud/gophercloud/v2/openstack/loadbalancer/v2/pools"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"

	"github.com/kube-octavia/kube-octavia/cloudsim"
)

func TestProviderOVNMissesAFloatingIPThatIsAttachedWhileItAddsTheSecondProtocol(t *testing.T) {
	for name, test := range map[string]struct {
		provider string
		method   pools.LBMethod
		early    bool
		want     string
	}{
		"ovn, attached during the create":     {"ovn", pools.LBMethodSourceIpPort, true, ""},
		"ovn, attached after the create":      {"ovn", pools.LBMethodSourceIpPort, false, "node-1"},
		"amphora, attached during the create": {"amphora", pools.LBMethodRoundRobin, true, "node-1"},
	} {
		t.Run(name, func(t *testing.T) {
			c := start(t, cloudsim.Options{DataPlane: true, Provider: test.provider, BuildTime: time.Second, Nodes: []cloudsim.Node{{Name: "node-1"}}})
			octavia, neutron := balancers(t, c)
			member := backend(t, c.Nova().Servers()[0].Interfaces[0].FixedIPs[0].Address, "node-1")
			lb, err := loadbalancers.Create(t.Context(), octavia, loadbalancers.CreateOpts{
				Name: "dns", VipSubnetID: c.IDs().PrivateSubnet,
				Listeners: []listeners.CreateOpts{
					{Name: "udp", Protocol: listeners.ProtocolUDP, ProtocolPort: 5300},
					{Name: "tcp", Protocol: listeners.ProtocolTCP, ProtocolPort: front, DefaultPool: &pools.CreateOpts{
						Name: "tcp", Protocol: pools.ProtocolTCP, LBMethod: test.method,
						Members: []pools.CreateMemberOpts{{Address: member.Addr().String(), ProtocolPort: int(member.Port())}},
					}},
				},
			}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			if !test.early {
				hasEverything(t, octavia, lb.ID)
			}
			fip, err := floatingips.Create(t.Context(), neutron, floatingips.CreateOpts{FloatingNetworkID: c.IDs().PublicNetwork, PortID: lb.VipPortID}).Extract()
			if err != nil {
				t.Fatal(err)
			}
			hasEverything(t, octavia, lb.ID)
			eventually(t, "an answer through the VIP", func() bool { return ask(lb.VipAddress) == "node-1" })
			if got := ask(fip.FloatingIP); got != test.want {
				t.Errorf("the floating IP answers %q, not %q", got, test.want)
			}
			for _, port := range []string{"", lb.VipPortID} {
				if _, err := floatingips.Update(t.Context(), neutron, fip.ID, floatingips.UpdateOpts{PortID: &port}).Extract(); err != nil {
					t.Fatal(err)
				}
			}
			if got := ask(fip.FloatingIP); got != "node-1" {
				t.Errorf("attached again, the floating IP answers %q", got)
			}
		})
	}
}
