// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"net/http"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSeededCloudHasFloatingIPs(t *testing.T) {
	c := newCloud(t, Options{})
	want := map[string]int{
		"networks": 2, "subnets": 3, "routers": 1, "floatingips": 0,
		"ports":           3, // the router's gateway and one interface per subnet
		"security_groups": 3, "security_group_rules": 12, "trunks": 0,
	}
	if diff := cmp.Diff(want, c.Counts()); diff != "" {
		t.Error(diff)
	}
	if got := c.floatingIP(`, "port_id": "` + c.port() + `"`)["status"]; got != "ACTIVE" {
		t.Errorf("status of a floating IP on a port: %v", got)
	}
}

func TestObjectsAreAddedWithGivenIDs(t *testing.T) {
	s := New(Options{})
	network, err := s.AddNetwork(NetworkSpec{ID: "net", Name: "n", ProjectID: "p", Tags: []string{"t"}})
	if err != nil || network != "net" {
		t.Fatal(network, err)
	}
	subnet, err := s.AddSubnet(SubnetSpec{ID: "sub", NetworkID: "net", ProjectID: "p", CIDR: netip.MustParsePrefix("10.0.0.0/24"), Gateway: netip.MustParseAddr("10.0.0.254")})
	if err != nil || subnet != "sub" {
		t.Fatal(subnet, err)
	}
	router, err := s.AddRouter(RouterSpec{ID: "router", ProjectID: "p", SubnetIDs: []string{"sub"}})
	if err != nil || router != "router" {
		t.Fatal(router, err)
	}
	port, err := s.AddPort(PortSpec{ID: "port", ProjectID: "p", NetworkID: "net", DeviceID: "server", Host: "h", FixedIPs: []FixedIP{{IPAddress: "10.0.0.7"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := PortInfo{ID: "port", NetworkID: "net", DeviceID: "server", MACAddress: port.MACAddress, FixedIPs: []FixedIP{{SubnetID: "sub", IPAddress: "10.0.0.7"}}}
	if diff := cmp.Diff(want, port); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]PortInfo{want}, s.PortsOf("server")); diff != "" {
		t.Error(diff)
	}
	for name, add := range map[string]func() error{
		"network": func() error { _, err := s.AddNetwork(NetworkSpec{ID: "net"}); return err },
		"subnet":  func() error { _, err := s.AddSubnet(SubnetSpec{ID: "sub", NetworkID: "net"}); return err },
		"router":  func() error { _, err := s.AddRouter(RouterSpec{ID: "router"}); return err },
		"port":    func() error { _, err := s.AddPort(PortSpec{ID: "port", NetworkID: "net"}); return err },
	} {
		t.Run(name, func(t *testing.T) {
			if add() == nil {
				t.Errorf("a second %s with the same id is no error", name)
			}
		})
	}
	if err := s.DeletePort("port"); err != nil {
		t.Error(err)
	}
	if err := s.DeletePort("port"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the second deletion: %v, want ErrNotFound", err)
	}
}

func TestInvalidRouterOfASeedLeavesNothingBehind(t *testing.T) {
	c := newCloud(t, Options{})
	before := c.Counts()
	_, err := c.AddRouter(RouterSpec{ProjectID: alice.ProjectID, ExternalNetworkID: c.ids.PublicNetworkID, SubnetIDs: []string{"x"}})
	if !errors.Is(err, ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	if diff := cmp.Diff(before, c.Counts()); diff != "" {
		t.Error(diff)
	}
	c.call(alice, "GET", "/v2.0/routers", "").must(http.StatusOK)
}
