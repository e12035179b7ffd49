// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package contract_test

import (
	"slices"
	"strings"
	"testing"
)

func TestSecurityGroups(t *testing.T) {
	t.Parallel()
	g := shared(t)
	mine := g.hasSubnet(k8s, "10.77.20.0/24")
	wish := func() object { return object{"name": g.newName()} }

	state(t, []statement{
		{"a new security group lets everything out, by a rule for IPv4 and one for IPv6, and nothing in", func(c *try) {
			a := c.as(k8s).make("security-groups", wish())
			c.must(sameSet(a.texts("security_group.security_group_rules", "ethertype"), "IPv4", "IPv6"), "its rules are %v", a.at("security_group.security_group_rules"))
			c.must(sameSet(a.texts("security_group.security_group_rules", "direction"), "egress", "egress"), "its rules are %v", a.at("security_group.security_group_rules"))
			c.must(a.at("security_group.stateful") == true, "it is not stateful")
		}},
		{"two security groups may have one name", func(c *try) {
			w := wish()
			c.as(k8s).make("security-groups", w)
			c.as(k8s).make("security-groups", w)
			c.must(len(c.as(k8s).net("GET", "/security-groups?fields=id&name="+w["name"].(string), nil).is(200).list("security_groups")) == 2, "there are not two")
		}},
		{"a security group may be without a name", func(c *try) {
			a := c.as(k8s).make("security-groups", object{"description": "x"})
			c.must(a.text("security_group.name") == "", "it is named %s", a.text("security_group.name"))
		}},
		{"a project has one security group named default: another is refused with 409", func(c *try) {
			c.as(k8s).net("POST", "/security-groups", object{"security_group": object{"name": "default"}}).refused(409, "SecurityGroupDefaultAlreadyExists")
		}},
		{"the default security group cannot be renamed or, while a port has it, deleted by its project: 409", func(c *try) {
			c.has(k8s, "ports", object{"network_id": c.cloud.Network})
			id := c.as(k8s).net("GET", "/security-groups?fields=id&name=default", nil).is(200).text("security_groups.0.id")
			c.as(k8s).net("PUT", "/security-groups/"+id, object{"security_group": object{"name": "x"}}).refused(409, "SecurityGroupCannotUpdateDefault")
			c.as(k8s).net("DELETE", "/security-groups/"+id, nil).is(409)
		}},
		{"a security group can be stateless", func(c *try) {
			a := c.as(k8s).make("security-groups", object{"name": c.newName(), "stateful": false})
			c.must(a.at("security_group.stateful") == false, "it is stateful")
		}},
		{"a security group that a port has is not deleted: 409, and it is as soon as the port has lost it", func(c *try) {
			path := "/security-groups/" + c.quietly(k8s).make("security-groups", wish()).text("security_group.id")
			port := c.has(k8s, "ports", object{"network_id": mine.network, "security_groups": list{strings.TrimPrefix(path, "/security-groups/")}})
			c.as(k8s).net("DELETE", path, nil).refused(409, "SecurityGroupInUse")
			c.as(k8s).net("PUT", path, object{"security_group": object{"stateful": false}}).refused(409, "SecurityGroupInUse")
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"security_groups": list{}}}).is(200)
			c.as(k8s).net("DELETE", path, nil).is(204)
		}},
		{"a change of a port's security groups moves its revision, and one bound to the revision before is refused with 412", func(c *try) {
			first, second := c.has(k8s, "security-groups", wish()), c.has(k8s, "security-groups", wish())
			port := c.has(k8s, "ports", object{"network_id": mine.network, "security_groups": list{}})
			revision := func(a answer) float64 { n, _ := a.at("port.revision_number").(float64); return n }
			before := revision(c.as(k8s).net("GET", "/ports/"+port, nil).is(200))
			a := c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"security_groups": list{first}}}, ifMatch(before)).is(200)
			c.must(revision(a) > before, "it is %v and was %v", a.at("port.revision_number"), before)
			c.as(k8s).net("PUT", "/ports/"+port, object{"port": object{"security_groups": list{second}}}, ifMatch(before)).refused(412, "RevisionNumberConstraintFailed")
			a = c.as(k8s).net("GET", "/ports/"+port, nil).is(200)
			c.must(len(a.list("port.security_groups")) == 1 && a.text("port.security_groups.0") == first, "it has %v", a.at("port.security_groups"))
		}},
		{"ports are found by any of several security groups, and by any of several devices", func(c *try) {
			first, second := c.has(k8s, "security-groups", wish()), c.has(k8s, "security-groups", wish())
			one := c.has(k8s, "ports", object{"network_id": mine.network, "security_groups": list{first}, "device_id": first})
			two := c.has(k8s, "ports", object{"network_id": mine.network, "security_groups": list{second}, "device_id": second})
			for _, query := range []string{"security_groups=" + first + "&security_groups=" + second, "device_id=" + first + "&device_id=" + second} {
				a := c.as(k8s).net("GET", "/ports?fields=id&fields=security_groups&"+query, nil).is(200)
				c.must(sameSet(a.texts("ports", "id"), one, two), "%s finds %s", query, a.Text)
			}
		}},
		{"security groups are found by any of several ids, with their rules where these are asked for", func(c *try) {
			first, second := c.has(k8s, "security-groups", wish()), c.has(k8s, "security-groups", wish())
			a := c.as(k8s).net("GET", "/security-groups?fields=id&fields=security_group_rules&id="+first+"&id="+second, nil).is(200)
			c.must(len(a.list("security_groups")) == 2 && len(a.list("security_groups.0.security_group_rules")) == 2, "it finds %s", a.Text)
		}},
		{"a security group is deleted with its rules, a second time it is not found", func(c *try) {
			a := c.quietly(k8s).make("security-groups", wish())
			path := "/security-groups/" + a.text("security_group.id")
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "SecurityGroupNotFound")
			c.as(k8s).net("GET", path, nil).refused(404, "SecurityGroupNotFound")
			c.as(k8s).net("GET", "/security-group-rules/"+a.text("security_group.security_group_rules.0.id"), nil).refused(404, "SecurityGroupRuleNotFound")
		}},
		{"a security group's name and description can be changed", func(c *try) {
			path := "/security-groups/" + c.quietly(k8s).make("security-groups", wish()).text("security_group.id")
			name := c.newName()
			a := c.as(k8s).net("PUT", path, object{"security_group": object{"name": name, "description": "d"}}).is(200)
			c.must(a.text("security_group.name") == name && a.text("security_group.description") == "d", "it is %s", a.Text)
			c.as(k8s).net("PUT", path, object{"security_group": object{"security_group_rules": list{}}}).is(400)
		}},
		{"rules cannot be given with a create", func(c *try) {
			c.as(k8s).net("POST", "/security-groups", object{"security_group": object{"name": "x", "security_group_rules": list{}}}).is(400)
		}},
		{"tags cannot be given with a create", func(c *try) {
			c.as(k8s).net("POST", "/security-groups", object{"security_group": object{"name": "x", "tags": list{"a"}}}).is(400)
		}},
		{"a change for another revision is refused with 412, and a rule that is added makes another revision", func(c *try) {
			a := c.quietly(k8s).make("security-groups", wish())
			path, revision := "/security-groups/"+a.text("security_group.id"), a.at("security_group.revision_number").(float64)
			c.quietly(k8s).make("security-group-rules", object{"security_group_id": a.text("security_group.id"), "direction": "ingress", "ethertype": "IPv4"})
			now := c.as(k8s).net("GET", path, nil).is(200).at("security_group.revision_number").(float64)
			c.must(now > revision, "the revision is %v, as before", now)
			body := object{"security_group": object{"description": "d"}}
			c.as(k8s).net("PUT", path, body, ifMatch(revision)).is(412)
			c.as(k8s).net("PUT", path, body, ifMatch(now)).is(200)
		}},
		{"security groups are found by name, id, tags and description", func(c *try) {
			w := object{"name": c.newName(), "description": c.newName()}
			id := c.has(k8s, "security-groups", w)
			tag := c.newName()
			c.as(k8s).net("PUT", "/security-groups/"+id+"/tags", object{"tags": list{tag}}).is(200)
			for _, query := range []string{"name=" + w["name"].(string), "id=" + id, "tags=" + tag, "description=" + w["description"].(string)} {
				a := c.as(k8s).net("GET", "/security-groups?fields=id&"+query, nil).is(200)
				c.must(slices.Equal(a.texts("security_groups", "id"), []string{id}), "%s finds %s", query, a.Text)
			}
		}},
		{"another project's security group is not found", func(c *try) {
			path := "/security-groups/" + c.quietly(k8s).make("security-groups", wish()).text("security_group.id")
			c.as(other).net("GET", path, nil).refused(404, "SecurityGroupNotFound")
			c.as(other).net("PUT", path, object{"security_group": object{"name": "x"}}).refused(404, "SecurityGroupNotFound")
			c.as(other).net("DELETE", path, nil).refused(404, "SecurityGroupNotFound")
		}},
		{"more security groups than the quota are refused with 409, and the default one counts", func(c *try) {
			project := c.project()
			c.hasQuota(project, object{"security_group": 2})
			c.Cleanup(func() {
				for _, id := range c.quietly(admin).net("GET", "/security-groups?project_id="+project, nil).is(200).texts("security_groups", "id") {
					c.quietly(admin).net("DELETE", "/security-groups/"+id, nil)
				}
			})
			w := object{"security_group": object{"name": "x", "project_id": project}}
			c.as(admin).net("POST", "/security-groups", w).is(201)
			c.as(admin).net("POST", "/security-groups", w).refused(409, "OverQuota")
		}},
		{"several security groups can be made by one request", func(c *try) {
			a := c.as(k8s).net("POST", "/security-groups", object{"security_groups": list{wish(), wish()}}).is(201)
			c.as(k8s).disposes("security-groups", a.texts("security_groups", "id")...)
			c.must(len(a.list("security_groups")) == 2, "there are %d", len(a.list("security_groups")))
		}},
	})
}

