// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// at returns a member on an address and port, with the attributes of more.
func at(address string, port int, more object) object {
	return with(object{"address": address, "protocol_port": port}, more)
}

func TestMembers(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"listeners": list{
		onPort(80, "TCP", "web", nil), onPort(80, "UDP", "udp", nil),
		onPort(81, "TCP", "one", object{"members": list{
			at("10.1.0.1", 80, object{"name": "first", "weight": 7, "backup": true, "monitor_address": "10.1.0.9", "monitor_port": 81, "tags": list{"a", "b"}}),
			at("10.1.0.2", 80, nil),
		}}),
		onPort(83, "TCP", "watched", object{"healthmonitor": object{"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2}}),
	}})
	state(t, slices.Concat(memberCreation(tree), memberRefusals(tree), memberChanges(tree), memberSubnets(tree), memberLists(tree)))
}

func TestMemberBatches(t *testing.T) {
	t.Parallel()
	tree := newTree(t, object{"listeners": list{onPort(80, "TCP", "web", nil), onPort(82, "TCP", "many", nil)}})
	state(t, slices.Concat(memberBatches(tree), memberPages(tree)))
}

// members returns the paths of a pool's members, and of the pool's list of them.
func (p parts) members(pool string) string { return "/pools/" + p.pools[pool] + "/members" }

// inPool returns the members of a pool by address:port.
func (c *try) inPool(tree parts, pool string) map[string]object {
	c.Helper()
	all := map[string]object{}
	for _, m := range c.quietly(k8s).lb("GET", tree.members(pool), nil).is(200).list("members") {
		m := m.(object)
		all[fmt.Sprintf("%v:%v", m["address"], m["protocol_port"])] = m
	}
	return all
}

func memberCreation(tree parts) []statement {
	return []statement{
		{"a member needs an address and a port; it has weight 1 and no monitor of its own by default", func(c *try) {
			var id string
			c.during(tree.lb, func() {
				a := c.as(k8s).lb("POST", tree.members("web"), object{"member": at("10.1.0.1", 80, nil)}).is(201)
				id = a.text("member.id")
				c.must(a.at("member.weight") == 1.0 && a.at("member.backup") == false && a.at("member.monitor_port") == nil, "no defaults in %s", a.Text)
				c.must(a.text("member.operating_status") == "NO_MONITOR", "it is %s", a.text("member.operating_status"))
			}, func() {
				c.must(c.status("/listeners/"+tree.listeners["web"], "listener") == "PENDING_UPDATE", "the listener is not PENDING_UPDATE")
			})
			c.as(k8s).lb("GET", tree.members("web")+"/"+id, nil).is(200)
		}},
		{"a member of a pool with a health monitor is OFFLINE at first", func(c *try) {
			a := c.change(tree.lb, "POST", tree.members("watched"), object{"member": at("10.1.0.1", 80, object{
				"name": "m", "subnet_id": c.cloud.Subnet, "weight": 0, "backup": true, "tags": list{"t"}, "admin_state_up": false,
			})}, 201)
			c.must(a.text("member.operating_status") == "OFFLINE", "it is %s", a.text("member.operating_status"))
		}},
		{"a second member on the same address and port is refused with 409", func(c *try) {
			c.refuse(409, "POST", tree.members("one"), "member", at("10.1.0.1", 80, nil), at("10.1.0.2", 80, object{"weight": 9}))
		}},
		{"a full create with a member in a subnet that is not there is answered 201, and the load balancer ends in ERROR", func(c *try) {
			a := c.as(k8s).lb("POST", "/loadbalancers", object{"loadbalancer": object{
				"name": c.newName(), "vip_subnet_id": c.cloud.Subnet, "listeners": list{onPort(80, "TCP", "lost", object{"members": list{
					at("10.1.0.1", 80, object{"subnet_id": unknown}),
				}})},
			}}).is(201)
			c.Cleanup(func() { deleteLB(c.T, a.text("loadbalancer.id")) })
			status := c.settled(a.text("loadbalancer.id"))
			c.must(status == "ERROR", "it is %s", status)
		}},
	}
}

func memberRefusals(tree parts) []statement {
	refuse := func(c *try, bodies ...object) {
		c.Helper()
		c.refuse(400, "POST", tree.members("one"), "member", bodies...)
	}
	return []statement{
		{"a member's address must be an IP address, and not that of the metadata service", func(c *try) {
			refuse(c, at("node-1", 80, nil), at("10.1.0.256", 80, nil), at("10.1.0.0/24", 80, nil), at("", 80, nil),
				at("169.254.169.254", 80, nil), object{"protocol_port": 80})
		}},
		{"a member's port is 1 to 65535", func(c *try) {
			refuse(c, at("10.1.0.5", 0, nil), at("10.1.0.5", 65536, nil), at("10.1.0.5", -1, nil), object{"address": "10.1.0.5"},
				object{"address": "10.1.0.5", "protocol_port": "http"})
		}},
		{"a member's weight is 0 to 256", func(c *try) {
			refuse(c, at("10.1.0.5", 80, object{"weight": -1}), at("10.1.0.5", 80, object{"weight": 257}), at("10.1.0.5", 80, object{"weight": "heavy"}))
		}},
		{"address and port of a member's monitor are checked as its own", func(c *try) {
			refuse(c, at("10.1.0.5", 80, object{"monitor_port": 0}), at("10.1.0.5", 80, object{"monitor_port": 65536}), at("10.1.0.5", 80, object{"monitor_address": "node-1"}))
		}},
		{"null for a member's address or port fails with 500", func(c *try) {
			c.refuse(500, "POST", tree.members("one"), "member", at("10.1.0.5", 80, object{"address": nil}), at("10.1.0.5", 80, object{"protocol_port": nil}))
		}},
		{"texts that are too long, tags that come twice and unknown attributes of a member are refused", func(c *try) {
			refuse(c, at("10.1.0.5", 80, object{"name": strings.Repeat("n", 256)}), at("10.1.0.5", 80, object{"description": "new"}), at("10.1.0.5", 80, object{"backup": "perhaps"}))
			c.refuse(409, "POST", tree.members("one"), "member", at("10.1.0.5", 80, object{"tags": list{"a", "a"}}))
		}},
		{"a UDP pool takes no member of a family that the load balancer has no VIP of, 501", func(c *try) {
			c.refuse(501, "POST", tree.members("udp"), "member", at("fd00:7::1", 80, nil))
			c.as(k8s).lb("PUT", tree.members("udp"), object{"members": list{at("fd00:7::1", 80, nil)}}).is(501)
			c.active(tree.lb)
		}},
		{"members of a pool or with an id that is not there are answered 404", func(c *try) {
			c.as(k8s).lb("GET", "/pools/"+unknown+"/members", nil).is(404)
			c.as(k8s).lb("POST", "/pools/"+unknown+"/members", object{"member": at("10.1.0.5", 80, nil)}).is(404)
			c.as(k8s).lb("PUT", "/pools/"+unknown+"/members", object{"members": list{}}).is(404)
			c.as(k8s).lb("GET", tree.members("one")+"/"+unknown, nil).is(404)
			c.as(k8s).lb("PUT", tree.members("one")+"/"+unknown, object{"member": object{"weight": 2}}).is(404)
			c.as(k8s).lb("DELETE", tree.members("one")+"/"+unknown, nil).is(404)
		}},
		{"a member is found in its own pool only", func(c *try) {
			path := tree.members("web") + "/" + c.inPool(tree, "one")["10.1.0.1:80"]["id"].(string)
			c.as(k8s).lb("GET", path, nil).is(404)
			c.as(k8s).lb("PUT", path, object{"member": object{"weight": 2}}).is(404)
			c.as(k8s).lb("DELETE", path, nil).is(404)
		}},
		{"members of another project's pool can be neither read nor written, 403", func(c *try) {
			c.as(other).lb("GET", tree.members("one"), nil).is(403)
			c.as(other).lb("POST", tree.members("one"), object{"member": at("10.1.0.5", 80, nil)}).is(403)
			c.as(other).lb("PUT", tree.members("one"), object{"members": list{}}).is(403)
		}},
	}
}

func memberChanges(tree parts) []statement {
	first := func(c *try) string {
		return tree.members("one") + "/" + c.inPool(tree, "one")["10.1.0.1:80"]["id"].(string)
	}
	return []statement{
		{"an update of one member keeps what it does not name", func(c *try) {
			a := c.change(tree.lb, "PUT", first(c), object{"member": object{"weight": 0}}, 200)
			c.must(a.text("member.provisioning_status") == "PENDING_UPDATE", "it is %s", a.text("member.provisioning_status"))
			a = c.as(k8s).lb("GET", first(c), nil).is(200)
			c.must(a.at("member.weight") == 0.0 && a.at("member.backup") == true && a.at("member.monitor_port") == 81.0 && len(a.list("member.tags")) == 2, "it lost something: %s", a.Text)
		}},
		{"null in an update of one member stands for the default", func(c *try) {
			c.change(tree.lb, "PUT", first(c), object{"member": object{"weight": nil, "backup": nil, "monitor_port": nil, "monitor_address": nil, "name": nil}}, 200)
			a := c.as(k8s).lb("GET", first(c), nil).is(200)
			c.must(a.at("member.weight") == 1.0 && a.at("member.backup") == false && a.at("member.monitor_port") == nil && a.at("member.name") == "", "no defaults in %s", a.Text)
		}},
		{"address, port and subnet of a member cannot be changed", func(c *try) {
			c.refuse(400, "PUT", first(c), "member", object{"address": "10.1.0.7"}, object{"protocol_port": 81}, object{"subnet_id": c.cloud.Subnet}, object{"weight": 257})
		}},
		{"a member is deleted with 204, and was PENDING_DELETE until then", func(c *try) {
			path := tree.members("one") + "/" + c.inPool(tree, "one")["10.1.0.2:80"]["id"].(string)
			c.during(tree.lb, func() { c.as(k8s).lb("DELETE", path, nil).is(204) }, func() {
				c.must(c.status(path, "member") == "PENDING_DELETE", "it is not PENDING_DELETE")
			})
			c.as(k8s).lb("GET", path, nil).is(404)
		}},
	}
}

// memberBatches leaves out one surprise, because it leaves behind a load balancer
// that no client can delete: Octavia accepts a batch PUT that names an existing
// member twice, and the load balancer stays PENDING_UPDATE for ever.
func memberBatches(tree parts) []statement {
	put := func(c *try, pool, query string, members ...any) {
		c.Helper()
		c.change(tree.lb, "PUT", tree.members(pool)+query, object{"members": append(list{}, members...)}, 202)
	}
	updated := func(c *try) string {
		return c.quietly(k8s).lb("GET", "/loadbalancers/"+tree.lb, nil).is(200).text("loadbalancer.updated_at")
	}
	return []statement{
		{"a batch PUT of the same address and port twice is refused with 409 when there was no such member", func(c *try) {
			c.as(k8s).lb("PUT", tree.members("many"), object{"members": list{at("10.2.0.1", 80, nil), at("10.2.0.1", 80, nil)}}).is(409)
			c.must(len(c.inPool(tree, "many")) == 0, "a member was made all the same")
			c.active(tree.lb)
		}},
		{"an empty batch PUT of a pool that is empty changes nothing, and locks nothing", func(c *try) {
			before := updated(c)
			a := c.as(k8s).lb("PUT", tree.members("many"), object{"members": list{}}).is(202)
			c.must(a.Text == "", "it answers %q", a.Text)
			b := c.as(k8s).lb("GET", "/loadbalancers/"+tree.lb+"?fields=provisioning_status", nil).is(200)
			c.must(b.text("loadbalancer.provisioning_status") == "ACTIVE", "it is %s", b.Text)
			c.must(updated(c) == before, "updated_at moved")
		}},
		{"a batch PUT adds, with weights from 0 to 256, IPv6 members in a load balancer of IPv4, and members in subnets", func(c *try) {
			put(c, "many", "", at("10.2.0.1", 80, object{"weight": 0}), at("10.2.0.1", 81, object{"weight": 256}), at("fd00:7::1", 80, nil),
				at("10.2.0.2", 80, object{"name": "two", "subnet_id": c.cloud.Subnet, "weight": 5, "backup": true, "monitor_port": 90, "monitor_address": "10.2.0.3", "tags": list{"x"}}))
			c.must(len(c.inPool(tree, "many")) == 4, "there are %v", c.inPool(tree, "many"))
			c.as(k8s).lb("GET", tree.members("many"), nil).is(200)
		}},
		{"a batch PUT adds, updates and removes at once; members keep their ids, the pool and listeners are PENDING_UPDATE", func(c *try) {
			put(c, "web", "", at("10.1.0.1", 80, object{"weight": 3}), at("10.1.0.2", 80, nil))
			before := c.inPool(tree, "web")
			c.during(tree.lb, func() {
				c.as(k8s).lb("PUT", tree.members("web"), object{"members": list{at("10.1.0.2", 80, object{"weight": 4, "name": "kept"}), at("10.1.0.3", 80, nil)}}).is(202)
			}, func() {
				now := c.inPool(tree, "web")
				c.must(now["10.1.0.1:80"]["provisioning_status"] == "PENDING_DELETE", "the old one is %v", now["10.1.0.1:80"])
				c.must(now["10.1.0.2:80"]["provisioning_status"] == "PENDING_UPDATE", "the one kept is %v", now["10.1.0.2:80"])
				c.must(now["10.1.0.3:80"]["provisioning_status"] == "PENDING_CREATE", "the new one is %v", now["10.1.0.3:80"])
				c.must(c.status("/pools/"+tree.pools["web"], "pool") == "PENDING_UPDATE", "the pool is not PENDING_UPDATE")
				c.must(c.status("/listeners/"+tree.listeners["web"], "listener") == "PENDING_UPDATE", "the listener is not PENDING_UPDATE")
			})
			after := c.inPool(tree, "web")
			c.must(len(after) == 2 && after["10.1.0.2:80"]["id"] == before["10.1.0.2:80"]["id"] && after["10.1.0.2:80"]["weight"] == 4.0, "there are %v", after)
		}},
		{"a batch PUT resets the weight, backup and monitor that it does not name, and keeps the name, subnet and tags", func(c *try) {
			put(c, "many", "", at("10.2.0.2", 80, nil))
			m := c.inPool(tree, "many")["10.2.0.2:80"]
			c.must(m["weight"] == 1.0 && m["backup"] == false && m["monitor_port"] == nil && m["monitor_address"] == nil, "not reset: %v", m)
			c.must(m["name"] == "two" && m["subnet_id"] == c.cloud.Subnet && len(m["tags"].(list)) == 1, "not kept: %v", m)
		}},
		{"a batch PUT that changes nothing locks the load balancer and moves its updated_at all the same", func(c *try) {
			before := updated(c)
			c.laterThan(before)
			c.during(tree.lb, func() {
				c.as(k8s).lb("PUT", tree.members("many"), object{"members": list{at("10.2.0.2", 80, nil)}}).is(202)
			}, func() {
				c.must(c.status("/loadbalancers/"+tree.lb, "loadbalancer") == "PENDING_UPDATE", "the load balancer is not locked")
			})
			c.must(updated(c) > before, "updated_at stays %s", before)
		}},
		{"a batch PUT with additive_only keeps the members that it does not name", func(c *try) {
			put(c, "many", "?additive_only=true", at("10.2.0.5", 80, nil))
			all := c.inPool(tree, "many")
			c.must(len(all) == 2 && all["10.2.0.5:80"] != nil && all["10.2.0.2:80"] != nil, "there are %v", all)
		}},
		{"an empty batch PUT removes all members", func(c *try) {
			put(c, "many", "")
			c.must(len(c.inPool(tree, "many")) == 0, "there are %v", c.inPool(tree, "many"))
		}},
		{"a batch PUT is refused as a whole when one member of it is wrong", func(c *try) {
			for _, wrong := range []object{
				at("10.2.0.9", 0, nil), at("node-1", 80, nil), at("10.2.0.9", 80, object{"weight": 257}), {"address": "10.2.0.9"},
				at("169.254.169.254", 80, nil), at("10.2.0.9", 80, object{"colour": "red"}),
			} {
				c.as(k8s).lb("PUT", tree.members("many"), object{"members": list{at("10.2.0.8", 80, nil), wrong}}).is(400)
			}
			c.must(len(c.inPool(tree, "many")) == 0, "there are %v", c.inPool(tree, "many"))
		}},
		{"a batch PUT needs a list of members", func(c *try) {
			c.as(k8s).lb("PUT", tree.members("many"), object{"members": object{}}).is(400)
			c.as(k8s).lb("PUT", tree.members("many"), object{"member": list{}}).is(400)
			c.as(k8s).lb("PUT", tree.members("many"), "").is(500)
			c.as(k8s).lb("PUT", tree.members("many"), object{}).is(500)
		}},
	}
}

func memberSubnets(tree parts) []statement {
	refused := func(c *try, subnet string) {
		c.Helper()
		c.refuse(400, "POST", tree.members("one"), "member", at("10.1.0.5", 80, object{"subnet_id": subnet}))
		c.as(k8s).lb("PUT", tree.members("one"), object{"members": list{at("10.1.0.5", 80, object{"subnet_id": subnet})}}).is(400)
		c.active(tree.lb)
	}
	return []statement{
		{"a member's subnet must be there", func(c *try) { refused(c, unknown) }},
		{"a member's subnet must be an id", func(c *try) { refused(c, "private") }},
		{"a member's subnet may not be another project's", func(c *try) {
			network := c.quietly(other).net("POST", "/networks", object{"network": object{"name": c.newName()}}).is(201).text("network.id")
			c.Cleanup(func() { c.quietly(other).net("DELETE", "/networks/"+network, nil) })
			subnet := c.quietly(other).net("POST", "/subnets", object{"subnet": object{"network_id": network, "ip_version": 4, "cidr": "10.99.0.0/24"}}).is(201)
			refused(c, subnet.text("subnet.id"))
		}},
	}
}

func memberLists(tree parts) []statement {
	return []statement{
		{"members are filtered by name, address, port, weight and tags, and show the fields asked for", func(c *try) {
			c.quietChange(tree.lb, "PUT", tree.members("web"), object{"members": list{
				at("10.1.0.1", 80, object{"name": "a", "tags": list{"x", "y"}}), at("10.1.0.2", 81, object{"name": "b", "tags": list{"x"}, "weight": 3}),
			}}, 202)
			for query, want := range map[string]string{
				"?name=a": "a", "?address=10.1.0.2": "b", "?protocol_port=80": "a", "?weight=3": "b", "?tags=x,y": "a", "?not-tags=y": "b",
			} {
				a := c.quietly(k8s).lb("GET", tree.members("web")+query, nil).is(200)
				c.must(slices.Equal(a.texts("members", "name"), []string{want}), "%s has %s", query, a.Text)
			}
			c.as(k8s).lb("GET", tree.members("web")+"?fields=address&fields=weight&sort_key=name&sort_dir=desc", nil).is(200)
		}},
		{"a filter that members do not have is refused with 400", func(c *try) {
			for _, query := range []string{"?colour=red", "?loadbalancer_id=" + tree.lb, "?marker=" + unknown} {
				c.as(k8s).lb("GET", tree.members("web")+query, nil).is(400)
			}
		}},
	}
}

// memberPages comes last: all that happens to a load balancer with so many members
// takes long.
func memberPages(tree parts) []statement {
	return []statement{
		{"60 members are taken in one batch PUT, and listed in pages", func(c *try) {
			var all []any
			for i := range 60 {
				all = append(all, at(fmt.Sprintf("10.3.0.%d", i+1), 30080, object{"name": fmt.Sprintf("node-%02d", i)}))
			}
			c.change(tree.lb, "PUT", tree.members("many"), object{"members": all}, 202)
			page := c.as(k8s).lb("GET", tree.members("many")+"?limit=40&fields=id&fields=name", nil).is(200)
			c.must(len(page.list("members")) == 40 && page.text("members_links.0.rel") == "next", "the first page has %d", len(page.list("members")))
			rest := c.as(k8s).lb("GET", tree.members("many")+"?limit=40&fields=id&marker="+page.text("members.39.id"), nil).is(200)
			c.must(len(rest.list("members")) == 20 && rest.text("members_links.0.rel") == "previous", "the rest has %d", len(rest.list("members")))
		}},
	}
}
