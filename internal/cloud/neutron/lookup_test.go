// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

func TestABrokenListOfPortsIsAnErrorAndNeverEmpty(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	port := c.port("10.0.200.1")
	for name, fault := range broken() {
		t.Run(name, func(t *testing.T) {
			fault.Route = "/v2.0/ports"
			defer c.Faults().Remove(c.Faults().Add(fault))
			if there, err := c.ExistingPorts(t.Context(), []string{port}); openstack.Classify(err) != openstack.Transient || there != nil {
				t.Errorf("there %v, class %q: %v", there, openstack.Classify(err), err)
			}
			if id, err := c.SubnetOfAddress(t.Context(), "10.0.200.1"); openstack.Classify(err) != openstack.Transient || id != "" {
				t.Errorf("subnet %q, class %q: %v", id, openstack.Classify(err), err)
			}
		})
	}
	if id, err := c.SubnetOfAddress(t.Context(), "10.0.200.1"); err != nil || id != c.IDs().PrivateSubnet {
		t.Errorf("a failure is remembered: subnet %q, error %v", id, err)
	}
}

// listed makes the next list of the collection return these objects.
func (c *cloud) listed(collection string, objects string) {
	c.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusOK, Route: "/v2.0/" + collection, Times: 1,
		Body: fmt.Sprintf(`{%q: [%s]}`, strings.ReplaceAll(collection, "-", "_"), objects)})
}

func TestConcurrentLookupsShareOneCall(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	// The first call is held until all callers wait.
	hang := c.Faults().Add(wire.Fault{Kind: wire.FaultHang, Route: "/v2.0/networks"})
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if id, err := c.ExternalNetwork(t.Context()); err != nil || id != c.IDs().PublicNetwork {
				t.Errorf("network %q, error %v", id, err)
			}
		})
	}
	eventually(t, "the call is held", func() bool { return c.Faults().Held() == 1 })
	c.Faults().Remove(hang)
	all.Wait()
	counts := c.Recorder().Counts()
	if diff := cmp.Diff(map[string]int{"GET /v2.0/networks": 1, "GET /v2.0/subnets": 1}, counts); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestALookupOutlivesItsFirstCaller(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if id, err := c.ExternalNetwork(ctx); err != nil || id != c.IDs().PublicNetwork {
		t.Errorf("network %q, error %v", id, err)
	}
}

func TestAFailedLookupIsNotCached(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	for _, route := range []string{"/v2.0/networks", "/v2.0/subnets"} {
		t.Run(route, func(t *testing.T) {
			for name, fault := range broken() {
				t.Run(name, func(t *testing.T) {
					fault.Route = route
					added := c.Faults().Add(fault)
					if id, err := c.ExternalNetwork(t.Context()); openstack.Classify(err) != openstack.Transient || id != "" {
						t.Errorf("network %q, class %q: %v", id, openstack.Classify(err), err)
					}
					c.Faults().Remove(added)
				})
			}
		})
	}
	for range 2 {
		if id, err := c.ExternalNetwork(t.Context()); err != nil || id != c.IDs().PublicNetwork {
			t.Errorf("network %q, error %v", id, err)
		}
	}
}

func TestTheFirstExternalNetworkByNameWithIPv4IsUsed(t *testing.T) {
	const six, four = `{"id": "s6", "network_id": "n", "ip_version": 6}`, `{"id": "s4", "network_id": "n", "ip_version": 4}`
	for name, one := range map[string]struct {
		networks string
		subnets  []string // of each network, in the order of names
		want     string
	}{
		"the first by name":                   {`{"id": "2", "name": "b"}, {"id": "1", "name": "a"}`, []string{four}, "1"},
		"the first by id among those of name": {`{"id": "2", "name": "a"}, {"id": "1", "name": "a"}`, []string{four}, "1"},
		"one whose subnets may not be seen":   {`{"id": "2", "name": "b"}, {"id": "1", "name": "a"}`, []string{""}, "1"},
		"not one with IPv6 only":              {`{"id": "2", "name": "b"}, {"id": "1", "name": "a"}`, []string{six, six + "," + four}, "2"},
		"none has IPv4":                       {`{"id": "1", "name": "a"}`, []string{six}, ""},
		"there is none":                       {``, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, simulator.Options{})
			c.listed("networks", one.networks)
			for i, s := range one.subnets {
				c.listed("subnets", strings.ReplaceAll(s, `"n"`, strconv.Quote(strconv.Itoa(i+1))))
			}
			id, err := c.ExternalNetwork(t.Context())
			if id != one.want {
				t.Errorf("network %q, want %q", id, one.want)
			}
			if q := c.queries("/v2.0/networks"); len(q) != 1 || q[0].Get("router:external") != "true" {
				t.Errorf("the queries are %v", q)
			}
			switch {
			case one.want != "" && err != nil:
				t.Error(err)
			case one.want == "" && (openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), "floating-network-id")):
				t.Errorf("class %q, want one that says what to set: %v", openstack.Classify(err), err)
			}
		})
	}
}

