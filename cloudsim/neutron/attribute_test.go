// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/release"
)

func TestTagsAreSetReadAndRemoved(t *testing.T) {
	c := newCloud(t, Options{})
	group := c.call(alice, "GET", "/v2.0/security-groups", "").column("id")[0]
	for name, object := range map[string]string{
		"networks":        "networks/" + c.ids.PrivateNetworkID,
		"subnets":         "subnets/" + c.ids.PrivateSubnetID,
		"ports":           "ports/" + c.port(),
		"routers":         "routers/" + c.ids.RouterID,
		"floating IPs":    "floatingips/" + c.floatingIP("")["id"].(string),
		"security groups": "security-groups/" + group,
	} {
		t.Run(name, func(t *testing.T) {
			c.reportTo(t)
			path := "/v2.0/" + object
			tags := func() any { return c.call(alice, "GET", path+"/tags", "").must(http.StatusOK)["tags"] }
			if got := c.call(alice, "PUT", path+"/tags", `{"tags": ["a", "b"]}`).must(http.StatusOK); !cmp.Equal(got["tags"], []any{"a", "b"}) {
				t.Error(object, "replaced tags:", got)
			}
			c.call(alice, "PUT", path+"/tags/c", "").must(http.StatusCreated)
			c.call(alice, "GET", path+"/tags/c", "").must(http.StatusNoContent)
			c.call(alice, "DELETE", path+"/tags/a", "").must(http.StatusNoContent)
			if got := tags(); !cmp.Equal(got, []any{"b", "c"}) {
				t.Error(object, "tags:", got)
			}
			if got := c.call(alice, "GET", path, "").must(http.StatusOK)["tags"]; !cmp.Equal(got, []any{"b", "c"}) {
				t.Error(object, "is shown with the tags", got)
			}
			c.call(alice, "GET", path+"/tags/a", "").refused(404, "TagNotFound", "Tag a could not be found.")
			c.call(alice, "DELETE", path+"/tags/a", "").refused(404, "TagNotFound", "Tag a could not be found.")
			c.call(alice, "PUT", path+"/tags", `{"tag": []}`).refused(400, "InvalidInput", "Invalid input for operation: Invalid tags body.")
			c.call(alice, "PUT", path+"/tags", `{"tags": ["`+strings.Repeat("x", 256)+`"]}`).refused(400, "InvalidInput",
				"Invalid input for operation: '"+strings.Repeat("x", 256)+"' exceeds maximum length of 255.")
			c.call(alice, "DELETE", path+"/tags", "").must(http.StatusNoContent)
			if got := tags(); !cmp.Equal(got, []any{}) {
				t.Error(object, "tags:", got)
			}
		})
	}
	c.call(bob, "PUT", "/v2.0/networks/"+c.ids.PrivateNetworkID+"/tags/x", "").refused(404, "TagResourceNotFound", "Resource networks "+c.ids.PrivateNetworkID+" could not be found.")
}

func TestChangesCanBeBoundToARevision(t *testing.T) {
	c := newCloud(t, Options{})
	path := "/v2.0/ports/" + c.port()
	put := func(name, match string) answer {
		return c.call(alice, "PUT", path, `{"port": {"name": "`+name+`"}}`, "If-Match", match)
	}
	if got := put("one", "revision_number=1").must(http.StatusOK)["revision_number"]; got != 2.0 {
		t.Errorf("revision %v after a change, want 2", got)
	}
	put("two", "revision_number=1").refused(412, "RevisionNumberConstraintFailed", "Constrained to 1, but current revision is 2")
	put("two", `"revision_number=x"`).refused(400, "BadRequest", "Bad if-match request: Revision number etag must be in the format of revision_number=<int>.")
	if got := c.call(alice, "GET", path, "").must(http.StatusOK)["name"]; got != "one" {
		t.Errorf("the refused change counts: name %v", got)
	}
	c.call(alice, "PUT", path+"/tags/t", "").must(http.StatusCreated)
	c.call(alice, "DELETE", path, "", "If-Match", "revision_number=2").refused(412, "RevisionNumberConstraintFailed", "Constrained to 2, but current revision is 3")
	c.call(alice, "DELETE", path, "", "If-Match", `"revision_number=3"`).must(http.StatusNoContent)
}

