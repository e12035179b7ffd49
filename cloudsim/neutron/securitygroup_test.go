// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// ruleLines describes the rules of a security group, sorted.
func ruleLines(group jsonObject) []string {
	var lines []string
	for _, r := range group["security_group_rules"].([]any) {
		rule := r.(jsonObject)
		remote := ""
		if rule["remote_group_id"] == group["id"] {
			remote = " from itself"
		}
		lines = append(lines, fmt.Sprint(rule["direction"], " ", rule["ethertype"], remote))
	}
	slices.Sort(lines)
	return lines
}

func TestSecurityGroupsStartWithTheUsualRules(t *testing.T) {
	c := newCloud(t, Options{})
	newcomer := wire.Identity{UserID: "carol", ProjectID: "project-c", Roles: []string{"member"}}
	list := c.call(newcomer, "GET", "/v2.0/security-groups", "").body["security_groups"].([]any)
	if len(list) != 1 {
		t.Fatalf("a new project has the security groups %v", list)
	}
	byDefault := list[0].(jsonObject)
	if byDefault["name"] != "default" || byDefault["description"] != "Default security group" {
		t.Errorf("the default group is %v", byDefault)
	}
	if diff := cmp.Diff([]string{"egress IPv4", "egress IPv6", "ingress IPv4 from itself", "ingress IPv6 from itself"}, ruleLines(byDefault)); diff != "" {
		t.Error(diff)
	}
	made := c.create(newcomer, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)
	if diff := cmp.Diff([]string{"egress IPv4", "egress IPv6"}, ruleLines(made)); diff != "" {
		t.Error(diff)
	}
}

func TestSecurityGroupRuleIsNormalized(t *testing.T) {
	c := newCloud(t, Options{})
	group := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)["id"].(string)
	for body, want := range map[string]jsonObject{
		`"protocol": "TCP", "port_range_min": "80", "port_range_max": 443, "remote_ip_prefix": "10.0.0.1"`: {
			"protocol": "tcp", "port_range_min": 80.0, "port_range_max": 443.0, "remote_ip_prefix": "10.0.0.1/32", "normalized_cidr": "10.0.0.1/32", "ethertype": "IPv4"},
		`"protocol": 17, "port_range_min": 1, "port_range_max": 65535`:                    {"protocol": "17", "port_range_min": nil, "port_range_max": nil},
		`"ethertype": "ipv6", "protocol": "icmp"`:                                         {"protocol": "ipv6-icmp", "ethertype": "IPv6"},
		`"remote_ip_prefix": "10.0.0.9/8"`:                                                {"remote_ip_prefix": "10.0.0.9/8", "normalized_cidr": "10.0.0.0/8", "protocol": nil},
		`"protocol": "icmp", "port_range_min": 8, "port_range_max": 0`:                    {"port_range_min": 8.0, "port_range_max": 0.0},
		`"remote_group_id": "` + group + `", "protocol": "sctp", "description": "inside"`: {"remote_group_id": group, "description": "inside", "remote_ip_prefix": nil},
	} {
		got := c.create(alice, "/v2.0/security-group-rules", `{"security_group_rule": {"security_group_id": "`+group+`", "direction": "ingress", `+body+`}}`)
		for key, value := range want {
			if got[key] != value {
				t.Errorf("%s: %s is %v, want %v", body, key, got[key], value)
			}
		}
	}
	if got := c.call(alice, "GET", "/v2.0/security-group-rules?security_group_id="+group+"&direction=ingress", "").column("id"); len(got) != 6 {
		t.Errorf("%d ingress rules", len(got))
	}
}

