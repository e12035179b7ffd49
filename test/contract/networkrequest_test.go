// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"strings"
	"testing"
)

// TestNetworkRequests is about requests that Neutron does not understand.
func TestNetworkRequests(t *testing.T) {
	t.Parallel()
	g := shared(t)
	n := g.hasSubnet(k8s, "10.77.80.0/24")
	port := g.has(k8s, "ports", object{"network_id": n.network})

	state(t, []statement{
		{"an attribute that is not known is refused with 400 by its name", func(c *try) {
			a := c.as(k8s).net("POST", "/ports", object{"port": object{"network_id": n.network, "colour": "red"}}).refused(400, "HTTPBadRequest")
			c.must(strings.Contains(a.Text, "colour"), "it says %s", a.Text)
		}},
		{"several attributes that are not known are named together", func(c *try) {
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"colour": "red", "shape": "round"}}).refused(400, "HTTPBadRequest")
		}},
		{"an attribute that is not to be set is refused with 400, in a create and in an update", func(c *try) {
			c.as(k8s).net("POST", "/ports", object{"port": object{"network_id": n.network, "status": "ACTIVE"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"id": nowhere}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"revision_number": 7}}).is(400)
		}},
		{"a value of the wrong type is refused with 400", func(c *try) {
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"name": 7}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"admin_state_up": "maybe"}}).refused(400, "InvalidInput")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"security_groups": "x"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"fixed_ips": object{}}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"allowed_address_pairs": list{"x"}}}).is(400)
		}},
		{"a name longer than 255 is refused with 400", func(c *try) {
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"name": strings.Repeat("x", 256)}}).refused(400, "HTTPBadRequest")
		}},
		{"true and false are taken as text too", func(c *try) {
			a := c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"admin_state_up": "False"}}).is(200)
			c.must(a.at("port.admin_state_up") == false, "it is %s", a.Text)
		}},
		{"a body that is not JSON is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", "no json").refused(400, "HTTPBadRequest")
			c.as(k8s).net("POST", "/ports", `["port"]`).refused(400, "HTTPBadRequest")
		}},
		{"a body without the resource is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", object{}).is(400)
			c.as(k8s).net("POST", "/ports", object{"floatingip": object{}}).is(400)
			c.as(k8s).net("POST", "/ports", object{"port": nil}).is(400)
			c.as(k8s).net("POST", "/ports", object{"port": "x"}).is(400)
		}},
		{"an empty list to create is refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", object{"ports": list{}}).is(400)
		}},
		{"a collection that does not exist is not found", func(c *try) {
			c.as(k8s).net("GET", "/parrots", nil).is(404)
			c.as(k8s).net("POST", "/parrots", object{"parrot": object{}}).is(404)
		}},
		{"a method that a path does not have is refused", func(c *try) {
			c.as(k8s).net("PATCH", "/ports/"+port, object{"port": object{}}).is(405)
		}},
		{"a change of a collection as a whole names an object that is not found: None, surprisingly", func(c *try) {
			c.as(k8s).net("DELETE", "/ports", nil).refused(404, "PortNotFound")
			c.as(k8s).net("PUT", "/ports", object{"port": object{}}).refused(404, "PortNotFound")
		}},
		{"a create below an object does not look at the object, surprisingly", func(c *try) {
			c.as(k8s).net("POST", "/ports/"+port, object{"port": object{}}).refused(400, "HTTPBadRequest")
		}},
		{"an id that is no UUID is not found like any other", func(c *try) {
			c.as(k8s).net("GET", "/ports/here", nil).refused(404, "PortNotFound")
			c.as(k8s).net("DELETE", "/floatingips/here", nil).refused(404, "FloatingIPNotFound")
			c.as(k8s).net("GET", "/networks/here", nil).refused(404, "NetworkNotFound")
		}},
		{"two names for the project that differ are refused with 400", func(c *try) {
			c.as(k8s).net("POST", "/ports", object{"port": object{"network_id": n.network, "project_id": "a", "tenant_id": "b"}}).is(400)
		}},
		{"the versions are shown without a token, and what is below needs one", func(c *try) {
			c.as(k8s).do("network", "GET", "/", nil).is(200)
			c.as(k8s).net("GET", "/", nil).is(200)
			send(c, tokens.of(c, k8s).endpoint(c, "network")+"/v2.0/ports", "GET", nil, "X-Auth-Token: none").is(401)
		}},
		{"an answer to a request says which it was by X-Openstack-Request-Id", func(c *try) {
			a := c.as(k8s).net("GET", "/ports/"+port+"?fields=id", nil).is(200)
			c.must(strings.HasPrefix(a.Header.Get("X-Openstack-Request-Id"), "req-"), "it says %q", a.Header.Get("X-Openstack-Request-Id"))
		}},
	})
}
