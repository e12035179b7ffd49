// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudsim_test

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/ports"

	"github.com/kube-octavia/kube-octavia/cloudsim"
	"github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/nova"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// computers makes a client of Nova, in the microversion that shows the names of
// flavors.
func computers(t *testing.T, c *cloudsim.Cloud) *gophercloud.ServiceClient {
	t.Helper()
	compute := client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewComputeV2)
	compute.Microversion = "2.47"
	return compute
}

// list reads all pages of the list of servers.
func list(t *testing.T, compute *gophercloud.ServiceClient) ([]servers.Server, error) {
	t.Helper()
	pages, err := servers.List(compute, servers.ListOpts{}).AllPages(t.Context())
	if err != nil {
		return nil, err
	}
	return servers.ExtractServers(pages)
}

func show(t *testing.T, compute *gophercloud.ServiceClient, id string) *servers.Server {
	t.Helper()
	server, err := servers.Get(t.Context(), compute, id).Extract()
	if err != nil {
		t.Fatal(err)
	}
	return server
}

// kinds returns a server's addresses, by network, as "fixed A" or "floating A".
func kinds(server *servers.Server) map[string][]string {
	all := map[string][]string{}
	for network, addresses := range server.Addresses {
		for _, a := range addresses.([]any) {
			m := a.(map[string]any)
			all[network] = append(all[network], m["OS-EXT-IPS:type"].(string)+" "+m["addr"].(string))
		}
	}
	return all
}