func TestInvalidSecurityGroupsAreRefused(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	byDefault := c.call(alice, "GET", "/v2.0/security-groups", "").column("id")[0]
	c.port() // is in the default group
	group := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)["id"].(string)
	rule := c.create(alice, "/v2.0/security-group-rules",
		`{"security_group_rule": {"security_group_id": "`+group+`", "direction": "ingress", "protocol": "tcp", "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "0.0.0.0/0"}}`)["id"].(string)
	in := func(more string) string {
		return `{"security_group_rule": {"security_group_id": "` + group + `", "direction": "ingress"` + more + `}}`
	}
	for _, test := range []struct {
		name               string
		who                wire.Identity
		method, path, body string
		status             int
		kind, message      string
	}{
		{"a second default group", alice, "POST", "security-groups", `{"security_group": {"name": "Default"}}`, 409, "SecurityGroupDefaultAlreadyExists", "Default security group already exists."},
		{"another name for the default group", alice, "PUT", "security-groups/" + byDefault, `{"security_group": {"name": "x"}}`, 409, "SecurityGroupCannotUpdateDefault", "Updating default security group not allowed."},
		{"deletion of a group in use", alice, "DELETE", "security-groups/" + byDefault, "", 409, "SecurityGroupInUse", "Security Group " + byDefault + " in use."},
		{"deletion by another project", bob, "DELETE", "security-groups/" + group, "", 404, "SecurityGroupNotFound", "Security group " + group + " does not exist"},
		{"the same rule, by number and without the prefix that means all", alice, "POST", "security-group-rules", in(`, "protocol": "6", "port_range_min": 80, "port_range_max": 80`), 409, "SecurityGroupRuleExists",
			"Security group rule already exists. Rule id is " + rule + "."},
		{"a rule in another project's group", bob, "POST", "security-group-rules", in(""), 404, "SecurityGroupNotFound", "Security group " + group + " does not exist"},
		{"no direction", alice, "POST", "security-group-rules", `{"security_group_rule": {"security_group_id": "` + group + `"}}`, 400, "HTTPBadRequest", "Failed to parse request. Required attribute 'direction' not specified"},
		{"a direction that does not exist", alice, "POST", "security-group-rules", `{"security_group_rule": {"security_group_id": "` + group + `", "direction": "up"}}`, 400, "HTTPBadRequest",
			"Invalid input for direction. Reason: up is not in valid_values."},
		{"ports without a protocol", alice, "POST", "security-group-rules", in(`, "port_range_min": 1, "port_range_max": 2`), 400, "SecurityGroupProtocolRequiredWithPorts", "Must also specify protocol if port range is given."},
		{"ports in the wrong order", alice, "POST", "security-group-rules", in(`, "protocol": "tcp", "port_range_min": 3, "port_range_max": 2`), 400, "SecurityGroupInvalidPortRange",
			"For TCP/UDP protocols, port_range_min must be <= port_range_max"},
		{"a port that is too high", alice, "POST", "security-group-rules", in(`, "protocol": "tcp", "port_range_min": 3, "port_range_max": 65536`), 400, "SecurityGroupInvalidPortValue", "Invalid value for port 65536"},
		{"ports where there are none", alice, "POST", "security-group-rules", in(`, "protocol": "gre", "port_range_min": 1, "port_range_max": 2`), 400, "SecurityGroupInvalidProtocolForPort",
			"Ports cannot be specified for protocol 47. Ports are only supported for DCCP, SCTP, TCP, UDP, UDPLITE."},
		{"a prefix of the other IP version", alice, "POST", "security-group-rules", in(`, "remote_ip_prefix": "fd00::/64"`), 400, "SecurityGroupRuleParameterConflict", "Conflicting value ethertype IPv4 for CIDR fd00::/64"},
		{"a prefix that is none", alice, "POST", "security-group-rules", in(`, "remote_ip_prefix": "x"`), 400, "InvalidCIDR", "Invalid CIDR x given as IP prefix."},
		{"both a prefix and a group", alice, "POST", "security-group-rules", in(`, "remote_ip_prefix": "10.0.0.0/8", "remote_group_id": "` + group + `"`), 400, "SecurityGroupMultipleRemoteEntites",
			"Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided."},
		{"an IPv6 protocol in IPv4", alice, "POST", "security-group-rules", in(`, "protocol": "ipv6-icmp"`), 400, "SecurityGroupEthertypeConflictWithProtocol", "Invalid ethertype IPv4 for protocol ipv6-icmp."},
		{"an ethertype that does not exist", alice, "POST", "security-group-rules", in(`, "ethertype": "IPv5"`), 400, "SecurityGroupRuleInvalidEtherType", "Security group rule for ethertype 'IPv5' not supported. Allowed values are ['IPv4', 'IPv6']."},
		{"a rule that does not exist", alice, "DELETE", "security-group-rules/x", "", 404, "SecurityGroupRuleNotFound", "Security group rule x does not exist"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := c.call(test.who, test.method, "/v2.0/"+test.path, test.body)
			a.t = t
			a.refused(test.status, test.kind, test.message)
		})
	}
}

func TestRulesAreDeletedWithTheirSecurityGroup(t *testing.T) {
	c := newCloud(t, Options{})
	before := c.Counts()
	group := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)["id"].(string)
	other := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "other"}}`)["id"].(string)
	c.create(alice, "/v2.0/security-group-rules", `{"security_group_rule": {"security_group_id": "`+other+`", "direction": "ingress", "remote_group_id": "`+group+`"}}`)
	rule := c.create(alice, "/v2.0/security-group-rules", `{"security_group_rule": {"security_group_id": "`+group+`", "direction": "ingress"}}`)["id"].(string)
	c.call(alice, "DELETE", "/v2.0/security-group-rules/"+rule, "").must(http.StatusNoContent)
	c.call(alice, "DELETE", "/v2.0/security-groups/"+group, "").must(http.StatusNoContent)
	c.call(alice, "DELETE", "/v2.0/security-groups/"+other, "").must(http.StatusNoContent)
	if diff := cmp.Diff(before, c.Counts()); diff != "" {
		t.Error(diff)
	}
}