func TestTheSubnetsOfVIPsAreTheFirstByNameOfEachFamilyUnlessOneIsGiven(t *testing.T) {
	const a4, b4 = `{"id": "a4", "name": "a", "network_id": "n", "ip_version": 4}`, `{"id": "b4", "name": "b", "network_id": "n", "ip_version": 4}`
	const a6, b6 = `{"id": "a6", "name": "a", "network_id": "n", "ip_version": 6}`, `{"id": "b6", "name": "b", "network_id": "n", "ip_version": 6}`
	const elsewhere = `{"id": "x6", "name": "0", "network_id": "other", "ip_version": 6}`
	for name, one := range map[string]struct {
		network    string
		given      []string
		lists      []string
		ipv4, ipv6 string
	}{
		"of a network":                     {"n", []string{"", ""}, []string{strings.Join([]string{b6, elsewhere, b4, a6, a4}, ",")}, "a4", "a6"},
		"of a network with one family":     {"n", []string{"", ""}, []string{b4}, "b4", ""},
		"with one given":                   {"n", []string{"b4", ""}, []string{strings.Join([]string{a4, b4, a6, b6}, ",")}, "b4", "a6"},
		"of the network of the given one":  {"", []string{"b6", ""}, []string{b6, strings.Join([]string{a4, b4, a6, b6}, ",")}, "a4", "b6"},
		"with both given":                  {"", []string{"b6", "b4"}, []string{b6, strings.Join([]string{a4, b4, a6, b6}, ",")}, "b4", "b6"},
		"of one that is not seen":          {"", []string{"b6", ""}, []string{""}, "", ""},
		"of a server that knows no filter": {"", []string{"b6", ""}, []string{elsewhere + "," + b6, elsewhere + "," + b6}, "", "b6"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, simulator.Options{})
			for _, l := range one.lists {
				c.listed("subnets", l)
			}
			for range 2 {
				ipv4, ipv6, err := c.SubnetsForVIPs(t.Context(), one.network, one.given...)
				if ipv4 != one.ipv4 || ipv6 != one.ipv6 || err != nil {
					t.Errorf("subnets %q and %q, %v; want %q and %q", ipv4, ipv6, err, one.ipv4, one.ipv6)
				}
			}
			if n := len(c.queries("/v2.0/subnets")); n != len(one.lists) {
				t.Errorf("%d calls, want %d: the answer is remembered", n, len(one.lists))
			}
		})
	}
	c := newCloud(t, simulator.Options{})
	for name, fault := range broken() {
		t.Run(name, func(t *testing.T) {
			fault.Route = "/v2.0/subnets"
			added := c.Faults().Add(fault)
			if ipv4, ipv6, err := c.SubnetsForVIPs(t.Context(), "", c.IDs().PrivateSubnet); openstack.Classify(err) != openstack.Transient || ipv4+ipv6 != "" {
				t.Errorf("subnets %q and %q, class %q: %v", ipv4, ipv6, openstack.Classify(err), err)
			}
			c.Faults().Remove(added)
		})
	}
	if ipv4, ipv6, err := c.SubnetsForVIPs(t.Context(), "", c.IDs().PrivateSubnet); err != nil || ipv4 != c.IDs().PrivateSubnet || ipv6 != c.IDs().PrivateSubnetV6 {
		t.Errorf("after failures: %q and %q, %v", ipv4, ipv6, err)
	}
}

