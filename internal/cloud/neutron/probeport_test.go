// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"testing"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
)

func TestOVNChecksMembersFromItsMetadataPortOrFromOneOfProviderOVN(t *testing.T) {
	for name, c := range map[string]struct {
		ports string
		want  bool
	}{
		"no port":             {"", false},
		"a metadata port":     {`{"id": "p", "device_owner": "network:distributed", "fixed_ips": [{"subnet_id": "other"}, {"subnet_id": "nodes"}]}`, true},
		"one of provider ovn": {`{"id": "p", "name": "ovn-lb-hm-nodes", "device_owner": "ovn-lb-hm:distributed", "fixed_ips": [{"subnet_id": "nodes"}]}`, true},
		"of another subnet":   {`{"id": "p", "device_owner": "network:distributed", "fixed_ips": [{"subnet_id": "other"}]}`, false},
		"a port of a server":  {`{"id": "p", "device_owner": "compute:nova", "fixed_ips": [{"subnet_id": "nodes"}]}`, false},
		"without any address": {`{"id": "p", "device_owner": "network:distributed", "fixed_ips": []}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			cloud := newCloud(t, simulator.Options{})
			cloud.listed("ports", c.ports)
			for range 2 { // the second answer is cached
				if got, err := cloud.HasProbePort(t.Context(), "nodes"); err != nil || got != c.want {
					t.Errorf("there is one: %v, %v", got, err)
				}
			}
		})
	}
}

func TestProbePortsOfBothOwnersAreAskedForInOneCall(t *testing.T) {
	for _, owner := range []string{"network:distributed", "ovn-lb-hm:distributed"} {
		t.Run(owner, func(t *testing.T) {
			cloud := newCloud(t, simulator.Options{})
			ids := cloud.IDs()
			spec := simulator.PortSpec{ProjectID: ids.Project, NetworkID: ids.PrivateNetwork, DeviceOwner: owner, FixedIPs: []simulator.FixedIP{{SubnetID: ids.PrivateSubnet}}}
			if _, err := cloud.Neutron().AddPort(spec); err != nil {
				t.Fatal(err)
			}
			if has, err := cloud.HasProbePort(t.Context(), ids.PrivateSubnet); err != nil || !has {
				t.Errorf("%v, %v", has, err)
			}
			cloud.only(1, "GET", "/v2.0/ports")
		})
	}
}

func TestOwnSubnetIsOneOfAnOwnNetwork(t *testing.T) {
	cloud := newCloud(t, simulator.Options{})
	for subnet, want := range map[string]bool{cloud.IDs().PrivateSubnet: true, cloud.IDs().PublicSubnet: false, "none": false} {
		for range 2 { // the second answer is cached
			if own, err := cloud.OwnsSubnet(t.Context(), subnet); err != nil || own != want {
				t.Errorf("subnet %s is own: %v, %v", subnet, own, err)
			}
		}
	}
	cloud.only(3, "GET", "/v2.0/networks")
	// A service that does not support the filter also returns other ports.
	cloud.listed("networks", `{"id": "n", "project_id": "another", "subnets": ["shared"]}`)
	if own, err := cloud.OwnsSubnet(t.Context(), "shared"); err != nil || own {
		t.Errorf("another project's subnet is own: %v, %v", own, err)
	}
}

func TestAFailedLookupOfAProbePortIsAnError(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	for name, fault := range broken() {
		t.Run(name, func(t *testing.T) {
			fault.Route = "/v2.0/ports"
			defer c.Faults().Remove(c.Faults().Add(fault))
			if _, err := c.HasProbePort(t.Context(), c.IDs().PrivateSubnet); openstack.Classify(err) != openstack.Transient {
				t.Errorf("class %q: %v", openstack.Classify(err), err)
			}
			fault.Route = "/v2.0/networks"
			defer c.Faults().Remove(c.Faults().Add(fault))
			if _, err := c.OwnsSubnet(t.Context(), c.IDs().PrivateSubnet); openstack.Classify(err) != openstack.Transient {
				t.Errorf("whose it is, class %q: %v", openstack.Classify(err), err)
			}
		})
	}
}
