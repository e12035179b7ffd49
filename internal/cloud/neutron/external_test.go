// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	simulator "github.com/kube-octavia/kube-octavia/cloudsim/neutron"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
	"github.com/kube-octavia/kube-octavia/internal/cloud/openstack"
	"github.com/kube-octavia/kube-octavia/internal/model/lb"
)

// routerPort returns the port of a router in the subnet.
func routerPort(router, subnet, address string) string {
	return fmt.Sprintf(`{"id": "p", "network_id": "private", "device_id": %q, "device_owner": "network:router_interface", "fixed_ips": [{"subnet_id": %q, "ip_address": %q}]}`,
		router, subnet, address)
}

// routerTo returns a router with a gateway in the network.
func routerTo(router, network string) string {
	return fmt.Sprintf(`{"id": %q, "external_gateway_info": {"network_id": %q}}`, router, network)
}

func TestTheExternalNetworkIsTheOneThatTheRouterOfTheVIPLeadsTo(t *testing.T) {
	const (
		networks = `{"id": "a", "name": "a"}, {"id": "b", "name": "b"}, {"id": "six", "name": "0"}`
		subnets  = `{"id": "six-s", "network_id": "six", "ip_version": 6},
			{"id": "s", "network_id": "private", "ip_version": 4, "cidr": "10.0.0.0/24", "gateway_ip": "10.0.0.1"}`
		alone = `{"id": "r1", "external_gateway_info": null}`
	)
	first, second := routerPort("r1", "s", "10.0.0.1"), routerPort("r2", "s", "10.0.0.2")
	distributed := strings.Replace(first, "network:router_interface", "network:router_interface_distributed", 1)
	inSubnet, inNetwork := []lb.VIP{{SubnetID: "s"}, {}}, []lb.VIP{{NetworkID: "private"}}
	for name, c := range map[string]struct {
		networks string
		vips     []lb.VIP
		ports    []string
		routers  []string
		want     string
		problem  string // part of the error
	}{
		"one external network":                  {networks: `{"id": "b", "name": "b"}`, vips: inSubnet, ports: []string{first}, routers: []string{routerTo("r1", "a")}, want: "b"},
		"its router leads to the second":        {vips: inSubnet, ports: []string{first}, routers: []string{routerTo("r1", "b")}, want: "b"},
		"its router is distributed":             {vips: inSubnet, ports: []string{distributed}, routers: []string{routerTo("r1", "b")}, want: "b"},
		"a VIP of which the network is known":   {vips: inNetwork, ports: []string{first}, routers: []string{routerTo("r1", "b")}, want: "b"},
		"an IPv4 VIP that is the second":        {vips: []lb.VIP{{SubnetID: "s6"}, {SubnetID: "s"}}, ports: []string{first}, routers: []string{routerTo("r1", "b")}, want: "b"},
		"a router of another subnet":            {vips: inSubnet, ports: []string{first, routerPort("r2", "other", "10.1.0.1")}, routers: []string{routerTo("r1", "b"), routerTo("r2", "a")}, want: "b"},
		"another device of the subnet":          {vips: inSubnet, ports: []string{first, strings.Replace(second, "network:router_interface", "compute:nova", 1)}, routers: []string{routerTo("r1", "b"), routerTo("r2", "a")}, want: "b"},
		"a router that other subnets use":       {vips: inSubnet, ports: []string{first, second}, routers: []string{alone, routerTo("r2", "b")}, want: "b"},
		"two routers to one network":            {vips: inSubnet, ports: []string{first, second}, routers: []string{routerTo("r1", "b"), routerTo("r2", "b")}, want: "b"},
		"two networks, one by the gateway":      {vips: inSubnet, ports: []string{second, first}, routers: []string{routerTo("r1", "b"), routerTo("r2", "a")}, want: "b"},
		"two networks, none by the gateway":     {vips: inSubnet, ports: []string{routerPort("r1", "s", "10.0.0.3"), second}, routers: []string{routerTo("r1", "b"), routerTo("r2", "a")}, problem: "its routers lead to 2 external networks (a, b); name the external network by annotation"},
		"a router without gateway":              {vips: inSubnet, ports: []string{first}, routers: []string{alone}, problem: "router r1 leads to none of them"},
		"a router to a network with IPv6 only":  {vips: inSubnet, ports: []string{first}, routers: []string{routerTo("r1", "six")}, problem: "router r1 leads to none of them"},
		"a router of another project":           {vips: inSubnet, ports: []string{first}, want: "a"},
		"no router that the project sees":       {vips: inSubnet, want: "a"},
		"a router with IPv6 only":               {vips: inSubnet, ports: []string{routerPort("r1", "s", "fd00::1")}, routers: []string{routerTo("r1", "b")}, want: "a"},
		"a router that cannot be asked for":     {vips: inSubnet, ports: []string{routerPort("../x", "s", "10.0.0.1")}, want: "a"},
		"a VIP of which nothing is known":       {ports: []string{first}, routers: []string{routerTo("r1", "b")}, want: "a"},
		"one of two routers of another project": {vips: inSubnet, ports: []string{first, second}, routers: []string{alone}, want: "a"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.networks == "" {
				c.networks = networks
			}
			service := answering{collections: map[string]string{
				"/networks": `{"networks": [` + c.networks + `]}`, "/subnets": `{"subnets": [` + subnets + `]}`,
				"/ports": `{"ports": [` + strings.Join(c.ports, ",") + `]}`, "/routers": `{"routers": [` + strings.Join(c.routers, ",") + `]}`,
			}}
			client := service.client()
			for range 2 { // the second time from the cache
				got, err := client.ExternalNetwork(t.Context(), c.vips...)
				switch {
				case c.problem == "" && (err != nil || got != c.want):
					t.Errorf("network %q (%v), want %q", got, err, c.want)
				case c.problem != "" && (openstack.Classify(err) != openstack.Invalid || !strings.Contains(err.Error(), c.problem)):
					t.Errorf("class %q: %v; want Invalid with %q", openstack.Classify(err), err, c.problem)
				}
				if err == nil && (service.asked["/networks"] != 1 || service.asked["/ports"] > 1 || service.asked["/routers"] > 1) {
					t.Errorf("calls: %v", service.asked)
				}
			}
		})
	}
}

