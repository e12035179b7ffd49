// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

func TestReadersWriteNothingSince2025(t *testing.T) {
	reader := wire.Identity{UserID: "reader", ProjectID: alice.ProjectID, Roles: []string{"reader"}}
	for _, r := range []release.Release{release.Zed, release.Epoxy} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			port, ip := c.port(), c.floatingIP("")["id"].(string)
			router := "/v2.0/routers/" + c.ids.RouterID
			for _, request := range []struct {
				name                     string
				method, path, body, rule string
			}{
				{"update a port", "PUT", "/v2.0/ports/" + port, `{"port": {"name": "x"}}`, "update_port"},
				{"replace the tags of a port", "PUT", "/v2.0/ports/" + port + "/tags", `{"tags": ["a"]}`, "update_port:tags"},
				{"add a tag to a port", "PUT", "/v2.0/ports/" + port + "/tags/b", "", "update_port:tags"},
				{"remove the tags of a port", "DELETE", "/v2.0/ports/" + port + "/tags", "", "delete_port:tags"},
				{"delete a port", "DELETE", "/v2.0/ports/" + port, "", "delete_port"},
				{"add extra routes", "PUT", router + "/add_extraroutes", `{"router": {"routes": []}}`, "add_extraroutes"},
				{"remove an interface from a router", "PUT", router + "/remove_router_interface", `{"subnet_id": "` + c.ids.PrivateIPv6SubnetID + `"}`, "remove_router_interface"},
				{"create a port forwarding", "POST", "/v2.0/floatingips/" + ip + "/port_forwardings", `{"port_forwarding": {"external_port": 80, "internal_port": 80, "protocol": "tcp",
				"internal_port_id": "` + c.gatewayInterface() + `", "internal_ip_address": "127.16.0.1"}}`, "create_floatingip_port_forwarding"},
				{"delete a port forwarding", "DELETE", "/v2.0/floatingips/" + ip + "/port_forwardings/x", "", "delete_floatingip_port_forwarding"},
			} {
				t.Run(request.name, func(t *testing.T) {
					c.reportTo(t)
					a := c.call(reader, request.method, request.path, request.body)
					switch {
					case r == release.Epoxy:
						a.refused(http.StatusForbidden, "PolicyNotAuthorized", "rule:"+request.rule+" is disallowed by policy")
					case a.status == http.StatusForbidden:
						t.Errorf("%s %s is refused: %v", request.method, request.path, a.body)
					}
				})
			}
		})
	}
}

func TestAMemberWritesInEveryRelease(t *testing.T) {
	c := newCloud(t, Options{Release: release.Epoxy})
	c.call(alice, "PUT", "/v2.0/ports/"+c.port(), `{"port": {"name": "x"}}`).must(http.StatusOK)
}

func TestAFiftyFirstTagIsRefusedSince2025(t *testing.T) {
	var fifty []string
	for i := range 50 {
		fifty = append(fifty, fmt.Sprintf("%q", fmt.Sprint(i)))
	}
	for _, r := range []release.Release{release.Zed, release.Epoxy} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			tags := "/v2.0/ports/" + c.port() + "/tags"
			c.call(alice, "PUT", tags, `{"tags": [`+strings.Join(fifty, ", ")+`]}`).must(http.StatusOK)
			c.call(alice, "PUT", tags+"/0", "").must(http.StatusCreated)
			a := c.call(alice, "PUT", tags+"/more", "")
			if r == release.Zed {
				a.must(http.StatusCreated)
				return
			}
			a.refused(http.StatusBadRequest, "BadRequest", "Bad ports request: The number of tags exceed the per-resource limit of 50.")
		})
	}
}

func TestQuotaBelowTheUsageCanBeForced(t *testing.T) {
	c := newCloud(t, Options{Release: release.Epoxy})
	c.port()
	path := "/v2.0/quotas/" + alice.ProjectID
	c.call(admin, "PUT", path, `{"quota": {"network": -1, "port": 0}}`).refused(http.StatusBadRequest, "HTTPBadRequest",
		fmt.Sprintf("Quota limit 0 for port must be greater than or equal to already used %d", c.used(alice.ProjectID, "port")))
	if c.limit(alice.ProjectID, "network") != 100 {
		t.Error("a part of the refused quota is kept")
	}
	c.call(admin, "PUT", path, `{"quota": {"port": -1}}`).must(http.StatusOK)
	c.call(admin, "PUT", path, `{"quota": {"port": 0, "force": true}}`).must(http.StatusOK)
}

func TestListWithFieldsDoesNotShowWhichRulesAreOfTheDefaultGroup(t *testing.T) {
	const key = "belongs_to_default_sg"
	rule := func(c *cloud, query string) jsonObject {
		groups := c.call(alice, "GET", "/v2.0/security-groups"+query, "").body["security_groups"].([]any)
		return groups[0].(jsonObject)["security_group_rules"].([]any)[0].(jsonObject)
	}
	for r, want := range map[release.Release][]any{release.Epoxy: {true, nil, true}, release.Zed: {nil, nil, nil}} {
		t.Run(r.String(), func(t *testing.T) {
			c := newCloud(t, Options{Release: r})
			var seen []any
			for _, query := range []string{"", "?fields=security_group_rules", ""} {
				seen = append(seen, rule(c, query)[key])
			}
			if _, has := rule(c, "?fields=security_group_rules")[key]; has != (r == release.Epoxy) || !slices.Equal(seen, want) {
				t.Errorf("%s is there: %v, and is %v", key, has, seen)
			}
		})
	}
}

func TestAnotherProjectsGroupIsRefusedBeforeTheRuleIsReadSince2025(t *testing.T) {
	rule := func(group string) string {
		return `{"security_group_rule": {"security_group_id": "` + group + `", "direction": "ingress", "protocol": "nothing"}}`
	}
	c := newCloud(t, Options{Release: release.Epoxy})
	group := c.create(alice, "/v2.0/security-groups", `{"security_group": {"name": "g"}}`)["id"].(string)
	c.call(bob, "POST", "/v2.0/security-group-rules", rule(group)).refused(http.StatusForbidden, "PolicyNotAuthorized",
		"rule:create_security_group_rule is disallowed by policy")
	c.call(alice, "POST", "/v2.0/security-group-rules", rule(group)).must(http.StatusBadRequest)
}