func TestASecurityGroupIsFoundByItsIDOrAnUnambiguousName(t *testing.T) {
	const id, other = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
	group := func(id, name string) string { return `{"id": "` + id + `", "name": "` + name + `"}` }
	for name, one := range map[string]struct {
		asked, list, want, says string
	}{
		"by name":                         {"web", group(id, "web"), id, ""},
		"by id":                           {id, group(id, "web"), id, ""},
		"from a server without filters":   {"web", group(other, "default") + "," + group(id, "web"), id, ""},
		"a name that there is not":        {"web", "", "", `no security group with the name "web"`},
		"an id that the project sees not": {id, "", "", "sees no security group with the id " + id},
		"a name that two have":            {"web", group(id, "web") + "," + group(other, "web"), "", "2 security groups of the project"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, simulator.Options{})
			c.listed("security-groups", one.list)
			got, err := c.SecurityGroup(t.Context(), one.asked)
			if got != one.want || (err == nil) != (one.says == "") {
				t.Fatalf("group %q, %v; want %q", got, err, one.want)
			}
			if err != nil && (openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), one.says)) {
				t.Errorf("class %s: %v, want %q", openstack.Classify(err), err, one.says)
			}
		})
	}
	c := newCloud(t, simulator.Options{})
	for range 2 {
		if _, err := c.SecurityGroup(t.Context(), "default"); err != nil {
			t.Fatal(err)
		}
	}
	c.only(1, http.MethodGet, "/v2.0/security-groups")
}

func TestTheSubnetOfAnAddressIsThatOfItsPort(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	c.port("10.0.200.1", "10.0.200.2")
	c.portOn(c.IDs().PrivateNetwork, c.IDs().PrivateSubnetV6)
	c.Recorder().Reset()
	for range 3 {
		for _, address := range []string{"10.0.200.1", "10.0.200.2"} {
			if id, err := c.SubnetOfAddress(t.Context(), address); err != nil || id != c.IDs().PrivateSubnet {
				t.Errorf("subnet of %s: %q, error %v", address, id, err)
			}
		}
	}
	c.only(2, http.MethodGet, "/v2.0/ports")
}

func TestAnAddressInNoneOrSeveralSubnetsIsInvalidAndLookedUpAgain(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	ask := func(want string) {
		t.Helper()
		id, err := c.SubnetOfAddress(t.Context(), "10.0.200.1")
		if id != "" || openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "subnet-id") {
			t.Errorf("subnet %q, class %q, want one that says %q and what to set: %v", id, openstack.Classify(err), want, err)
		}
	}
	ask("0 subnets")
	network, err := networks.Create(t.Context(), c.service, networks.CreateOpts{Name: "twin"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	subnet, err := subnets.Create(t.Context(), c.service, subnets.CreateOpts{NetworkID: network.ID, CIDR: "10.0.0.0/16", IPVersion: 4}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	c.port("10.0.200.1")
	c.portOn(network.ID, subnet.ID, "10.0.200.1")
	ask("2 subnets")
}

func TestOtherNodesDetermineTheSubnetIfOneIsInAnotherCloud(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	c.port("10.0.200.1", "10.0.200.2")
	c.Recorder().Reset()
	for range 2 {
		if id, err := c.SubnetOfAddress(t.Context(), "192.0.2.1", "192.0.2.2", "10.0.200.2"); err != nil || id != c.IDs().PrivateSubnet {
			t.Errorf("subnet %q, %v", id, err)
		}
	}
	c.only(2, http.MethodGet, "/v2.0/ports")
	if id, err := c.SubnetOfAddress(t.Context(), "192.0.2.1", "192.0.2.2"); err != nil || id == "" {
		t.Errorf("what was found is forgotten: %q, %v", id, err)
	}
	if _, err := c.SubnetOfAddress(t.Context(), "192.0.2.3", "192.0.2.2"); openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), "192.0.2.3") {
		t.Errorf("of addresses that no port has: %v", err)
	}
}

func TestTheCIDROfASubnetIsLookedUpOnce(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	for name, fault := range broken() {
		t.Run(name, func(t *testing.T) {
			fault.Route = "/v2.0/subnets"
			added := c.Faults().Add(fault)
			if got, err := c.CIDR(t.Context(), c.IDs().PrivateSubnet); openstack.Classify(err) != openstack.Transient || got.IsValid() {
				t.Errorf("%v, class %q: %v", got, openstack.Classify(err), err)
			}
			c.Faults().Remove(added)
		})
	}
	c.Recorder().Reset()
	for range 3 {
		if got, err := c.CIDR(t.Context(), c.IDs().PrivateSubnet); err != nil || !got.Contains(netip.MustParseAddr("10.0.200.1")) {
			t.Errorf("%v, %v", got, err)
		}
		if got, err := c.CIDR(t.Context(), "3f2b1a90-0c5d-4e8e-9d43-7b1c2a6f5e04"); err != nil || got.IsValid() {
			t.Errorf("of a subnet that is not seen: %v, %v", got, err)
		}
	}
	c.only(2, http.MethodGet, "/v2.0/subnets")
}

