// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/portforwarding"
)

// forwarding returns the request for a port forwarding to port 80 of a Neutron port.
func forwarding(external int, port, address string) string {
	return fmt.Sprintf(`{"port_forwarding": {"protocol": "tcp", "external_port": %d, "internal_port": %d, "internal_port_id": %q, "internal_ip_address": %q}}`,
		external, external, port, address)
}

func forwardingsOf(floatingIP string) string {
	return "/v2.0/floatingips/" + floatingIP + "/port_forwardings"
}

func TestFloatingIPWithAPortForwardingIsNotPutOnAPort(t *testing.T) {
	c := newCloud(t, Options{})
	inner, other := c.port(), c.port()
	id := c.floatingIP("")["id"].(string)
	path := "/v2.0/floatingips/" + id
	made := c.create(alice, forwardingsOf(id), forwarding(8080, inner, "127.16.0.2"))
	want := jsonObject{"id": made["id"], "protocol": "tcp", "external_port": 8080.0, "internal_port": 8080.0, "internal_port_id": inner, "internal_ip_address": "127.16.0.2"}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error(diff)
	}
	inUse := "Floating IP " + id + " in use by Port Forwarding resources."
	c.call(alice, "PUT", path, `{"floatingip": {"port_id": "`+other+`"}}`).refused(409, "FipInUseByPortForwarding", inUse)
	c.call(alice, "DELETE", path, "").refused(409, "FipInUseByPortForwarding", inUse)
	if got := c.call(alice, "PUT", path, `{"floatingip": {"port_id": null, "description": "x"}}`).must(http.StatusOK); got["router_id"] != c.ids.RouterID || got["port_id"] != nil {
		t.Errorf("with a port forwarding it is %v", got)
	}

	c.call(alice, "DELETE", forwardingsOf(id)+"/"+made["id"].(string), "").must(http.StatusNoContent)
	if got := c.call(alice, "GET", path, "").must(http.StatusOK); got["router_id"] != nil {
		t.Errorf("without port forwardings it is %v", got)
	}
	c.call(alice, "PUT", path, `{"floatingip": {"port_id": "`+other+`"}}`).must(http.StatusOK)
}

func TestInvalidPortForwardingIsRefused(t *testing.T) {
	c := newCloud(t, Options{})
	inner, busy := c.port(), c.port()
	free := c.floatingIP("")
	taken := c.floatingIP(`, "port_id": "` + busy + `"`)
	freeID, takenID, takenAddress := free["id"].(string), taken["id"].(string), taken["floating_ip_address"].(string)
	c.create(alice, forwardingsOf(freeID), forwarding(8080, inner, "127.16.0.2"))
	for _, test := range []struct {
		name, floatingIP, body string
		status                 int
		kind, message          string
	}{
		{"a floating IP that is on a port", takenID, forwarding(8081, inner, "127.16.0.2"), 409, "FloatingIPPortAlreadyAssociated",
			"Cannot associate floating IP " + takenAddress + " (" + takenID + ") with port " + inner +
				" using fixed IP 127.16.0.2, as that fixed IP already has a floating IP on external network " + c.ids.PublicNetworkID + "."},
		{"to a port that has a floating IP", freeID, forwarding(8081, busy, "127.16.0.3"), 409, "PortHasBindingFloatingIP",
			"Cannot create port forwarding to floating IP " + takenAddress + " (" + takenID + ") with port " + busy +
				" using fixed IP 127.16.0.3, as that port already has a binding floating IP."},
		{"the same once more", freeID, forwarding(8080, inner, "127.16.0.2"), 400, "BadRequest",
			"Bad port_forwarding request: There is a port collision with the internal_port_range. The following ranges collides: 8080:8080 and 8080:8080."},
		{"to an unknown port", freeID, forwarding(8081, unknownID, "127.16.0.2"), 404, "PortNotFound", "Port " + unknownID + " could not be found."},
		{"to an address that the port has not", freeID, forwarding(8081, inner, "127.16.0.99"), 400, "BadRequest",
			"Bad port_forwarding request: Requested internal IP address 127.16.0.99 is not suitable for internal neutron port " + inner +
				", as its fixed_ips are [{'subnet_id': '" + c.ids.PrivateSubnetID + "', 'ip_address': '127.16.0.2'}]."},
		{"of an unknown floating IP", unknownID, forwarding(8081, inner, "127.16.0.2"), 404, "FloatingIPNotFound", "Floating IP " + unknownID + " could not be found"},
		{"without a protocol", freeID, `{"port_forwarding": {"external_port": 1, "internal_port": 1, "internal_port_id": "` + inner + `", "internal_ip_address": "127.16.0.2"}}`,
			400, "HTTPBadRequest", "Failed to parse request. Required attribute 'protocol' not specified"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := c.call(alice, "POST", forwardingsOf(test.floatingIP), test.body)
			a.t = t
			a.refused(test.status, test.kind, test.message)
		})
	}
	c.call(bob, "GET", forwardingsOf(freeID), "").refused(404, "FloatingIPNotFound", "Floating IP "+freeID+" could not be found")
	c.call(alice, "DELETE", forwardingsOf(freeID)+"/"+unknownID, "").refused(404, "PortForwardingNotFound", "Port Forwarding "+unknownID+" could not be found.")
}

