// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestNetworkLists is about filters, fields, order and pages, which are the same
// for all collections of Neutron.
func TestNetworkLists(t *testing.T) {
	t.Parallel()
	g := shared(t)
	n := g.hasSubnet(k8s, "10.77.70.0/24")
	var ids, names []string
	name := g.newName()
	for _, suffix := range []string{"-a", "-b", "-c", "-d", "-e"} {
		names = append(names, name+suffix)
		ids = append(ids, g.has(k8s, "ports", object{"network_id": n.network, "name": name + suffix, "description": name, "device_id": "dev" + suffix}))
	}
	all := "/ports?description=" + name
	floating := g.quietly(k8s).make("floatingips", object{"floating_network_id": g.cloud.PublicNetwork, "description": name}).text("floatingip.id")
	onPort := g.has(k8s, "ports", object{"network_id": g.cloud.Network, "fixed_ips": list{object{"subnet_id": g.cloud.Subnet}}})
	led := g.quietly(k8s).make("floatingips", object{"floating_network_id": g.cloud.PublicNetwork, "description": name, "port_id": onPort})
	rels := func(a answer, key string) []string { return a.texts(key+"_links", "rel") }

	state(t, []statement{
		{"an id that is repeated asks for any of them", func(c *try) {
			a := c.as(k8s).net("GET", "/ports?fields=id&id="+ids[0]+"&id="+ids[2], nil).is(200)
			c.must(sameSet(a.texts("ports", "id"), ids[0], ids[2]), "found %s", a.Text)
		}},
		{"ids that are not there are left out without a word", func(c *try) {
			a := c.as(k8s).net("GET", "/ports?fields=id&id="+ids[0]+"&id="+nowhere, nil).is(200)
			c.must(sameSet(a.texts("ports", "id"), ids[0]), "found %s", a.Text)
		}},
		{"filters are all to be met", func(c *try) {
			c.must(len(c.as(k8s).net("GET", "/ports?name="+names[0]+"&device_id=dev-b", nil).is(200).list("ports")) == 0, "found")
		}},
		{"a filter by an attribute that the resource does not have is refused with 400", func(c *try) {
			c.as(k8s).net("GET", "/ports?colour=red", nil).refused(400, "HTTPBadRequest")
			c.as(k8s).net("GET", "/floatingips?name=x", nil).refused(400, "HTTPBadRequest")
			c.as(k8s).net("GET", "/ports?created_at=2026", nil).is(400)
		}},
		{"an empty filter asks for the empty value", func(c *try) {
			a := c.as(k8s).net("GET", all+"&fields=id&device_owner=", nil).is(200)
			c.must(len(a.list("ports")) == 5, "found %d", len(a.list("ports")))
			c.must(len(c.as(k8s).net("GET", all+"&fields=id&device_id=", nil).is(200).list("ports")) == 0, "found")
		}},
		{"fields chooses what is shown, in lists and of one", func(c *try) {
			for _, path := range []string{"/ports/" + ids[0] + "?fields=name&fields=id", "/ports?fields=name&fields=id&id=" + ids[0]} {
				c.as(k8s).net("GET", path, nil).is(200)
			}
		}},
		{"a field that is not there is not shown, and that is no error", func(c *try) {
			c.as(k8s).net("GET", "/ports?fields=colour&fields=id&id="+ids[0], nil).is(200)
			c.as(k8s).net("GET", "/ports?fields=colour&id="+ids[0], nil).is(200)
			c.as(k8s).net("GET", "/ports/"+ids[0]+"?fields=colour", nil).is(200)
		}},
		{"several fields joined by a comma are no fields", func(c *try) {
			a := c.as(k8s).net("GET", "/ports?fields=id,name&id="+ids[0], nil).is(200)
			c.must(a.text("ports.0.name") == "", "it is %s", a.Text)
		}},
		{"a list is sorted by key and direction", func(c *try) {
			up := c.as(k8s).net("GET", all+"&fields=name&sort_key=name&sort_dir=asc", nil).is(200)
			c.must(slices.Equal(up.texts("ports", "name"), names), "the order is %v", up.texts("ports", "name"))
			down := c.as(k8s).net("GET", all+"&fields=name&sort_key=name&sort_dir=desc", nil).is(200).texts("ports", "name")
			slices.Reverse(down)
			c.must(slices.Equal(down, names), "the order is %v", down)
		}},
		{"a list that is not sorted is in the order of ids", func(c *try) {
			a := c.as(k8s).net("GET", all+"&fields=id", nil).is(200)
			c.must(slices.IsSorted(a.texts("ports", "id")), "the order is %v", a.texts("ports", "id"))
		}},
		{"a sort key without a direction is refused with 400, and so is an unknown key or direction", func(c *try) {
			c.as(k8s).net("GET", all+"&sort_key=name", nil).refused(400, "HTTPBadRequest")
			c.as(k8s).net("GET", all+"&sort_key=colour&sort_dir=asc", nil).refused(400, "HTTPBadRequest")
			c.as(k8s).net("GET", all+"&sort_key=name&sort_dir=up", nil).refused(400, "HTTPBadRequest")
		}},
		{"pages of two are linked by next, and the last has no next", func(c *try) {
			query := "&fields=id&sort_key=name&sort_dir=asc&limit=2"
			first := c.as(k8s).net("GET", all+query, nil).is(200)
			c.must(sameSet(rels(first, "ports"), "next", "previous"), "the links are %v", rels(first, "ports"))
			second := c.as(k8s).net("GET", all+query+"&marker="+ids[1], nil).is(200)
			c.must(slices.Equal(second.texts("ports", "id"), ids[2:4]), "the second page is %s", second.Text)
			last := c.as(k8s).net("GET", all+query+"&marker="+ids[3], nil).is(200)
			c.must(slices.Equal(rels(last, "ports"), []string{"previous"}) && slices.Equal(last.texts("ports", "id"), ids[4:]), "the last page is %s", last.Text)
		}},
		{"a next link leads to the next page", func(c *try) {
			a := c.as(k8s).net("GET", all+"&fields=id&sort_key=name&sort_dir=asc&limit=4", nil).is(200)
			next, err := url.Parse(a.text("ports_links.0.href"))
			c.must(err == nil && next.Query().Get("marker") == ids[3] && next.Query().Get("limit") == "4", "the link is %s", a.text("ports_links.0.href"))
			c.must(strings.HasSuffix(next.Path, "/v2.0/ports") && next.Query().Get("sort_key") == "name", "the link is %s", a.text("ports_links.0.href"))
		}},
		{"a full last page has a next link all the same, and the page after it is empty", func(c *try) {
			query := "&fields=id&sort_key=name&sort_dir=asc&limit=5"
			c.must(slices.Contains(rels(c.as(k8s).net("GET", all+query, nil).is(200), "ports"), "next"), "there is no next")
			c.must(len(c.as(k8s).net("GET", all+query+"&marker="+ids[4], nil).is(200).list("ports")) == 0, "there are more")
		}},
		{"page_reverse goes back from the marker", func(c *try) {
			a := c.as(k8s).net("GET", all+"&fields=id&sort_key=name&sort_dir=asc&limit=2&page_reverse=True&marker="+ids[3], nil).is(200)
			c.must(slices.Equal(a.texts("ports", "id"), ids[1:3]), "the page is %s", a.Text)
		}},
		{"a marker that is not there is refused with 404", func(c *try) {
			c.as(k8s).net("GET", all+"&limit=2&marker="+nowhere, nil).refused(404, "PortNotFound")
		}},
		{"a filter that cannot be converted is refused with 400", func(c *try) {
			c.as(k8s).net("GET", "/ports?admin_state_up=maybe", nil).refused(400, "InvalidInput")
		}},
		{"a limit below 0 is refused with 400, and so is one that is no number; 0 is none", func(c *try) {
			c.as(k8s).net("GET", all+"&limit=-1", nil).is(400)
			c.as(k8s).net("GET", all+"&limit=many", nil).is(400)
			c.must(len(c.as(k8s).net("GET", all+"&fields=id&limit=0", nil).is(200).list("ports")) == 5, "not all are there")
		}},
		{"fixed_ips is a filter by address, subnet or part of an address", func(c *try) {
			address := c.quietly(k8s).net("GET", "/ports/"+ids[0], nil).is(200).text("port.fixed_ips.0.ip_address")
			a := c.as(k8s).net("GET", "/ports?fields=id&network_id="+n.network+"&fixed_ips=ip_address%3D"+address, nil).is(200)
			c.must(sameSet(a.texts("ports", "id"), ids[0]), "found %s", a.Text)
			for _, f := range []string{"subnet_id%3D" + n.subnet, "ip_address_substr%3D10.77.70."} {
				a := c.as(k8s).net("GET", "/ports?fields=id&network_id="+n.network+"&fixed_ips="+f, nil).is(200)
				c.must(sameSet(a.texts("ports", "id"), ids...), "%s finds %s", f, a.Text)
			}
		}},
		{"ports are found by device, owner, MAC address, status and security group", func(c *try) {
			port := c.quietly(k8s).net("GET", "/ports/"+ids[1], nil).is(200)
			for _, f := range []string{"device_id=dev-b", "mac_address=" + port.text("port.mac_address"), "status=DOWN&device_id=dev-b", "device_id=dev-b&security_groups=" + port.text("port.security_groups.0")} {
				a := c.as(k8s).net("GET", all+"&fields=id&"+f, nil).is(200)
				c.must(sameSet(a.texts("ports", "id"), ids[1]), "%s finds %s", f, a.Text)
			}
		}},
		{"ports with the owner of a network's own kind are found by it", func(c *try) {
			c.must(len(c.as(k8s).net("GET", all+"&device_owner=network:dhcp", nil).is(200).list("ports")) == 0, "found")
		}},
		{"floating IPs are found by port, address, status, router, network and what they lead to", func(c *try) {
			for _, f := range []string{
				"port_id=" + onPort, "floating_ip_address=" + led.text("floatingip.floating_ip_address"), "router_id=" + c.cloud.Router,
				"fixed_ip_address=" + led.text("floatingip.fixed_ip_address"), "id=" + led.text("floatingip.id"),
			} {
				a := c.as(k8s).net("GET", "/floatingips?fields=id&description="+name+"&"+f, nil).is(200)
				c.must(sameSet(a.texts("floatingips", "id"), led.text("floatingip.id")), "%s finds %s", f, a.Text)
			}
			for _, f := range []string{"floating_network_id=" + c.cloud.PublicNetwork, "project_id=" + c.projectOf(k8s)} {
				a := c.as(k8s).net("GET", "/floatingips?fields=id&description="+name+"&"+f, nil).is(200)
				c.must(sameSet(a.texts("floatingips", "id"), floating, led.text("floatingip.id")), "%s finds %s", f, a.Text)
			}
		}},
		{"floating IPs without a port are DOWN, and are not found by an empty port", func(c *try) {
			a := c.as(k8s).net("GET", "/floatingips?fields=id&status=DOWN&id="+floating+"&description="+name, nil).is(200)
			c.must(sameSet(a.texts("floatingips", "id"), floating), "found %s", a.Text)
			c.must(len(c.as(k8s).net("GET", "/floatingips?fields=id&port_id=&description="+name, nil).is(200).list("floatingips")) == 0, "found")
		}},
		{"a floating IP is not refused as a marker when it is not there, unlike a port: the list starts again", func(c *try) {
			a := c.as(k8s).net("GET", "/floatingips?fields=id&limit=1000&description="+name+"&marker="+nowhere, nil).is(200)
			c.must(len(a.list("floatingips")) == 2, "found %s", a.Text)
		}},
		{"floating IPs have pages too", func(c *try) {
			a := c.as(k8s).net("GET", "/floatingips?fields=id&limit=1&description="+name, nil).is(200)
			c.must(len(a.list("floatingips")) == 1 && slices.Contains(rels(a, "floatingips"), "next"), "it is %s", a.Text)
			c.must(len(c.as(k8s).net("GET", "/floatingips?fields=id&limit=1&description="+name+"&marker="+a.text("floatingips.0.id"), nil).is(200).list("floatingips")) == 1, "there is no second")
		}},
		{"floating IPs are sorted by address", func(c *try) {
			a := c.as(k8s).net("GET", "/floatingips?fields=floating_ip_address&sort_key=floating_ip_address&sort_dir=desc&description="+name, nil).is(200)
			c.must(len(a.list("floatingips")) == 2, "found %s", a.Text)
		}},
		{"another project's objects are not in a list, even if it is asked for that project", func(c *try) {
			c.must(len(c.as(other).net("GET", all, nil).is(200).list("ports")) == 0, "found")
			c.must(len(c.as(other).net("GET", all+"&project_id="+c.projectOf(k8s), nil).is(200).list("ports")) == 0, "found")
			c.must(len(c.as(admin).net("GET", all+"&fields=id&tenant_id="+c.projectOf(k8s), nil).is(200).list("ports")) == 5, "the admin does not find them")
		}},
	})
}