func TestOfTwoSubnetsThatAnAdministratorSeesTheOwnProjectsCounts(t *testing.T) {
	const ports = `{"ports": [{"id": "p1", "project_id": "other", "fixed_ips": [{"subnet_id": "s1", "ip_address": "10.0.0.2"}]},
		{"id": "p2", "project_id": "own", "fixed_ips": [{"subnet_id": "s2", "ip_address": "10.0.0.2"}]}]}`
	client := against(func(w http.ResponseWriter, _ *http.Request) { answer(w, http.StatusOK, ports) })
	if id, err := client.SubnetOfAddress(t.Context(), "10.0.0.2"); err != nil || id != "s2" {
		t.Errorf("subnet %q, %v", id, err)
	}
}

func TestSubnetsOfANetworkAreReadAgainWhenTheyHaveToBeFreshAndKeptIfThatFails(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	network := c.IDs().PrivateNetwork
	read := func(maxAge time.Duration) (cidrs []string) {
		t.Helper()
		all, err := c.SubnetsOf(t.Context(), network, maxAge)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			cidrs = append(cidrs, s.CIDR.String())
		}
		slices.Sort(cidrs)
		return cidrs
	}
	first := read(time.Hour)
	made, err := subnets.Create(t.Context(), c.service, subnets.CreateOpts{NetworkID: network, IPVersion: 4, CIDR: "10.244.0.0/16"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(first, read(time.Hour)); diff != "" {
		t.Errorf("from the cache (-want +got):\n%s", diff)
	}
	id := c.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Route: "/v2.0/subnets"})
	if diff := cmp.Diff(first, read(0)); diff != "" {
		t.Errorf("while Neutron fails (-want +got):\n%s", diff)
	}
	c.Faults().Remove(id)
	want := slices.Sorted(slices.Values(append(slices.Clone(first), made.CIDR)))
	if diff := cmp.Diff(want, read(0)); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	if all, err := c.SubnetsOf(t.Context(), made.ID, time.Hour); openstack.Classify(err) != openstack.Invalid || all != nil {
		t.Errorf("a network that does not exist: %v, %v", all, err)
	}
}

func TestThePlanOfASubnetIsReadAgainWhenItHasToBeFreshAndKeptIfThatFails(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	gateway, dhcp := "10.97.0.1", true
	made, err := subnets.Create(t.Context(), c.service, subnets.CreateOpts{NetworkID: c.IDs().PrivateNetwork, IPVersion: 4, CIDR: "10.96.0.0/15", GatewayIP: &gateway,
		EnableDHCP: &dhcp, AllocationPools: []subnets.AllocationPool{{Start: "10.97.0.2", End: "10.97.0.9"}}}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	want := lb.SubnetPlan{Subnet: lb.Subnet{ID: made.ID, CIDR: netip.MustParsePrefix("10.96.0.0/15")}, Gateway: netip.MustParseAddr(gateway), DHCP: true,
		Pools: []lb.AddressRange{{First: netip.MustParseAddr("10.97.0.2"), Last: netip.MustParseAddr("10.97.0.9")}}}
	read := func(what string, maxAge time.Duration) {
		t.Helper()
		got, err := c.SubnetPlan(t.Context(), made.ID, maxAge)
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
		}
	}
	read("first", time.Hour)
	if _, err := subnets.Update(t.Context(), c.service, made.ID, subnets.UpdateOpts{GatewayIP: new(string), EnableDHCP: new(bool)}).Extract(); err != nil {
		t.Fatal(err)
	}
	read("from the cache", time.Hour)
	id := c.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: http.StatusInternalServerError, Route: "/v2.0/subnets"})
	read("while Neutron fails", 0)
	c.Faults().Remove(id)
	want.Gateway, want.DHCP = netip.Addr{}, false
	read("read again", 0)
	if _, err := c.SubnetPlan(t.Context(), c.IDs().PrivateNetwork, time.Hour); openstack.Classify(err) != openstack.Gone {
		t.Errorf("a subnet that does not exist: %v", err)
	}
}
