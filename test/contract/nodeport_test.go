// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

// nodeFields are what is read of the ports of nodes.
const nodeFields = "fields=id&fields=device_id&fields=status&fields=fixed_ips&fields=network_id&fields=allowed_address_pairs" +
	"&fields=port_security_enabled&fields=tags&fields=revision_number&fields=trunk_details"

// pairs returns the body that gives a port these address pairs, without MAC addresses.
func pairs(addresses ...string) object {
	all := list{}
	for _, a := range addresses {
		all = append(all, object{"ip_address": a})
	}
	return object{"port": object{"allowed_address_pairs": all}}
}

func (a answer) pairsOf() []string {
	all := a.texts("port.allowed_address_pairs", "ip_address")
	slices.Sort(all)
	return all
}

func TestPortsOfNodes(t *testing.T) {
	t.Parallel()
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.42.0/24")
	project := g.projectOf(k8s)
	newPort := func(c *try) answer {
		c.Helper()
		return c.quietly(k8s).make("ports", object{"network_id": mine.network, "name": c.newName()})
	}

	state(t, []statement{
		{"the port of a server is ACTIVE and has the server's id, its addresses and a MAC address", func(c *try) {
			for name, id := range c.cloud.Servers {
				a := c.quietly(k8s).net("GET", "/ports?project_id="+project+"&device_id="+id+"&"+nodeFields, nil).is(200)
				c.must(len(a.list("ports")) == 1 && a.text("ports.0.status") == "ACTIVE" && a.text("ports.0.device_id") == id, "%s has %s", name, a.Text)
				c.must(a.text("ports.0.fixed_ips.0.ip_address") != "" && a.at("ports.0.trunk_details") == nil, "%s has %s", name, a.Text)
			}
			c.as(k8s).net("GET", "/ports?project_id="+project+"&device_id="+c.cloud.Servers["node-1"]+"&"+nodeFields, nil).is(200)
		}},
		{"the ports of a project are listed page by page, with the fields that are asked for", func(c *try) {
			var want []string
			for range 3 {
				want = append(want, newPort(c).text("port.id"))
			}
			path := "/ports?project_id=" + project + "&network_id=" + mine.network + "&limit=2&" + nodeFields
			first := c.as(k8s).net("GET", path, nil).is(200)
			c.must(len(first.list("ports")) == 2 && first.text("ports_links.0.rel") == "next", "the first page is %s", first.Text)
			second := c.as(k8s).net("GET", path+"&marker="+first.text("ports.1.id"), nil).is(200)
			c.must(sameSet(append(first.texts("ports", "id"), second.texts("ports", "id")...), want...), "the pages are %s and %s", first.Text, second.Text)
			c.must(len(second.list("ports")) == 1 && second.text("ports_links.0.rel") == "previous", "the second page is %s", second.Text)
		}},
		{"another project's ports are not listed", func(c *try) {
			a := c.as(other).net("GET", "/ports?project_id="+project+"&network_id="+mine.network+"&"+nodeFields, nil).is(200)
			c.must(len(a.list("ports")) == 0, "found %s", a.Text)
		}},
		{"the marker of a port that is gone is refused with 404", func(c *try) {
			c.as(k8s).net("GET", "/ports?limit=2&marker="+nowhere, nil).refused(404, "PortNotFound")
		}},
		{"networks are listed with id and name alone", func(c *try) {
			a := c.as(k8s).net("GET", "/networks?fields=id&fields=name&id="+c.cloud.Network, nil).is(200)
			c.must(a.text("networks.0.name") == "private", "it is %s", a.Text)
		}},
		{"a port takes blocks of addresses as address pairs, and shows them with its own MAC address", func(c *try) {
			p := newPort(c)
			a := c.as(k8s).net("PUT", "/ports/"+p.text("port.id"), pairs("10.78.1.0/24", "fd00:78::/64")).is(200)
			c.must(slices.Equal(a.pairsOf(), []string{"10.78.1.0/24", "fd00:78::/64"}), "it has %v", a.at("port.allowed_address_pairs"))
			c.must(a.text("port.allowed_address_pairs.0.mac_address") == p.text("port.mac_address"), "it has %v", a.at("port.allowed_address_pairs"))
		}},
		{"a block with host bits is taken as it is", func(c *try) {
			a := c.as(k8s).net("PUT", "/ports/"+newPort(c).text("port.id"), pairs("10.78.1.0/24", "10.78.1.5/24")).is(200)
			c.must(slices.Equal(a.pairsOf(), []string{"10.78.1.0/24", "10.78.1.5/24"}), "it has %v", a.at("port.allowed_address_pairs"))
		}},
		{"an update replaces all address pairs, null is none", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			c.quietly(k8s).net("PUT", path, pairs("10.78.1.0/24")).is(200)
			a := c.as(k8s).net("PUT", path, pairs("10.78.2.0/24")).is(200)
			c.must(slices.Equal(a.pairsOf(), []string{"10.78.2.0/24"}), "it has %v", a.at("port.allowed_address_pairs"))
			a = c.as(k8s).net("PUT", path, object{"port": object{"allowed_address_pairs": nil}}).is(200)
			c.must(len(a.list("port.allowed_address_pairs")) == 0, "it has %v", a.at("port.allowed_address_pairs"))
		}},
		{"address pairs are replaced for one revision only: for another 412, and nothing is changed", func(c *try) {
			p := newPort(c)
			path, revision := "/ports/"+p.text("port.id"), p.revision("port")
			a := c.as(k8s).net("PUT", path, pairs("10.78.1.0/24"), ifMatch(revision)).is(200)
			c.must(a.revision("port") > revision, "the revision is %v, as before", revision)
			c.as(k8s).net("PUT", path, pairs("10.78.2.0/24"), ifMatch(revision)).refused(412, "RevisionNumberConstraintFailed")
			now := c.quietly(k8s).net("GET", path, nil).is(200)
			c.must(slices.Equal(now.pairsOf(), []string{"10.78.1.0/24"}), "it has %v", now.pairsOf())
		}},
		{"the same address pairs again are another revision, all the same", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			before := c.quietly(k8s).net("PUT", path, pairs("10.78.1.0/24")).is(200).revision("port")
			c.must(c.as(k8s).net("PUT", path, pairs("10.78.1.0/24")).is(200).revision("port") > before, "the revision is %v, as before", before)
		}},
		{"what is no address pair is refused with 400", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			for _, wrong := range []string{"nonsense", "10.78.1.0/33", "10.78.1.300", ""} {
				c.as(k8s).net("PUT", path, pairs(wrong)).refused(400, "HTTPBadRequest")
			}
			c.as(k8s).net("PUT", path, object{"port": object{"allowed_address_pairs": "x"}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, object{"port": object{"allowed_address_pairs": list{"x"}}}).refused(400, "HTTPBadRequest")
			c.as(k8s).net("PUT", path, object{"port": object{"allowed_address_pairs": list{object{}}}}).refused(400, "AllowedAddressPairsMissingIP")
			c.as(k8s).net("PUT", path, object{"port": object{"allowed_address_pairs": list{object{"ip_address": "10.78.1.0/24", "mac_address": "x"}}}}).refused(400, "HTTPBadRequest")
		}},
		{"more than 10 address pairs are refused with 400", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			var many []string
			for _, r := range manyRoutes(11, "") {
				many = append(many, r["destination"].(string))
			}
			c.quietly(k8s).net("PUT", path, pairs(many[:10]...)).is(200)
			c.as(k8s).net("PUT", path, pairs(many...)).refused(400, "AllowedAddressPairExhausted")
		}},
		{"one tag is added to a port and taken away, others stay", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			c.quietly(k8s).net("PUT", path+"/tags", object{"tags": list{"theirs"}}).is(200)
			c.as(k8s).net("PUT", path+"/tags/ours", nil).is(201)
			c.as(k8s).net("PUT", path+"/tags/ours", nil).is(201)
			has := func(want ...any) {
				c.Helper()
				got := c.quietly(k8s).net("GET", path+"/tags", nil).is(200).list("tags")
				c.must(len(got) == len(want) && !slices.ContainsFunc(want, func(w any) bool { return !slices.Contains(got, w) }), "the tags are %v, want %v", got, want)
			}
			has("theirs", "ours")
			found := c.as(k8s).net("GET", "/ports?tags=ours&network_id="+mine.network+"&fields=id&fields=tags", nil).is(200)
			c.must(slices.Equal(found.texts("ports", "id"), []string{strings.TrimPrefix(path, "/ports/")}), "found %s", found.Text)
			c.as(k8s).net("DELETE", path+"/tags/ours", nil).is(204)
			has("theirs")
			c.as(k8s).net("DELETE", path+"/tags/ours", nil).refused(404, "TagNotFound")
		}},
		{"a tag that is added is another revision of the port, one that it has already is not", func(c *try) {
			p := newPort(c)
			path := "/ports/" + p.text("port.id")
			revision := func() float64 { return c.quietly(k8s).net("GET", path, nil).is(200).revision("port") }
			c.as(k8s).net("PUT", path+"/tags/ours", nil).is(201)
			tagged := revision()
			c.must(tagged > p.revision("port"), "the revision is %v, as before", tagged)
			c.quietly(k8s).net("PUT", path+"/tags/ours", nil).is(201)
			c.must(revision() == tagged, "the revision is %v and was %v", revision(), tagged)
		}},
		{"a tag of a port that is not there, or another project's, is answered 404", until(release2022, func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			for _, method := range []string{"PUT", "DELETE"} {
				c.as(k8s).net(method, "/ports/"+nowhere+"/tags/ours", nil).refused(404, "TagResourceNotFound")
				c.as(other).net(method, path+"/tags/ours", nil).refused(404, "TagResourceNotFound")
			}
		})},
		{"a tag for a port that is not there is answered with 500", since(release2025, func(c *try) {
			c.as(k8s).net("PUT", "/ports/"+nowhere+"/tags/ours", nil).is(500)
		})},
		{"a tag takes no revision to match: 500, whichever it is, and nothing is changed", func(c *try) {
			p := newPort(c)
			path := "/ports/" + p.text("port.id")
			c.as(k8s).net("PUT", path+"/tags/ours", nil, ifMatch(p.revision("port"))).is(500)
			c.as(k8s).net("PUT", path+"/tags/ours", nil, ifMatch(p.revision("port")+100)).is(500)
			c.must(len(c.quietly(k8s).net("GET", path+"/tags", nil).is(200).list("tags")) == 0, "it has a tag")
		}},
		{"a tag of 256 letters is refused with 400, one with a slash with 404", func(c *try) {
			path := "/ports/" + newPort(c).text("port.id")
			c.quietly(k8s).net("PUT", path+"/tags/"+strings.Repeat("x", 255), nil).is(201)
			c.as(k8s).net("PUT", path+"/tags/"+strings.Repeat("x", 256), nil).refused(400, "InvalidInput")
			c.as(k8s).net("PUT", path+"/tags/a%2Fb", nil).refused(404, "HTTPNotFound")
		}},
	})
}

