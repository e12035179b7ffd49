// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestRouterIsCreatedAndDeleted(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	before := c.Counts()
	network := c.create(alice, "/v2.0/networks", `{"network": {}}`)["id"].(string)
	subnet := c.create(alice, "/v2.0/subnets", `{"subnet": {"network_id": "`+network+`", "ip_version": 4, "cidr": "10.0.0.0/24"}}`)["id"].(string)
	router := c.create(alice, "/v2.0/routers", `{"router": {"name": "r", "external_gateway_info": {"network_id": "`+c.ids.PublicNetworkID+`"}}}`)
	id := router["id"].(string)
	want := jsonObject{"network_id": c.ids.PublicNetworkID, "enable_snat": true, "external_fixed_ips": []any{jsonObject{"subnet_id": c.ids.PublicSubnetID, "ip_address": "127.16.128.11"}}}
	if diff := cmp.Diff(any(want), router["external_gateway_info"]); diff != "" {
		t.Error(diff)
	}

	joined := c.call(alice, "PUT", "/v2.0/routers/"+id+"/add_router_interface", `{"subnet_id": "`+subnet+`"}`).must(http.StatusOK)
	wantJoined := jsonObject{"id": id, "tenant_id": "project-a", "port_id": joined["port_id"], "network_id": network, "subnet_id": subnet, "subnet_ids": []any{subnet}}
	if diff := cmp.Diff(wantJoined, joined); diff != "" {
		t.Error(diff)
	}
	port := c.call(alice, "GET", "/v2.0/ports/"+joined["port_id"].(string), "").must(http.StatusOK)
	if port["device_owner"] != "network:router_interface" || port["device_id"] != id || port["status"] != "ACTIVE" ||
		!cmp.Equal(port["fixed_ips"], []any{jsonObject{"subnet_id": subnet, "ip_address": "10.0.0.1"}}) {
		t.Errorf("the interface's port is %v", port)
	}

	c.call(alice, "DELETE", "/v2.0/routers/"+id, "").refused(409, "RouterInUse", "Router "+id+" has ports still attached: "+joined["port_id"].(string))
	c.call(alice, "PUT", "/v2.0/routers/"+id+"/remove_router_interface", `{"subnet_id": "`+subnet+`"}`).must(http.StatusOK)
	c.call(alice, "DELETE", "/v2.0/routers/"+id, "").must(http.StatusNoContent)
	c.call(alice, "GET", "/v2.0/routers/"+id, "").refused(404, "RouterNotFound", "Router "+id+" could not be found")
	c.call(alice, "DELETE", "/v2.0/networks/"+network, "").must(http.StatusNoContent)
	if diff := cmp.Diff(before, c.Counts()); diff != "" {
		t.Error("something is left", diff)
	}
}

func TestRouterThatFloatingIPsNeedCannotBeDeleted(t *testing.T) {
	c := newCloud(t, Options{})
	port := c.port()
	id := c.floatingIP(`, "port_id": "` + port + `"`)["id"].(string)
	path := "/v2.0/routers/" + c.ids.RouterID
	c.call(alice, "PUT", path, `{"router": {"external_gateway_info": {}}}`).refused(409, "RouterExternalGatewayInUseByFloatingIp",
		"Gateway cannot be updated for router "+c.ids.RouterID+", since a gateway to external network "+c.ids.PublicNetworkID+" is required by one or more floating IPs.")
	c.call(alice, "PUT", path+"/remove_router_interface", `{"subnet_id": "`+c.ids.PrivateSubnetID+`"}`).refused(409, "RouterInterfaceInUseByFloatingIP",
		"Router interface for subnet "+c.ids.PrivateSubnetID+" on router "+c.ids.RouterID+" cannot be deleted, as it is required by one or more floating IPs.")

	c.call(alice, "PUT", "/v2.0/floatingips/"+id, `{"floatingip": {"port_id": null}}`).must(http.StatusOK)
	if got := c.call(alice, "PUT", path, `{"router": {"external_gateway_info": null}}`).must(http.StatusOK); got["external_gateway_info"] != nil {
		t.Errorf("the router still has the gateway %v", got["external_gateway_info"])
	}
	c.call(alice, "PUT", "/v2.0/floatingips/"+id, `{"floatingip": {"port_id": "`+port+`"}}`).refused(404, "ExternalGatewayForFloatingIPNotFound",
		"External network "+c.ids.PublicNetworkID+" is not reachable from subnet "+c.ids.PrivateSubnetID+".  Therefore, cannot associate Port "+port+" with a Floating IP.")
}

func TestInvalidRoutersAreRefused(t *testing.T) {
	c := newCloud(t, Options{})
	router, private := c.ids.RouterID, c.ids.PrivateSubnetID
	port := c.port()
	for _, test := range []struct {
		name               string
		who                wire.Identity
		method, path, body string
		status             int
		kind, message      string
	}{
		{"a gateway that is not external", alice, "POST", "", `{"router": {"external_gateway_info": {"network_id": "` + c.ids.PrivateNetworkID + `"}}}`, 400, "BadRequest",
			"Bad router request: Network " + c.ids.PrivateNetworkID + " is not an external network."},
		{"an unknown gateway", alice, "POST", "", `{"router": {"external_gateway_info": {"network_id": "` + unknownID + `"}}}`, 404, "NetworkNotFound", "Network " + unknownID + " could not be found."},
		{"a router of another project", bob, "PUT", "/" + router, `{"router": {"name": "x"}}`, 404, "RouterNotFound", "Router " + router + " could not be found"},
		{"the same subnet again", alice, "PUT", "/" + router + "/add_router_interface", `{"subnet_id": "` + private + `"}`, 400, "BadRequest", "Bad router request: Router already has a port on subnet " + private + "."},
		{"neither port nor subnet", alice, "PUT", "/" + router + "/add_router_interface", `{}`, 400, "BadRequest", "Bad router request: Either subnet_id or port_id must be specified."},
		{"both port and subnet", alice, "PUT", "/" + router + "/add_router_interface", `{"subnet_id": "` + private + `", "port_id": "` + port + `"}`, 400, "BadRequest", "Bad router request: Cannot specify both subnet-id and port-id."},
		{"an interface that is none", alice, "PUT", "/" + router + "/remove_router_interface", `{"port_id": "` + port + `"}`, 404, "RouterInterfaceNotFound", "Router " + router + " does not have an interface with id " + port},
		{"a subnet of others", bob, "PUT", "/" + router + "/add_router_interface", `{"subnet_id": "` + private + `"}`, 404, "RouterNotFound", "Router " + router + " could not be found"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := c.call(test.who, test.method, "/v2.0/routers"+test.path, test.body)
			a.t = t
			a.refused(test.status, test.kind, test.message)
		})
	}
}
