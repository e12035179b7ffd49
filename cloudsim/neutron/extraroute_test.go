// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// test/contract checks Neutron's defaults.

func TestExtraRoutesAreNotAddedOneByOneWithoutTheExtension(t *testing.T) {
	c := newCloud(t, Options{Without: []string{"extraroute-atomic"}})
	path, one := "/v2.0/routers/"+c.ids.RouterID, `{"router": {"routes": [{"destination": "10.1.0.0/24", "nexthop": "127.16.0.5"}]}}`
	if a := c.call(alice, "GET", "/v2.0/extensions/extraroute-atomic", ""); a.status != http.StatusNotFound {
		t.Errorf("the extension: %d %v", a.status, a.body)
	}
	for _, alias := range c.call(alice, "GET", "/v2.0/extensions", "").column("alias") {
		if alias == "extraroute-atomic" {
			t.Error("the extension is listed")
		}
	}
	if _, pattern := c.Mux().Handler(newRequest("PUT", path+"/add_extraroutes")); pattern != "" {
		t.Errorf("routes are added by %s", pattern)
	}
	if got := c.call(alice, "PUT", path, one).must(http.StatusOK)["routes"]; len(got.([]any)) != 1 {
		t.Errorf("the routes are %v", got)
	}
}

func TestRevisionNumbersAreNotComparedWithoutTheExtension(t *testing.T) {
	c := newCloud(t, Options{Without: []string{"revision-if-match"}})
	path := "/v2.0/routers/" + c.ids.RouterID
	c.call(alice, "PUT", path, `{"router": {"name": "x"}}`, "If-Match", "revision_number=1").refused(400, "BadRequest",
		"Bad if-match request: This server does not support constraining operations based on revision numbers.")
	c.call(alice, "PUT", path, `{"router": {"name": "x"}}`).must(http.StatusOK)
}

func TestTrunkDetailsAreShownOnlyWithTheExtension(t *testing.T) {
	for name, without := range map[string][]string{
		"with the extension":    nil,
		"without the extension": {"trunk-details"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(t, Options{Without: without})
			parent, sub := c.port(), c.port()
			if _, err := c.AddTrunk(TrunkSpec{ProjectID: alice.ProjectID, PortID: parent, SubPorts: map[int]string{7: sub}}); err != nil {
				t.Fatal(err)
			}
			_, shown := c.call(alice, "GET", "/v2.0/ports/"+parent, "").must(http.StatusOK)["trunk_details"]
			if shown != (without == nil) {
				t.Errorf("without %v: trunk details are shown: %v", without, shown)
			}
		})
	}
}

func TestPortOfATrunkIsInNoOtherTrunkAndCannotBeDeleted(t *testing.T) {
	c := newCloud(t, Options{})
	parent, sub, free := c.port(), c.port(), c.port()
	id, err := c.AddTrunk(TrunkSpec{ProjectID: alice.ProjectID, PortID: parent, SubPorts: map[int]string{7: sub}})
	if err != nil {
		t.Fatal(err)
	}
	for name, spec := range map[string]TrunkSpec{
		"the parent of another trunk":          {PortID: parent},
		"a subport of another trunk as parent": {PortID: sub},
		"a parent that does not exist":         {PortID: unknownID},
		"a subport of another trunk":           {PortID: free, SubPorts: map[int]string{7: sub}},
		"the parent as its own subport":        {PortID: free, SubPorts: map[int]string{7: free}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := c.AddTrunk(spec); err == nil {
				t.Errorf("%+v was added", spec)
			}
		})
	}
	if c.DeletePort(parent) == nil || c.DeletePort(sub) == nil {
		t.Error("a port of a trunk was deleted")
	}
	if err := c.DeleteTrunk(id); err != nil {
		t.Fatal(err)
	}
	if c.DeleteTrunk(id) == nil {
		t.Error("the trunk was deleted twice")
	}
	for _, port := range []string{parent, sub} {
		if err := c.DeletePort(port); err != nil {
			t.Error(err)
		}
	}
}