func TestTheRoutersOfAVIPAreReadOnceForAllServices(t *testing.T) {
	c := newCloud(t, simulator.Options{})
	if _, err := c.Neutron().AddNetwork(simulator.NetworkSpec{Name: "aaa", External: true}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		id, err := c.ExternalNetwork(t.Context(), lb.VIP{SubnetID: c.IDs().PrivateSubnet})
		if err != nil || id != c.IDs().PublicNetwork {
			t.Errorf("network %q, error %v", id, err)
		}
	}
	want := map[string]int{"GET /v2.0/networks": 1, "GET /v2.0/subnets": 2, "GET /v2.0/ports": 1, "GET /v2.0/routers": 1}
	if diff := cmp.Diff(want, c.Recorder().Counts()); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestRoutersThatMayNotBeReadLeaveTheFirstExternalNetwork(t *testing.T) {
	for name, status := range map[string]int{"forbidden": http.StatusForbidden, "no routers": http.StatusNotFound, "a fault": http.StatusInternalServerError} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, simulator.Options{})
			first, err := c.Neutron().AddNetwork(simulator.NetworkSpec{Name: "aaa", External: true})
			if err != nil {
				t.Fatal(err)
			}
			c.Faults().Add(wire.Fault{Kind: wire.FaultStatus, Status: status, Route: "/v2.0/routers"})
			id, err := c.ExternalNetwork(t.Context(), lb.VIP{SubnetID: c.IDs().PrivateSubnet})
			if status == http.StatusInternalServerError {
				if openstack.Classify(err) != openstack.Transient {
					t.Errorf("network %q, error %v", id, err)
				}
			} else if err != nil || id != first {
				t.Errorf("network %q, error %v, want %q", id, err, first)
			}
		})
	}
}