func TestListsArePagedSortedAndProjected(t *testing.T) {
	c := newCloud(t, Options{})
	for i := range 5 {
		c.create(bob, "/v2.0/networks", fmt.Sprintf(`{"network": {"name": "n%d"}}`, i))
	}
	path := "/v2.0/networks?project_id=project-b&limit=2&sort_key=name&sort_dir=desc&fields=name&fields=id"
	var names []string
	for pages := 0; path != "" && pages < 10; pages++ {
		a := c.call(bob, "GET", path, "")
		page := a.column("name")
		for i := len(page); i > 0; i-- { // column sorts; the list has the reverse order
			names = append(names, page[i-1])
		}
		for _, item := range a.body["networks"].([]any) {
			if len(item.(jsonObject)) != 2 {
				t.Errorf("fields=name&fields=id gives %v", item)
			}
		}
		path = ""
		links, _ := a.body["networks_links"].([]any)
		for _, l := range links {
			if link := l.(jsonObject); link["rel"] == "next" {
				path = strings.TrimPrefix(link["href"].(string), "http://example.com")
			}
		}
	}
	if diff := cmp.Diff([]string{"n4", "n3", "n2", "n1", "n0"}, names); diff != "" {
		t.Error(diff)
	}
	if got := c.call(alice, "GET", "/v2.0/networks/"+c.ids.PrivateNetworkID+"?fields=name", "").must(http.StatusOK); !cmp.Equal(got, jsonObject{"name": "private"}) {
		t.Errorf("one network with fields=name is %v", got)
	}
}

func TestQuotasAreReadAndSet(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed, Quotas: map[string]int{"port": 1000}})
	path := "/v2.0/quotas/" + alice.ProjectID
	quota := c.call(alice, "GET", path, "").must(http.StatusOK)
	if quota["port"] != 1000.0 || quota["floatingip"] != 50.0 {
		t.Errorf("quota %v", quota)
	}
	c.call(alice, "PUT", path, `{"quota": {"port": -1}}`).refused(403, "PolicyNotAuthorized", "rule:update_quota is disallowed by policy")
	c.call(bob, "GET", path+"/details.json", "").refused(403, "AdminRequired", "User does not have admin privileges: Only admin is authorized to access quotas for another project.")
	c.call(admin, "PUT", path, `{"quota": {"network": 2, "port": -1}}`).must(http.StatusOK)
	c.create(alice, "/v2.0/networks", `{"network": {}}`)
	c.call(alice, "POST", "/v2.0/networks", `{"network": {}}`).refused(409, "OverQuota", "Quota exceeded for resources: ['network'].")
	details := c.call(alice, "GET", path+"/details.json", "").must(http.StatusOK)
	if diff := cmp.Diff(any(jsonObject{"limit": 2.0, "used": 2.0, "reserved": 0.0}), details["network"]); diff != "" {
		t.Error(diff)
	}
	if got := c.call(admin, "GET", "/v2.0/quotas", "").column("project_id"); !cmp.Equal(got, []string{alice.ProjectID}) {
		t.Error("projects with quotas:", got)
	}
	c.call(admin, "DELETE", path, "").must(http.StatusNoContent)
	c.call(admin, "DELETE", path, "").refused(404, "TenantQuotaNotFound", "Quota for tenant project-a could not be found.")
	if got := c.call(alice, "GET", path, "").must(http.StatusOK)["network"]; got != 100.0 {
		t.Errorf("network quota %v after the reset", got)
	}
}