func TestTrunks(t *testing.T) {
	t.Parallel()
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.43.0/24")
	parent := g.has(k8s, "ports", object{"network_id": mine.network, "name": g.newName()})
	sub := g.has(k8s, "ports", object{"network_id": mine.network, "name": g.newName()})
	trunk := g.cloud.makeTrunk(g, parent, sub)

	state(t, []statement{
		{"trunks are known by the extensions trunk and trunk-details", func(c *try) {
			c.as(k8s).net("GET", "/extensions/trunk", nil).is(200)
			c.as(k8s).net("GET", "/extensions/trunk-details", nil).is(200)
		}},
		{"the parent port of a trunk shows the trunk with its subports and their MAC addresses", func(c *try) {
			a := c.as(k8s).net("GET", "/ports/"+parent, nil).is(200)
			c.must(a.text("port.trunk_details.trunk_id") == trunk && a.text("port.trunk_details.sub_ports.0.port_id") == sub, "it is %s", a.Text)
			c.must(a.text("port.trunk_details.sub_ports.0.mac_address") != "", "no MAC address in %s", a.Text)
			c.as(k8s).net("GET", "/ports/"+parent+"?fields=id&fields=trunk_details", nil).is(200)
		}},
		{"a list of ports shows trunks with MAC addresses", since(newest, func(c *try) {
			a := c.as(k8s).net("GET", "/ports?id="+parent+"&"+nodeFields, nil).is(200)
			c.must(a.text("ports.0.trunk_details.sub_ports.0.port_id") == sub && a.text("ports.0.trunk_details.sub_ports.0.mac_address") != "", "it is %s", a.Text)
			c.as(k8s).net("GET", "/ports?network_id="+mine.network+"&"+nodeFields, nil).is(200)
		})},
		{"a list of ports shows trunks without MAC addresses", until(release2025, func(c *try) {
			a := c.as(k8s).net("GET", "/ports?id="+parent+"&"+nodeFields, nil).is(200)
			c.must(a.text("ports.0.trunk_details.sub_ports.0.port_id") == sub && a.at("ports.0.trunk_details.sub_ports.0.mac_address") == nil, "it is %s", a.Text)
			c.as(k8s).net("GET", "/ports?network_id="+mine.network+"&"+nodeFields, nil).is(200)
		})},
		{"a subport shows no trunk", func(c *try) {
			a := c.as(k8s).net("GET", "/ports/"+sub, nil).is(200)
			c.must(a.at("port.trunk_details") == nil, "it is %s", a.Text)
		}},
		{"ports cannot be found by their trunks: 400", func(c *try) {
			c.as(k8s).net("GET", "/ports?trunk_details="+trunk, nil).refused(400, "HTTPBadRequest")
		}},
		{"trunks are listed and shown", func(c *try) {
			a := c.as(k8s).net("GET", "/trunks?port_id="+parent, nil).is(200)
			c.must(slices.Equal(a.texts("trunks", "id"), []string{trunk}), "found %s", a.Text)
			c.as(k8s).net("GET", "/trunks/"+trunk, nil).is(200)
			c.as(k8s).net("GET", "/trunks/"+trunk+"/get_subports", nil).is(200)
			c.as(k8s).net("GET", "/trunks?port_id="+sub, nil).is(200)
			c.as(k8s).net("GET", "/trunks/"+nowhere, nil).refused(404, "TrunkNotFound")
			c.as(other).net("GET", "/trunks/"+trunk, nil).refused(404, "TrunkNotFound")
		}},
		{"a port is not deleted while a trunk has it: 409", func(c *try) {
			c.as(k8s).net("DELETE", "/ports/"+parent, nil).refused(409, "PortInUseAsTrunkParent")
			c.as(k8s).net("DELETE", "/ports/"+sub, nil).refused(409, "PortInUseAsSubPort")
		}},
	})
}