func TestLimitsOfRoutesAndAddressPairsAreOptions(t *testing.T) {
	c := newCloud(t, Options{MaxRoutes: 2, MaxAddressPairs: 1})
	path := "/v2.0/routers/" + c.ids.RouterID
	for i := range 2 {
		c.call(alice, "PUT", path+"/add_extraroutes", `{"router": {"routes": [{"destination": "10.`+strconv.Itoa(i)+`.0.0/24", "nexthop": "127.16.0.5"}]}}`).must(http.StatusOK)
	}
	c.call(alice, "PUT", path+"/add_extraroutes", `{"router": {"routes": [{"destination": "10.9.0.0/24", "nexthop": "127.16.0.5"}]}}`).refused(409, "OverQuota",
		"Quota exceeded for resources: ['router_route'].")
	c.call(alice, "PUT", "/v2.0/ports/"+c.port(), `{"port": {"allowed_address_pairs": [{"ip_address": "10.1.0.0/24"}, {"ip_address": "10.2.0.0/24"}]}}`).refused(400,
		"AllowedAddressPairExhausted", "The number of allowed address pair exceeds the maximum 1.")
}

func TestNextHopOfTheExternalNetworkIsConnected(t *testing.T) {
	c := newCloud(t, Options{})
	got := c.call(alice, "PUT", "/v2.0/routers/"+c.ids.RouterID+"/add_extraroutes", `{"router": {"routes": [{"destination": "10.9.0.0/24", "nexthop": "127.16.128.200"}]}}`).must(http.StatusOK)
	if diff := cmp.Diff([]any{jsonObject{"destination": "10.9.0.0/24", "nexthop": "127.16.128.200"}}, got["routes"]); diff != "" {
		t.Error(diff)
	}
	if got["gw_port_id"] == nil {
		t.Errorf("the answer has no port of the gateway: %v", got)
	}
}

func TestNextHopInAnotherSpellingIsADuplicate(t *testing.T) {
	c := newCloud(t, Options{})
	path, destination := "/v2.0/routers/"+c.ids.RouterID, "fd00:9::/64"
	body := func(hops ...string) string {
		var all []string
		for _, hop := range hops {
			all = append(all, `{"destination": "`+destination+`", "nexthop": "`+hop+`"}`)
		}
		return `{"router": {"routes": [` + strings.Join(all, ", ") + `]}}`
	}
	c.call(alice, "PUT", path+"/add_extraroutes", body("FD00:1::0005")).must(http.StatusOK)
	want := []any{jsonObject{"destination": destination, "nexthop": "fd00:1::5"}}
	has := func() {
		t.Helper()
		if diff := cmp.Diff(any(want), c.call(alice, "GET", path, "").must(http.StatusOK)["routes"]); diff != "" {
			t.Error(diff)
		}
	}
	has()
	refusal := "Failed to create a duplicate RouterRoute: for attribute(s) ['PRIMARY'] with value(s) fd00:9::/64-fd00:1::5-" + c.ids.RouterID
	c.call(alice, "PUT", path+"/add_extraroutes", body("FD00:1::0005")).refused(409, "NeutronDbObjectDuplicateEntry", refusal)
	c.call(alice, "PUT", path, body("FD00:1::0005")).refused(409, "NeutronDbObjectDuplicateEntry", refusal)
	c.call(alice, "PUT", path+"/remove_extraroutes", body("FD00:1::0005")).must(http.StatusOK)
	has()
	c.call(alice, "PUT", path+"/remove_extraroutes", body("fd00:1::5")).must(http.StatusOK)
	c.call(alice, "PUT", path, body("fd00:1::6", "FD00:1::6")).refused(409, "NeutronDbObjectDuplicateEntry",
		"Failed to create a duplicate RouterRoute: for attribute(s) ['PRIMARY'] with value(s) fd00:9::/64-fd00:1::6-"+c.ids.RouterID)
}

func newRequest(method, path string) *http.Request {
	r, err := http.NewRequest(method, "http://neutron.test"+path, nil)
	if err != nil {
		panic(err) // the paths are constants
	}
	return r
}
