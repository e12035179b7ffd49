// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const noServer = "00000000-0000-4000-8000-000000000001"

// addressesOf returns the fixed addresses that a server in the answer has.
func addressesOf(a answer, path string) []string {
	var all []string
	networks, _ := a.at(path + ".addresses").(map[string]any)
	for _, addresses := range networks {
		for _, x := range addresses.([]any) {
			all = append(all, x.(map[string]any)["addr"].(string))
		}
	}
	slices.Sort(all)
	return all
}

func TestServers(t *testing.T) {
	t.Parallel()
	latest := "OpenStack-API-Version: compute 2.93"
	node := func(c *try) string { return "/servers/" + c.cloud.Servers["node-1"] }
	state(t, []statement{
		{"servers are listed with id, name and links", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers", nil).is(200)
			for name, id := range c.cloud.Servers {
				c.must(slices.Contains(a.texts("servers", "id"), id) && slices.Contains(a.texts("servers", "name"), name), "no %s in %s", name, a.Text)
			}
		}},
		{"servers are listed in full, with status, metadata and addresses by the network's name", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers/detail?name=node-1", nil).is(200)
			c.must(a.text("servers.0.id") == c.cloud.Servers["node-1"] && a.text("servers.0.status") == "ACTIVE", "it is %s", a.Text)
			c.must(len(a.list("servers.0.addresses.private")) > 0, "no address on the network private in %s", a.Text)
			c.must(a.text("servers.0.addresses.private.0.OS-EXT-IPS:type") == "fixed", "the address is no fixed one")
			c.must(a.text("servers.0.tenant_id") == c.cloud.Projects[k8s], "it belongs to %s", a.text("servers.0.tenant_id"))
		}},
		{"a server is shown by its id", func(c *try) {
			a := c.as(k8s).compute("GET", node(c), nil).is(200)
			c.must(a.text("server.name") == "node-1" && a.text("server.OS-EXT-STS:vm_state") == "active", "it is %s", a.Text)
		}},
		{"the newest microversion shows more of a server, and its flavor in place of a reference to it", func(c *try) {
			a := c.as(k8s).compute("GET", node(c), nil, latest).is(200)
			c.must(a.text("server.flavor.original_name") != "" && a.at("server.tags") != nil, "it is %s", a.Text)
			c.as(k8s).compute("GET", "/servers/detail?name=node-1", nil, latest).is(200)
		}},
		{"an admin sees which host a server runs on", func(c *try) {
			a := c.as(admin).compute("GET", node(c), nil, latest).is(200)
			c.must(a.text("server.OS-EXT-SRV-ATTR:host") != "", "no host in %s", a.Text)
			c.as(admin).compute("GET", node(c), nil).is(200)
		}},
		{"the name is a regular expression, which matches anywhere", func(c *try) {
			c.must(len(c.as(k8s).compute("GET", "/servers?name=ode-1", nil).is(200).list("servers")) == 1, "part of a name does not match")
			c.must(len(c.as(k8s).compute("GET", "/servers?name=^node-1$", nil).is(200).list("servers")) == 1, "the whole name does not match")
			c.must(len(c.as(k8s).compute("GET", "/servers?name=^ode", nil).is(200).list("servers")) == 0, "something begins with ode")
		}},
		{"a name that is no regular expression is answered 400", func(c *try) {
			c.as(k8s).compute("GET", "/servers?name=[", nil).is(400)
		}},
		{"servers are found by a part of an address, which is no regular expression", func(c *try) {
			address := addressesOf(c.quietly(k8s).compute("GET", node(c), nil).is(200), "server")[0]
			a := c.as(k8s).compute("GET", "/servers?ip="+address, nil).is(200)
			c.must(slices.Equal(a.texts("servers", "name"), []string{"node-1"}), "they are %s", a.Text)
			c.must(len(c.as(k8s).compute("GET", "/servers?ip=^"+address+"$", nil).is(200).list("servers")) == 0, "it is one")
		}},
		{"servers are found by status, in any case of letters", func(c *try) {
			c.must(len(c.as(k8s).compute("GET", "/servers?status=active&name=node-1", nil).is(200).list("servers")) == 1, "none is active")
			c.must(len(c.as(k8s).compute("GET", "/servers?status=ERROR&name=node-1", nil).is(200).list("servers")) == 0, "one is in ERROR")
		}},
		{"servers are found by tag", func(c *try) {
			c.must(len(c.as(k8s).compute("GET", "/servers?tags=none", nil, latest).is(200).list("servers")) == 0, "one has the tag")
		}},
		{"query keys that Nova does not know are passed over", func(c *try) {
			c.must(len(c.as(k8s).compute("GET", "/servers?nonsense=1&name=node-1", nil).is(200).list("servers")) == 1, "the key counts")
		}},
		{"a full page has a link to the next one, and following it shows every server once", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers?limit=2&name=^node-[123]$&sort_key=display_name&sort_dir=asc", nil).is(200)
			c.must(slices.Equal(a.texts("servers", "name"), []string{"node-1", "node-2"}), "the page has %s", a.Text)
			c.must(a.text("servers_links.0.rel") == "next", "no next link in %s", a.Text)
			b := c.as(k8s).compute("GET", "/servers?limit=2&name=^node-[123]$&sort_key=display_name&sort_dir=asc&marker="+a.text("servers.1.id"), nil).is(200)
			c.must(slices.Equal(b.texts("servers", "name"), []string{"node-3"}) && b.at("servers_links") == nil, "the last page has %s", b.Text)
		}},
		{"a page that is full but last has a link to the next one all the same, which is empty", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers?limit=1&name=^node-1$", nil).is(200)
			c.must(a.text("servers_links.0.rel") == "next", "no next link in %s", a.Text)
			b := c.as(k8s).compute("GET", "/servers?limit=1&name=^node-1$&marker="+a.text("servers.0.id"), nil).is(200)
			c.must(len(b.list("servers")) == 0, "the next page has %s", b.Text)
		}},
		{"a page of no servers is a page of no servers", func(c *try) {
			c.must(len(c.as(k8s).compute("GET", "/servers?limit=0", nil).is(200).list("servers")) == 0, "there are some")
		}},
		{"a marker that is no server is answered 400", func(c *try) {
			c.as(k8s).compute("GET", "/servers?marker="+noServer, nil).is(400)
			c.as(k8s).compute("GET", "/servers?marker=nonsense", nil).is(400)
		}},
		{"a page size that is no number, or negative, is answered 400", func(c *try) {
			c.as(k8s).compute("GET", "/servers?limit=x", nil).is(400)
			c.as(k8s).compute("GET", "/servers?limit=-1", nil).is(400)
		}},
		{"sorting by a key that Nova does not know is answered 400", func(c *try) {
			c.as(k8s).compute("GET", "/servers?sort_key=nonsense", nil).is(400)
		}},
		{"servers are sorted as they are asked to be", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers?name=^node-[123]$&sort_key=display_name&sort_dir=desc", nil).is(200)
			c.must(slices.Equal(a.texts("servers", "name"), []string{"node-3", "node-2", "node-1"}), "they are %v", a.texts("servers", "name"))
		}},
		{"a server that is not there is answered 404", func(c *try) {
			c.as(k8s).compute("GET", "/servers/"+noServer, nil).is(404)
			c.as(k8s).compute("GET", "/servers/nonsense", nil).is(404)
		}},
		{"another project's server is answered 404", func(c *try) {
			c.as(other).compute("GET", node(c), nil).is(404)
			c.must(len(c.as(other).compute("GET", "/servers?name=node-1", nil).is(200).list("servers")) == 0, "it is in the list")
			c.as(other).compute("GET", node(c)+"/os-interface", nil).is(404)
		}},
		{"all projects' servers are listed for an admin who asks for them, for others that is 403", func(c *try) {
			c.must(len(c.as(admin).compute("GET", "/servers?name=node-1", nil).is(200).list("servers")) == 0, "unasked")
			all := c.as(admin).compute("GET", "/servers?name=node-1&all_tenants=1", nil).is(200)
			c.must(slices.Contains(all.texts("servers", "id"), c.cloud.Servers["node-1"]), "not when asked: %s", all.Text)
			c.as(k8s).compute("GET", "/servers?all_tenants=1", nil).is(403)
		}},
		{"a server's interfaces name port, network, addresses and MAC, and agree with the ports in Neutron", func(c *try) {
			a := c.as(k8s).compute("GET", node(c)+"/os-interface", nil).is(200)
			ports := c.quietly(k8s).net("GET", "/ports?device_id="+c.cloud.Servers["node-1"], nil).is(200)
			c.must(len(a.list("interfaceAttachments")) == len(ports.list("ports")), "Neutron has %s", ports.Text)
			for _, pair := range [][2]string{
				{"port_id", "id"}, {"net_id", "network_id"}, {"mac_addr", "mac_address"}, {"port_state", "status"},
				{"fixed_ips.0.ip_address", "fixed_ips.0.ip_address"}, {"fixed_ips.0.subnet_id", "fixed_ips.0.subnet_id"},
			} {
				nova, neutron := a.text("interfaceAttachments.0."+pair[0]), ports.text("ports.0."+pair[1])
				c.must(nova == neutron && nova != "", "%s is %q in Nova, %q in Neutron", pair[0], nova, neutron)
			}
			c.must(ports.text("ports.0.device_owner") == "compute:nova", "the port belongs to %s", ports.text("ports.0.device_owner"))
		}},
		{"the addresses of a server are those of its ports", func(c *try) {
			ports := c.quietly(k8s).net("GET", "/ports?device_id="+c.cloud.Servers["node-1"], nil).is(200)
			want := ports.texts("ports.0.fixed_ips", "ip_address")
			slices.Sort(want)
			got := addressesOf(c.quietly(k8s).compute("GET", node(c), nil).is(200), "server")
			c.must(slices.Equal(got, want), "%v in Nova, %v in Neutron", got, want)
			c.as(k8s).compute("GET", node(c)+"/ips", nil).is(200)
			c.as(k8s).compute("GET", node(c)+"/ips/private", nil).is(200)
			c.as(k8s).compute("GET", node(c)+"/ips/nowhere", nil).is(404)
		}},
		{"an interface is shown by its port, and later microversions show its tag", func(c *try) {
			port := c.quietly(k8s).compute("GET", node(c)+"/os-interface", nil).is(200).text("interfaceAttachments.0.port_id")
			c.as(k8s).compute("GET", node(c)+"/os-interface/"+port, nil).is(200)
			c.as(k8s).compute("GET", node(c)+"/os-interface", nil, latest).is(200)
			c.as(k8s).compute("GET", node(c)+"/os-interface/"+noServer, nil).is(404)
			c.as(k8s).compute("GET", "/servers/"+noServer+"/os-interface", nil).is(404)
		}},
		{"the security groups of a server are those of its ports", func(c *try) {
			ports := c.quietly(k8s).net("GET", "/ports?device_id="+c.cloud.Servers["node-1"], nil).is(200)
			// Not compared: each cloud has rules of its own.
			a := c.quietly(k8s).compute("GET", node(c)+"/os-security-groups", nil).is(200)
			var want []string
			for _, id := range ports.list("ports.0.security_groups") {
				want = append(want, id.(string))
			}
			c.must(slices.Equal(a.texts("security_groups", "id"), want), "%v in Nova, %v in Neutron", a.texts("security_groups", "id"), want)
			b := c.quietly(k8s).compute("GET", node(c), nil).is(200)
			c.must(slices.Equal(b.texts("server.security_groups", "name"), a.texts("security_groups", "name")), "the server says %v", b.texts("server.security_groups", "name"))
		}},
		{"the metadata of a server has a place of its own", func(c *try) {
			c.as(k8s).compute("GET", node(c)+"/metadata", nil).is(200)
			c.as(k8s).compute("GET", node(c)+"/metadata/nothing", nil).is(404)
		}},
		{"the tags of a server have a place of their own, from microversion 2.26 on", func(c *try) {
			c.as(k8s).compute("GET", node(c)+"/tags", nil, latest).is(200)
			c.as(k8s).compute("GET", node(c)+"/tags", nil).is(404)
		}},
		{"microversion 2.47 shows of each server its flavor, with the name, in place of a reference to it", func(c *try) {
			nodes := "OpenStack-API-Version: compute 2.47"
			a := c.as(k8s).compute("GET", "/servers/detail?name=^node-[123]$&sort_key=display_name&sort_dir=asc&limit=2", nil, nodes).is(200)
			c.must(a.text("servers.0.flavor.original_name") != "" && a.at("servers.0.flavor.id") == nil, "the flavor is %v", a.at("servers.0.flavor"))
			c.must(a.text("servers_links.0.rel") == "next", "no next link in %s", a.Text)
			c.as(k8s).compute("GET", "/servers/detail?name=^node-[123]$&sort_key=display_name&sort_dir=asc&limit=2&marker="+a.text("servers.1.id"), nil, nodes).is(200)
			b := c.as(k8s).compute("GET", node(c), nil, nodes).is(200)
			c.must(b.text("server.flavor.original_name") == a.text("servers.0.flavor.original_name"), "the flavor is %v", b.at("server.flavor"))
			c.as(k8s).compute("GET", "/servers/"+noServer, nil, nodes).is(404)
			c.as(k8s).compute("GET", "/servers/detail?marker="+noServer, nil, nodes).is(400)
		}},
		{"a server of microversion 2.46 has only a reference to its flavor", func(c *try) {
			a := c.as(k8s).compute("GET", node(c), nil, "OpenStack-API-Version: compute 2.46").is(200)
			c.must(a.text("server.flavor.id") != "" && a.at("server.flavor.original_name") == nil, "the flavor is %v", a.at("server.flavor"))
		}},
		{"a page is no larger than 1,000 servers, and a larger limit is taken as that", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers?name=^node-1$&limit=5000", nil).is(200)
			c.must(len(a.list("servers")) == 1 && a.at("servers_links") == nil, "it is %s", a.Text)
		}},
		{"without a header the microversion is 2.1, and the answer says so", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers?name=node-1", nil).is(200)
			c.must(a.Header.Get("OpenStack-API-Version") == "compute 2.1" && a.Header.Get("X-OpenStack-Nova-API-Version") == "2.1", "it is %v", a.Header)
		}},
		{"the microversion is asked for by the new header or by the old, and latest is one", func(c *try) {
			newest := c.newestMicroversion()
			for header, want := range map[string]string{
				latest: "2.93", "X-OpenStack-Nova-API-Version: 2.47": "2.47", "OpenStack-API-Version: compute latest": newest,
				"OpenStack-API-Version: network 2.5": "2.1", "OpenStack-API-Version: nonsense": "2.1",
			} {
				a := c.quietly(k8s).compute("GET", "/servers?name=node-1", nil, header).is(200)
				c.must(a.Header.Get("X-OpenStack-Nova-API-Version") == want, "%s gives %s", header, a.Header.Get("X-OpenStack-Nova-API-Version"))
			}
		}},
		{"a microversion that Nova does not have is answered 406, with that version in the header", func(c *try) {
			minor, err := strconv.Atoi(strings.TrimPrefix(c.newestMicroversion(), "2."))
			check(c.T, err)
			next := fmt.Sprintf("compute 2.%d", minor+1)
			a := c.as(k8s).compute("GET", "/servers", nil, "OpenStack-API-Version: "+next).is(406)
			c.must(a.Header.Get("OpenStack-API-Version") == next, "the header says %s", a.Header.Get("OpenStack-API-Version"))
			c.as(k8s).compute("GET", "/servers", nil, "X-OpenStack-Nova-API-Version: 9.9").is(406)
		}},
		{"a microversion that is none is answered 400, with no version in the header", func(c *try) {
			a := c.as(k8s).compute("GET", "/servers", nil, "OpenStack-API-Version: compute nonsense").is(400)
			c.must(a.Header.Get("OpenStack-API-Version") == "", "the header says %s", a.Header.Get("OpenStack-API-Version"))
		}},
		{"flavors are listed and shown", func(c *try) {
			c.as(k8s).compute("GET", "/flavors", nil).is(200)
			id := c.as(k8s).compute("GET", "/flavors?limit=1", nil).is(200).text("flavors.0.id")
			c.quietly(k8s).compute("GET", "/flavors/"+id, nil).is(200)
			c.as(k8s).compute("GET", "/flavors/nothing", nil).is(404)
		}},
	})
}

// newestMicroversion returns the newest microversion that Nova says it has.
func (c *try) newestMicroversion() string {
	c.Helper()
	return c.quietly(k8s).do("compute", "GET", "/", nil).is(200).text("versions.1.version")
}