func TestSecurityGroupRules(t *testing.T) {
	t.Parallel()
	g := shared(t)
	group := g.has(k8s, "security-groups", object{"name": g.newName()})
	remote := g.has(k8s, "security-groups", object{"name": g.newName()})
	foreign := g.has(other, "security-groups", object{"name": g.newName()})
	wish := func(more object) object {
		w := object{"security_group_id": group, "direction": "ingress"}
		for key, value := range more {
			w[key] = value
		}
		return w
	}
	refused := func(c *try, more object, kind string) {
		c.Helper()
		c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(more)}).refused(400, kind)
	}
	made := func(c *try, more object) answer {
		c.Helper()
		return c.as(k8s).make("security-group-rules", wish(more))
	}

	state(t, []statement{
		{"a rule for a port names protocol, first and last port, and is for IPv4 unless it says otherwise", func(c *try) {
			a := made(c, object{"protocol": "tcp", "port_range_min": 80, "port_range_max": 443})
			c.must(a.text("security_group_rule.ethertype") == "IPv4" && a.at("security_group_rule.port_range_max") == 443.0, "it is %s", a.Text)
		}},
		{"a rule without anything lets all IPv4 in", func(c *try) {
			a := made(c, nil)
			c.must(a.at("security_group_rule.protocol") == nil && a.at("security_group_rule.remote_ip_prefix") == nil, "it is %s", a.Text)
		}},
		{"a rule that is there is refused with 409, and the message has its id", func(c *try) {
			w := object{"protocol": "tcp", "port_range_min": 8001, "port_range_max": 8001, "remote_ip_prefix": "198.51.100.0/24"}
			first := made(c, w)
			a := c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(w)}).refused(409, "SecurityGroupRuleExists")
			c.must(strings.Contains(a.Text, first.text("security_group_rule.id")), "it says %s", a.Text)
		}},
		{"a rule that differs in its description only is there already: 409", func(c *try) {
			made(c, object{"protocol": "tcp", "port_range_min": 8002, "port_range_max": 8002, "description": "one"})
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"protocol": "tcp", "port_range_min": 8002, "port_range_max": 8002, "description": "two"})}).is(409)
		}},
		{"a protocol by name and by number is the same: 409", func(c *try) {
			made(c, object{"protocol": "udp", "port_range_min": 53, "port_range_max": 53})
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"protocol": "17", "port_range_min": 53, "port_range_max": 53})}).is(409)
		}},
		{"a source that is all of IPv4 and none at all are the same: 409", func(c *try) {
			made(c, object{"protocol": "tcp", "port_range_min": 8003, "port_range_max": 8003})
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"protocol": "tcp", "port_range_min": 8003, "port_range_max": 8003, "remote_ip_prefix": "0.0.0.0/0"})}).is(409)
		}},
		{"a source range with host bits is kept as it was given, and shown normalized beside", func(c *try) {
			a := made(c, object{"protocol": "tcp", "port_range_min": 8004, "port_range_max": 8004, "remote_ip_prefix": "198.51.100.77/24"})
			c.must(a.text("security_group_rule.remote_ip_prefix") == "198.51.100.77/24" && a.text("security_group_rule.normalized_cidr") == "198.51.100.0/24", "it is %s", a.Text)
		}},
		{"a source that is an address becomes a range of one", func(c *try) {
			a := made(c, object{"protocol": "tcp", "port_range_min": 8005, "port_range_max": 8005, "remote_ip_prefix": "198.51.100.7"})
			c.must(a.text("security_group_rule.remote_ip_prefix") == "198.51.100.7/32", "it is %s", a.text("security_group_rule.remote_ip_prefix"))
		}},
		{"a source range of IPv6 is normalized too", func(c *try) {
			a := made(c, object{"ethertype": "IPv6", "protocol": "tcp", "port_range_min": 8006, "port_range_max": 8006, "remote_ip_prefix": "2001:DB8:0::1/64"})
			c.must(a.text("security_group_rule.normalized_cidr") == "2001:db8::/64", "it is %s", a.Text)
		}},
		{"a source range that is none is refused with 400", func(c *try) {
			refused(c, object{"remote_ip_prefix": "all"}, "InvalidCIDR")
		}},
		{"a source range of the other family is refused with 400", func(c *try) {
			refused(c, object{"ethertype": "IPv4", "remote_ip_prefix": "2001:db8::/64"}, "SecurityGroupRuleParameterConflict")
			refused(c, object{"ethertype": "IPv6", "remote_ip_prefix": "198.51.100.0/24"}, "SecurityGroupRuleParameterConflict")
		}},
		{"a rule may name a security group as its source, but not a source range as well", func(c *try) {
			a := made(c, object{"protocol": "tcp", "port_range_min": 8007, "port_range_max": 8007, "remote_group_id": remote})
			c.must(a.text("security_group_rule.remote_group_id") == remote, "it is %s", a.Text)
			refused(c, object{"remote_group_id": remote, "remote_ip_prefix": "198.51.100.0/24"}, "SecurityGroupMultipleRemoteEntites")
		}},
		{"a source group that is not there is refused with 404, and so is another project's", func(c *try) {
			for _, id := range []string{nowhere, foreign} {
				c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"remote_group_id": id})}).refused(404, "SecurityGroupNotFound")
			}
		}},
		{"a rule for a group that is not there is refused with 404, and so is one for another project's", until(release2022, func(c *try) {
			for _, id := range []string{nowhere, foreign} {
				c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"security_group_id": id})}).refused(404, "SecurityGroupNotFound")
			}
		})},
		{"a rule for another project's group is refused with 403", since(release2025, func(c *try) {
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": wish(object{"security_group_id": foreign})}).refused(403, "PolicyNotAuthorized")
		})},
		{"ports without a protocol are refused with 400", func(c *try) {
			refused(c, object{"port_range_min": 80, "port_range_max": 80}, "SecurityGroupProtocolRequiredWithPorts")
		}},
		{"a first port after the last is refused with 400, and so is one of the two alone", func(c *try) {
			refused(c, object{"protocol": "tcp", "port_range_min": 81, "port_range_max": 80}, "SecurityGroupInvalidPortRange")
			refused(c, object{"protocol": "tcp", "port_range_min": 81}, "SecurityGroupInvalidPortRange")
			refused(c, object{"protocol": "tcp", "port_range_max": 81}, "SecurityGroupInvalidPortRange")
		}},
		{"port 0 is refused with 400, and so are one above 65535 and one that is no number", func(c *try) {
			refused(c, object{"protocol": "tcp", "port_range_min": 0, "port_range_max": 80}, "SecurityGroupInvalidPortValue")
			refused(c, object{"protocol": "udp", "port_range_min": 80, "port_range_max": 65536}, "SecurityGroupInvalidPortValue")
			refused(c, object{"protocol": "tcp", "port_range_min": "http", "port_range_max": 80}, "SecurityGroupInvalidPortValue")
		}},
		{"ports 1 to 65535 become no range at all, surprisingly", func(c *try) {
			a := made(c, object{"protocol": "sctp", "port_range_min": 1, "port_range_max": 65535})
			c.must(a.at("security_group_rule.port_range_min") == nil, "it is %s", a.Text)
		}},
		{"ports given as text are taken for numbers", func(c *try) {
			a := made(c, object{"protocol": "tcp", "port_range_min": "8008", "port_range_max": "8008"})
			c.must(a.at("security_group_rule.port_range_min") == 8008.0, "it is %s", a.Text)
		}},
		{"ports for a protocol that has none are refused with 400", func(c *try) {
			refused(c, object{"protocol": "gre", "port_range_min": 1, "port_range_max": 2}, "SecurityGroupInvalidProtocolForPort")
		}},
		{"the ports of ICMP are its type and code: a code needs a type, and neither exceeds 255", func(c *try) {
			made(c, object{"protocol": "icmp", "port_range_min": 8, "port_range_max": 0})
			refused(c, object{"protocol": "icmp", "port_range_max": 1}, "SecurityGroupMissingIcmpType")
			refused(c, object{"protocol": "icmp", "port_range_min": 256}, "SecurityGroupInvalidIcmpValue")
		}},
		{"icmp for IPv6 becomes ipv6-icmp; ipv6-icmp for IPv4 is refused with 400", func(c *try) {
			a := made(c, object{"protocol": "icmp", "ethertype": "IPv6"})
			c.must(a.text("security_group_rule.protocol") == "ipv6-icmp", "it is %s", a.text("security_group_rule.protocol"))
			refused(c, object{"protocol": "ipv6-icmp", "ethertype": "IPv4"}, "SecurityGroupEthertypeConflictWithProtocol")
		}},
		{"a protocol is taken as a number too, and stays one", func(c *try) {
			a := made(c, object{"protocol": 112})
			c.must(a.text("security_group_rule.protocol") == "112", "it is %v", a.at("security_group_rule.protocol"))
		}},
		{"an unknown protocol is refused with 400, and so is a number above 255", func(c *try) {
			refused(c, object{"protocol": "carrier-pigeon"}, "SecurityGroupRuleInvalidProtocol")
			refused(c, object{"protocol": "256"}, "SecurityGroupRuleInvalidProtocol")
		}},
		{"an unknown ethertype is refused with 400, the case of a known one does not matter", func(c *try) {
			refused(c, object{"ethertype": "IPv5"}, "SecurityGroupRuleInvalidEtherType")
			a := made(c, object{"ethertype": "ipv4", "protocol": "tcp", "port_range_min": 8009, "port_range_max": 8009})
			c.must(a.text("security_group_rule.ethertype") == "IPv4", "it is %s", a.text("security_group_rule.ethertype"))
		}},
		{"a direction is needed, and is ingress or egress", func(c *try) {
			refused(c, object{"direction": "up"}, "HTTPBadRequest")
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rule": object{"security_group_id": group}}).refused(400, "HTTPBadRequest")
		}},
		{"a rule cannot be changed, surprisingly with 500 where its description is", func(c *try) {
			path := "/security-group-rules/" + made(c, object{"protocol": "tcp", "port_range_min": 8010, "port_range_max": 8010}).text("security_group_rule.id")
			c.as(k8s).net("PUT", path, object{"security_group_rule": object{"protocol": "udp"}}).is(400)
			c.as(k8s).net("PUT", path, object{"security_group_rule": object{"description": "d"}}).is(500)
		}},
		{"a rule is deleted at once, a second time it is not found", func(c *try) {
			path := "/security-group-rules/" + c.quietly(k8s).make("security-group-rules", wish(object{"protocol": "tcp", "port_range_min": 8011, "port_range_max": 8011})).text("security_group_rule.id")
			c.as(k8s).net("GET", path, nil).is(200)
			c.as(k8s).net("DELETE", path, nil).is(204)
			c.as(k8s).net("DELETE", path, nil).refused(404, "SecurityGroupRuleNotFound")
			c.as(k8s).net("GET", path, nil).refused(404, "SecurityGroupRuleNotFound")
		}},
		{"another project's rule is not found", func(c *try) {
			path := "/security-group-rules/" + c.quietly(k8s).make("security-group-rules", wish(object{"protocol": "tcp", "port_range_min": 8012, "port_range_max": 8012})).text("security_group_rule.id")
			c.as(other).net("GET", path, nil).is(404)
			c.as(other).net("DELETE", path, nil).is(404)
		}},
		{"rules are found by group, direction, protocol, port, source range and description", func(c *try) {
			id := c.has(k8s, "security-groups", object{"name": c.newName()})
			rule := c.quietly(k8s).make("security-group-rules", object{
				"security_group_id": id, "direction": "ingress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 81, "remote_ip_prefix": "198.51.100.0/24", "description": "web",
			}).text("security_group_rule.id")
			c.must(len(c.as(k8s).net("GET", "/security-group-rules?security_group_id="+id, nil).is(200).list("security_group_rules")) == 3, "there are not 3")
			for _, query := range []string{"direction=ingress", "protocol=tcp", "port_range_min=80", "port_range_max=81", "remote_ip_prefix=198.51.100.0/24", "description=web", "ethertype=IPv4&direction=ingress"} {
				a := c.as(k8s).net("GET", "/security-group-rules?fields=id&security_group_id="+id+"&"+query, nil).is(200)
				c.must(slices.Equal(a.texts("security_group_rules", "id"), []string{rule}), "%s finds %s", query, a.Text)
			}
		}},
		{"several rules can be made by one request, all or none", func(c *try) {
			id := c.has(k8s, "security-groups", object{"name": c.newName()})
			rule := func(port int) object {
				return object{"security_group_id": id, "direction": "ingress", "protocol": "tcp", "port_range_min": port, "port_range_max": port}
			}
			a := c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rules": list{rule(80), rule(81)}}).is(201)
			c.must(len(a.list("security_group_rules")) == 2, "there are %d", len(a.list("security_group_rules")))
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rules": list{rule(82), rule(80)}}).is(409)
			c.must(len(c.as(k8s).net("GET", "/security-group-rules?port_range_min=82&security_group_id="+id, nil).is(200).list("security_group_rules")) == 0, "the first is there")
		}},
		{"several rules in one request are for one group: 400 otherwise", func(c *try) {
			rule := func(id string) object {
				return object{"security_group_id": id, "direction": "ingress", "protocol": "ah"}
			}
			c.as(k8s).net("POST", "/security-group-rules", object{"security_group_rules": list{rule(group), rule(remote)}}).is(400)
		}},
		{"a group that other groups' rules name as source takes these rules along when it is deleted", func(c *try) {
			source := c.has(k8s, "security-groups", object{"name": c.newName()})
			path := "/security-group-rules/" + c.quietly(k8s).make("security-group-rules", wish(object{"remote_group_id": source})).text("security_group_rule.id")
			c.as(k8s).net("DELETE", "/security-groups/"+source, nil).is(204)
			c.as(k8s).net("GET", path, nil).is(404)
		}},
		{"more rules than the quota are refused with 409", func(c *try) {
			project := c.project()
			id := c.has(admin, "security-groups", object{"name": c.newName(), "project_id": project})
			c.hasQuota(project, object{"security_group_rule": 6})
			c.as(admin).net("POST", "/security-group-rules", object{"security_group_rule": object{"security_group_id": id, "direction": "ingress", "project_id": project}}).refused(409, "OverQuota")
		}},
	})
}
