// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/attributestags"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/groups"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// client is gophercloud on a served Neutron, as alice.
func (c *cloud) client() *gophercloud.ServiceClient {
	return apitest.Gophercloud(c.t, wire.Options{Service: "network", Mux: c.Mux(), Public: Public, NotFound: NotFound}, alice)
}

func TestGophercloudManagesFloatingIPs(t *testing.T) {
	c := newCloud(t, Options{})
	client, ctx := c.client(), t.Context()
	port := c.port()
	made, err := floatingips.Create(ctx, client, floatingips.CreateOpts{FloatingNetworkID: c.ids.PublicNetworkID, PortID: port, Description: "d"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	_, err = floatingips.Create(ctx, client, floatingips.CreateOpts{FloatingNetworkID: c.ids.PublicNetworkID, PortID: port}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("a second floating IP on the port: %v", err)
	}
	pages, err := floatingips.List(client, floatingips.ListOpts{PortID: port}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := floatingips.ExtractFloatingIPs(pages)
	if err != nil || len(listed) != 1 {
		t.Fatalf("listed %v, %v", listed, err)
	}
	if diff := cmp.Diff(*made, listed[0]); diff != "" {
		t.Error(diff)
	}
	off, err := floatingips.Update(ctx, client, made.ID, floatingips.UpdateOpts{PortID: new(string)}).Extract()
	if err != nil || off.PortID != "" || off.FixedIP != "" {
		t.Errorf("disassociated: %+v, %v", off, err)
	}
	tags, err := attributestags.ReplaceAll(ctx, client, "floatingips", made.ID, attributestags.ReplaceAllOpts{Tags: []string{"x"}}).Extract()
	if err != nil || !cmp.Equal(tags, []string{"x"}) {
		t.Errorf("tags %v, %v", tags, err)
	}
	if err := floatingips.Delete(ctx, client, made.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
	if _, err := floatingips.Get(ctx, client, made.ID).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("after the deletion: %v", err)
	}
}

func TestGophercloudFindsNetworksPageByPage(t *testing.T) {
	c := newCloud(t, Options{})
	client, ctx := c.client(), t.Context()
	pages, err := networks.List(client, networks.ListOpts{Limit: 1}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	found, err := networks.ExtractNetworks(pages)
	if err != nil || len(found) != 2 {
		t.Fatalf("networks %v, %v", found, err)
	}
	subnet, err := subnets.Get(ctx, client, c.ids.PrivateSubnetID).Extract()
	if err != nil || subnet.GatewayIP != "127.16.0.1" || len(subnet.AllocationPools) != 1 {
		t.Errorf("subnet %+v, %v", subnet, err)
	}
	if _, err := subnets.Create(ctx, client, subnets.CreateOpts{NetworkID: c.ids.PrivateNetworkID, IPVersion: 4, CIDR: "10.0.0.0/24"}).Extract(); err != nil {
		t.Error(err)
	}
	if _, err := quotas.GetDetail(ctx, client, alice.ProjectID).Extract(); err != nil {
		t.Error(err)
	}
}

func TestGophercloudPutsSecurityGroupsOnPorts(t *testing.T) {
	c := newCloud(t, Options{})
	client, ctx := c.client(), t.Context()
	group, err := groups.Create(ctx, client, groups.CreateOpts{Name: "g"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	rule := rules.CreateOpts{SecGroupID: group.ID, Direction: rules.DirIngress, EtherType: rules.EtherType4, Protocol: rules.ProtocolTCP, PortRangeMin: 80, PortRangeMax: 80}
	if _, err := rules.CreateBulk(ctx, client, []rules.CreateOpts{rule}).Extract(); err != nil {
		t.Error(err)
	}
	if _, err := rules.Create(ctx, client, rule).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("the same rule again: %v", err)
	}
	port := c.port()
	revision := 1
	changed, err := ports.Update(ctx, client, port, ports.UpdateOpts{SecurityGroups: &[]string{group.ID}, RevisionNumber: &revision}).Extract()
	if err != nil || !cmp.Equal(changed.SecurityGroups, []string{group.ID}) {
		t.Fatalf("port %+v, %v", changed, err)
	}
	_, err = ports.Update(ctx, client, port, ports.UpdateOpts{SecurityGroups: &[]string{}, RevisionNumber: &revision}).Extract()
	if !gophercloud.ResponseCodeIs(err, http.StatusPreconditionFailed) {
		t.Errorf("a change bound to an old revision: %v", err)
	}
	pages, err := ports.List(client, ports.ListOpts{SecurityGroups: []string{group.ID}, FixedIPs: []ports.FixedIPOpts{{SubnetID: c.ids.PrivateSubnetID}}}).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if found, err := ports.ExtractPorts(pages); err != nil || len(found) != 1 || found[0].ID != port {
		t.Errorf("ports in the group: %v, %v", found, err)
	}
	if err := groups.Delete(ctx, client, group.ID).ExtractErr(); !gophercloud.ResponseCodeIs(err, http.StatusConflict) {
		t.Errorf("deletion of a group in use: %v", err)
	}
}