func TestVersionsAndExtensionsAreListed(t *testing.T) {
	c := newCloud(t, Options{Release: release.Zed})
	versions := c.call(admin, "GET", "/", "").must(http.StatusOK)["versions"].([]any)[0].(jsonObject)
	if versions["id"] != "v2.0" || versions["status"] != "CURRENT" {
		t.Errorf("version %v", versions)
	}
	aliases := c.call(alice, "GET", "/v2.0/extensions", "").column("alias")
	for _, alias := range []string{
		"router", "external-net", "security-group", "allowed-address-pairs", "port-security", "standard-attr-tag", "quotas", "quota_details", "fip-port-details",
		"floatingip-pools", "extraroute", "project-id", "revision-if-match", "standard-attr-revisions", "standard-attr-timestamp", "standard-attr-description",
		"pagination", "sorting",
	} {
		if !strings.Contains(" "+strings.Join(aliases, " ")+" ", " "+alias+" ") {
			t.Errorf("no extension %s", alias)
		}
	}
	if got := c.call(alice, "GET", "/v2.0/extensions/router", "").must(http.StatusOK); got["name"] != "Neutron L3 Router" {
		t.Errorf("extension router is %v", got)
	}
	c.call(alice, "GET", "/v2.0/extensions/x", "").must(http.StatusNotFound)
	for _, list := range []string{"availability_zones", "agents", "subnetpools", "address-scopes"} {
		if got := c.call(alice, "GET", "/v2.0/"+list, "").column("id"); len(got) != 0 {
			t.Error(list, got)
		}
	}
	if got := c.call(admin, "GET", "/v2.0/floatingip_pools", "").column("subnet_id"); !cmp.Equal(got, []string{c.ids.PublicSubnetID}) {
		t.Error("floating IP pools", got)
	}
	if got := c.call(bob, "GET", "/v2.0/floatingip_pools", "").column("subnet_id"); len(got) != 0 {
		t.Error("a tenant sees the floating IP pools", got)
	}
}

func TestListsRefuseInvalidQueries(t *testing.T) {
	c := newCloud(t, Options{})
	for query, want := range map[string]struct {
		status        int
		kind, message string
	}{
		"sort_key=name&sort_key=id&sort_dir=asc": {400, "HTTPBadRequest", "The number of sort_keys and sort_dirs must be same"},
		"sort_key=mtu&sort_dir=asc":              {400, "HTTPBadRequest", "['mtu'] is invalid attribute for sort_keys"},
		"sort_key=name&sort_dir=up":              {400, "HTTPBadRequest", "['up'] is invalid value for sort_dirs, valid value is 'asc' and 'desc'"},
		"colour=red&size=1":                      {400, "HTTPBadRequest", "['colour', 'size'] is invalid attribute for filtering"},
		"limit=1&marker=x":                       {404, "NetworkNotFound", "Network x could not be found."},
	} {
		c.call(alice, "GET", "/v2.0/networks?"+query, "").refused(want.status, want.kind, want.message)
	}
}

func TestConcurrentRequestsNeverShareAnAddress(t *testing.T) {
	c := newCloud(t, Options{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 5 {
				vip, err := c.AllocateVIP(VIPRequest{LoadBalancerID: "lb", ProjectID: alice.ProjectID, SubnetID: c.ids.PrivateSubnetID})
				if err != nil {
					t.Error(err)
					return
				}
				c.FloatingAddresses(vip.PortID)
				c.Counts()
			}
		})
	}
	group.Wait()
	seen := map[any]bool{}
	for _, port := range c.call(alice, "GET", "/v2.0/ports?device_id=lb-lb", "").body["ports"].([]any) {
		address := port.(jsonObject)["fixed_ips"].([]any)[0].(jsonObject)["ip_address"]
		if seen[address] {
			t.Errorf("%v was given twice", address)
		}
		seen[address] = true
	}
	if len(seen) != 40 {
		t.Errorf("%d ports, want 40", len(seen))
	}
}