func TestServerHasThePortsThatNeutronSays(t *testing.T) {
	c := start(t, cloudsim.Options{PrivateCIDR: "127.8.0.0/17", PublicCIDR: "127.8.128.0/17", Nodes: []cloudsim.Node{{Name: "node-1"}}})
	compute, network := computers(t, c), client(t, mustLogin(t, passwordOf(c, cloudsim.UserK8s)), openstack.NewNetworkV2)
	id := c.Nova().Servers()[0].ID
	first := c.Neutron().PortsOf(id)
	if len(first) != 1 {
		t.Fatalf("its ports are %v", first)
	}
	port, err := ports.Get(t.Context(), network, first[0].ID).Extract()
	if err != nil || port.Status != "ACTIVE" || port.DeviceID != id || port.DeviceOwner != "compute:nova" {
		t.Errorf("its port is %+v, %v", port, err)
	}

	fip, err := floatingips.Create(t.Context(), network, floatingips.CreateOpts{FloatingNetworkID: c.IDs().PublicNetwork, PortID: first[0].ID}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	storage, err := c.Neutron().AddNetwork(neutron.NetworkSpec{Name: "storage", ProjectID: c.IDs().Project})
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := c.Neutron().AddSubnet(neutron.SubnetSpec{ProjectID: c.IDs().Project, NetworkID: storage, CIDR: netip.MustParsePrefix("10.5.0.0/24")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := c.Neutron().AddPort(neutron.PortSpec{
		ProjectID: c.IDs().Project, NetworkID: storage, DeviceID: id, DeviceOwner: "compute:nova", Host: "compute-1",
		FixedIPs: []neutron.FixedIP{{SubnetID: subnet, IPAddress: "10.5.0.7"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"private": {"fixed 127.8.0.10", "floating " + fip.FloatingIP}, "storage": {"fixed 10.5.0.7"}}
	if diff := cmp.Diff(want, kinds(show(t, compute, id))); diff != "" {
		t.Errorf("its addresses (-want +have): %s", diff)
	}

	if err := floatingips.Delete(t.Context(), network, fip.ID).ExtractErr(); err != nil {
		t.Fatal(err)
	}
	if err := c.Neutron().DeletePort(second.ID); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]string{"private": {"fixed 127.8.0.10"}}, kinds(show(t, compute, id))); diff != "" {
		t.Errorf("its addresses (-want +have): %s", diff)
	}
	if err := c.RemoveServer(id); err != nil {
		t.Fatal(err)
	}
	if left := c.Neutron().PortsOf(id); len(left) > 0 {
		t.Errorf("left are %v", left)
	}
	if _, err := servers.Get(t.Context(), compute, id).Extract(); !gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
		t.Errorf("the server that was removed: %v", err)
	}
}

func TestServersAreChangedByGoCalls(t *testing.T) {
	c := start(t, cloudsim.Options{Nodes: []cloudsim.Node{{Name: "node-1"}}})
	compute, id := computers(t, c), c.Nova().Servers()[0].ID
	before := show(t, compute, id)
	if before.HostID != nova.HostID(c.IDs().Project, "compute-1") || before.AvailabilityZone != "nova" || before.Flavor["original_name"] != "m1.small" {
		t.Errorf("it begins as %+v", before)
	}
	err := c.Nova().Update(id, func(s *nova.Server) {
		s.ID = "another" // is ignored
		s.Name, s.Flavor, s.Status, s.AvailabilityZone = "renamed", "m1.large", "SHUTOFF", "zone with blanks"
		s.HostID, s.AccessIPv4, s.AccessIPv6, s.Metadata = "", "192.0.2.1", "2001:db8::1", map[string]string{"k": "v"}
	})
	if err != nil {
		t.Fatal(err)
	}
	s := show(t, compute, id)
	got := []any{s.Name, s.Flavor["original_name"], s.Status, s.AvailabilityZone, s.HostID, s.AccessIPv4, s.AccessIPv6, s.Metadata, kinds(s)}
	want := []any{"renamed", "m1.large", "SHUTOFF", "zone with blanks", "", "192.0.2.1", "2001:db8::1", map[string]string{"k": "v"}, kinds(before)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("it is (-want +have): %s", diff)
	}
	if err := c.Nova().Update(id, func(s *nova.Server) { s.Flavor, s.Name = "nonsense", "x" }); err == nil {
		t.Error("a flavor that is not there was taken")
	}
	if name := show(t, compute, id).Name; name != "renamed" {
		t.Errorf("after a failed change its name is %s", name)
	}
	if err := c.Nova().Update("unknown", func(*nova.Server) {}); err == nil {
		t.Error("a server that is not there was changed")
	}
}

func TestListOfServersWithFaults(t *testing.T) {
	const route = "/v2.1/servers/detail"
	c := start(t, cloudsim.Options{Nova: nova.Options{MaxLimit: 2}})
	for _, name := range []string{"node-1", "node-2", "node-3", "node-4", "node-5"} {
		if _, err := c.AddServer(name); err != nil {
			t.Fatal(err)
		}
	}
	compute := computers(t, c)
	var all []string // page by page
	found, err := list(t, compute)
	if err != nil || len(found) != 5 {
		t.Fatalf("found %v, %v", found, err)
	}
	for _, server := range found {
		all = append(all, server.ID)
	}
	fault := wire.Fault{Service: cloudsim.Compute, Method: http.MethodGet, Route: route, Times: 1}
	with := func(change func(*wire.Fault)) wire.Fault {
		f := fault
		change(&f)
		return f
	}
	for _, test := range []struct {
		name    string
		fault   wire.Fault
		calls   int
		fails   bool
		missing []string
	}{
		{"with 500", with(func(f *wire.Fault) { f.Kind, f.Status = wire.FaultStatus, 500 }), 1, true, nil},
		{"with 503 for its second page", with(func(f *wire.Fault) { f.Kind, f.Status, f.Skip = wire.FaultStatus, 503, 1 }), 2, true, nil},
		{"as half an answer for its last page", with(func(f *wire.Fault) { f.Kind, f.Skip = wire.FaultHalfBody, 2 }), 3, true, nil},
		{"slowly", with(func(f *wire.Fault) { f.Kind, f.Delay = wire.FaultLatency, time.Millisecond }), 3, false, nil},
		{"without two servers and without an error", with(func(f *wire.Fault) { f.Kind, f.Times, f.Missing = wire.FaultPartialList, 0, []string{all[0], all[3]} }), 3, false, []string{all[0], all[3]}},
	} {
		t.Run(test.name, func(t *testing.T) {
			c.Recorder().Reset()
			c.Faults().Add(test.fault)
			defer c.Faults().Clear()
			found, err := list(t, compute)
			if (err != nil) != test.fails {
				t.Fatalf("the list fails with %v", err)
			}
			if calls := c.Recorder().Counts()["GET "+route]; calls != test.calls {
				t.Errorf("%d calls, want %d", calls, test.calls)
			}
			if test.fails {
				return
			}
			var ids []string
			for _, server := range found {
				ids = append(ids, server.ID)
			}
			want := slices.DeleteFunc(slices.Clone(all), func(id string) bool { return slices.Contains(test.missing, id) })
			slices.Sort(ids)
			slices.Sort(want)
			if diff := cmp.Diff(want, ids); diff != "" {
				t.Errorf("found (-want +have): %s", diff)
			}
		})
	}
}