func TestPortForwardingNeedsTheRouterAndEndsWithItsPort(t *testing.T) {
	c := newCloud(t, Options{})
	inner := c.port()
	id := c.floatingIP("")["id"].(string)
	c.create(alice, forwardingsOf(id), forwarding(8080, inner, "127.16.0.2"))
	c.call(admin, "PUT", "/v2.0/routers/"+c.ids.RouterID+"/remove_router_interface", `{"subnet_id": "`+c.ids.PrivateSubnetID+`"}`).refused(409, "RouterInterfaceInUseByFloatingIP",
		"Router interface for subnet "+c.ids.PrivateSubnetID+" on router "+c.ids.RouterID+" cannot be deleted, as it is required by one or more floating IPs.")

	c.call(alice, "DELETE", "/v2.0/ports/"+inner, "").must(http.StatusNoContent)
	if left := c.call(alice, "GET", forwardingsOf(id), "").column("id"); len(left) != 0 {
		t.Error("left are", left)
	}
	if got := c.call(alice, "GET", "/v2.0/floatingips/"+id, "").must(http.StatusOK); got["router_id"] != nil {
		t.Errorf("it is %v", got)
	}
}

func TestPortForwardingsAreMissingWithoutTheirExtension(t *testing.T) {
	c := newCloud(t, Options{Without: []string{"floating-ip-port-forwarding"}})
	id := c.floatingIP("")["id"].(string)
	if a := c.call(alice, "GET", forwardingsOf(id), ""); a.status != http.StatusNotFound {
		t.Errorf("status %d", a.status)
	}
}

func TestGophercloudManagesPortForwardings(t *testing.T) {
	c := newCloud(t, Options{})
	client, ctx := c.client(), t.Context()
	inner, id := c.port(), c.floatingIP("")["id"].(string)
	made, err := portforwarding.Create(ctx, client, id, portforwarding.CreateOpts{
		InternalPortID: inner, InternalIPAddress: "127.16.0.2", InternalPort: 80, ExternalPort: 8080, Protocol: "tcp"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := portforwarding.List(client, portforwarding.ListOpts{}, id).AllPages(ctx)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := portforwarding.ExtractPortForwardings(pages)
	if diff := cmp.Diff([]portforwarding.PortForwarding{*made}, listed); diff != "" || err != nil {
		t.Error(err, diff)
	}
	if err := portforwarding.Delete(ctx, client, id, made.ID).ExtractErr(); err != nil {
		t.Error(err)
	}
}
