// Copyright The kube-octavia Authors.
// SPDX-License-Identifier: Apache-2.0

package nova

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-octavia/kube-octavia/cloudsim/internal/apitest"
	"github.com/kube-octavia/kube-octavia/cloudsim/release"
	"github.com/kube-octavia/kube-octavia/cloudsim/wire"
)

// office is a Nova in its frame with servers a, b and c of the project p, and x
// of another.
type office struct {
	*Service
	frame http.Handler
}

func newOffice() *office {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	o := &office{Service: New(Options{Now: func() time.Time { return start }})}
	for i, name := range []string{"node-a", "node-b", "other-c"} {
		o.AddServer(Server{
			ID: fmt.Sprintf("%08d-aaaa-bbbb-cccc-dddddddddddd", i), Name: name, ProjectID: "p", Created: start.Add(time.Duration(i) * time.Minute),
			Status: []string{"", "SHUTOFF", ""}[i],
			Interfaces: []Interface{{
				PortID: "port-" + name, NetworkID: "net", NetworkName: "private", MAC: "fa:16:3e:00:00:01",
				FixedIPs:    []FixedIP{{"v4", netip.AddrFrom4([4]byte{127, 1, 0, byte(10 + i)})}, {"v6", netip.MustParseAddr("fd00::1")}},
				FloatingIPs: []netip.Addr{netip.MustParseAddr("127.2.0.1")},
			}},
		})
	}
	o.AddServer(Server{ID: "99999999", Name: "foreign", ProjectID: "q", Created: start})
	o.frame = wire.New(wire.Options{Service: "compute", Mux: o.Mux(), Public: Public, NotFound: NotFound, Authenticate: func(token string) (wire.Identity, bool) {
		who := wire.Identity{ProjectID: "p", Roles: []string{"member"}}
		if token == "admin" {
			who.Roles = []string{"admin"}
		}
		return who, token != ""
	}})
	return o
}

func (o *office) get(t *testing.T, path string, header ...string) (int, http.Header, map[string]any) {
	t.Helper()
	header = append([]string{"X-Auth-Token", "token"}, header...)
	got := apitest.Do(t, o.frame, apitest.Request("GET", "http://nova.test"+path, "", header...))
	return got.Status, got.Header, got.Body
}

func names(body map[string]any, key string) string {
	var all []string
	list, _ := body[key].([]any)
	for _, e := range list {
		all = append(all, e.(map[string]any)["name"].(string))
	}
	return strings.Join(all, " ")
}

func TestServersAreListedByTheirFilters(t *testing.T) {
	o := newOffice()
	for query, want := range map[string]string{
		"":                                   "other-c node-b node-a",
		"name=node":                          "node-b node-a",
		"name=^node-a$":                      "node-a",
		"name=NODE-A":                        "node-a",
		"name=^a$":                           "",
		"status=ACTIVE":                      "other-c node-a",
		"status=shutoff":                     "node-b",
		"ip=127.1.0.1":                       "other-c node-b node-a",
		"ip=127.1.0.1[01]":                   "",
		"ip6=fd00":                           "other-c node-b node-a",
		"ip6=127":                            "",
		"limit=1":                            "other-c",
		"sort_key=display_name":              "node-a node-b other-c",
		"changes-since=2026-01-02T03:05:00Z": "other-c node-b",
		"limit=2&marker=00000002-aaaa-bbbb-cccc-dddddddddddd":     "node-b node-a",
		"uuid=00000001-aaaa-bbbb-cccc-dddddddddddd&deleted=False": "node-b",
		"flavor=2&name=node-a":                                    "node-a",
		"flavor=3":                                                "",
		"project_id=q":                                            "",
	} {
		t.Run("?"+query, func(t *testing.T) {
			for _, path := range []string{"/v2.1/servers", "/v2.1/servers/detail"} {
				status, _, body := o.get(t, path+"?"+strings.ReplaceAll(query, "^", url.QueryEscape("^")))
				if got := names(body, "servers"); status != 200 || got != want {
					t.Errorf("%s?%s: got %d %q, want %q", path, query, status, got, want)
				}
			}
		})
	}
	if _, _, body := o.get(t, "/v2.1/servers?all_tenants=1", "X-Auth-Token", "admin"); !strings.Contains(names(body, "servers"), "foreign") {
		t.Errorf("the admin sees %v", body)
	}
}

func TestServersArePagedWithANextLink(t *testing.T) {
	o := newOffice()
	_, _, body := o.get(t, "/v2.1/servers/detail?limit=2&name=-")
	next, _ := body["servers_links"].([]any)
	if len(next) != 1 {
		t.Fatalf("got %v", body)
	}
	href, _ := next[0].(map[string]any)["href"].(string)
	_, _, body = o.get(t, strings.TrimPrefix(href, "http://nova.test"))
	if got := names(body, "servers"); got != "node-a" || body["servers_links"] != nil {
		t.Errorf("%s: got %s %v", href, got, body["servers_links"])
	}
}

func TestServerHasItsAddressesAndTheFieldsOfTheMicroversion(t *testing.T) {
	o := newOffice()
	path := "/v2.1/servers/00000000-aaaa-bbbb-cccc-dddddddddddd"
	_, _, body := o.get(t, path)
	server, _ := body["server"].(map[string]any)
	want := map[string]any{"private": []any{
		map[string]any{"version": 4.0, "addr": "127.1.0.10", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"},
		map[string]any{"version": 6.0, "addr": "fd00::1", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"},
		map[string]any{"version": 4.0, "addr": "127.2.0.1", "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:00:00:01"},
	}}
	if diff := cmp.Diff(want, server["addresses"]); diff != "" {
		t.Error(diff)
	}
	for _, tc := range []struct {
		name string

		version, flavorKey     string
		tags, locked, hostname bool
	}{
		{"no microversion", "", "id", false, false, false},
		{"2.1", "2.1", "id", false, false, false},
		{"2.9", "2.9", "id", false, true, false},
		{"2.46", "2.46", "id", true, true, false},
		{"2.47", "2.47", "original_name", true, true, false},
		{"2.93", "2.93", "original_name", true, true, true},
		{"latest", "latest", "original_name", true, true, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, header, body := o.get(t, path, "OpenStack-API-Version", "compute "+tc.version)
			server, _ := body["server"].(map[string]any)
			_, tags := server["tags"]
			_, locked := server["locked"]
			_, hostname := server["OS-EXT-SRV-ATTR:hostname"]
			if server["flavor"].(map[string]any)[tc.flavorKey] == nil || tags != tc.tags || locked != tc.locked || hostname != tc.hostname {
				t.Errorf("%q: %v", tc.version, server)
			}
			if header.Get("X-OpenStack-Nova-API-Version") == "" || len(header.Values("Vary")) != 2 {
				t.Errorf("%q: header %v", tc.version, header)
			}
		})
	}
}

func TestMicroversionIsNegotiated(t *testing.T) {
	o := newOffice()
	for _, tc := range []struct {
		name string

		header, value, want string
		status              int
	}{
		{"header of Nova", "X-OpenStack-Nova-API-Version", "2.79", "2.79", 200},
		{"header of all services", "OpenStack-API-Version", "compute 2.79", "2.79", 200},
		{"header that names several services", "OpenStack-API-Version", "volume 3.1, compute 2.5", "2.5", 200},
		{"header that names another service only", "OpenStack-API-Version", "volume 3.1", "2.1", 200},
		{"newer than supported", "OpenStack-API-Version", "compute 2.999", "2.999", 406},
		{"another major version", "OpenStack-API-Version", "compute 3.1", "3.1", 406},
		{"no version", "OpenStack-API-Version", "compute new", "", 400},
	} {
		t.Run(tc.name, func(t *testing.T) {
			status, header, _ := o.get(t, "/v2.1/flavors", tc.header, tc.value)
			if status != tc.status || strings.TrimPrefix(header.Get("OpenStack-API-Version"), "compute ") != tc.want {
				t.Errorf("%s: got %d %q", tc.value, status, header.Get("OpenStack-API-Version"))
			}
		})
	}
}

func TestInterfacesOfAServerAreListed(t *testing.T) {
	o := newOffice()
	path := "/v2.1/servers/00000000-aaaa-bbbb-cccc-dddddddddddd/os-interface"
	_, _, body := o.get(t, path)
	want := map[string]any{"interfaceAttachments": []any{map[string]any{
		"port_id": "port-node-a", "net_id": "net", "mac_addr": "fa:16:3e:00:00:01", "port_state": "ACTIVE",
		"fixed_ips": []any{map[string]any{"subnet_id": "v4", "ip_address": "127.1.0.10"}, map[string]any{"subnet_id": "v6", "ip_address": "fd00::1"}},
	}}}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if status, _, _ := o.get(t, path+"/port-node-a"); status != 200 {
		t.Errorf("one interface: %d", status)
	}
}

func TestMissingServersAndThoseOfOtherProjectsAreNotFound(t *testing.T) {
	o := newOffice()
	for _, path := range []string{
		"/v2.1/servers/nothing", "/v2.1/servers/99999999", "/v2.1/servers/99999999/os-interface", "/v2.1/servers/99999999/ips",
		"/v2.1/servers/00000000-aaaa-bbbb-cccc-dddddddddddd/os-interface/x", "/v2.1/flavors/nothing",
	} {
		t.Run(path, func(t *testing.T) {
			if status, _, body := o.get(t, path); status != 404 || body["itemNotFound"] == nil {
				t.Errorf("got %d %v", status, body)
			}
		})
	}
	for _, path := range []string{"/v2.1/servers?marker=nothing", "/v2.1/servers?limit=x", "/v2.1/servers?name=(", "/v2.1/flavors?marker=nothing"} {
		t.Run(path, func(t *testing.T) {
			if status, _, body := o.get(t, path); status != 400 || body["badRequest"] == nil {
				t.Errorf("got %d %v", status, body)
			}
		})
	}
}

func TestFlavorsAndVersionsAreShown(t *testing.T) {
	o := newOffice()
	for path, key := range map[string]string{
		"/": "versions", "/v2.1": "version", "/v2.1/": "version", "/v2.1/flavors/2": "flavor", "/v2.1/flavors/2/os-extra_specs": "extra_specs",
		"/v2.1/servers/00000000-aaaa-bbbb-cccc-dddddddddddd/ips": "addresses",
	} {
		t.Run(path, func(t *testing.T) {
			if status, _, body := o.get(t, path); status != 200 || body[key] == nil {
				t.Errorf("got %d %v", status, body)
			}
		})
	}
	for _, path := range []string{"/v2.1/flavors", "/v2.1/flavors/detail"} {
		if _, _, body := o.get(t, path); names(body, "flavors") != "m1.small m1.medium m1.large" {
			t.Errorf("%s: got %v", path, body)
		}
	}
}

func TestRemovedServerIsNotFound(t *testing.T) {
	o := newOffice()
	if !o.RemoveServer("99999999") || o.RemoveServer("99999999") || len(o.Servers()) != 3 {
		t.Errorf("left are %v", o.Servers())
	}
}

// As in a cloud with reclaim_instance_interval.
func TestSoftDeletedServerIsShownByItsIDAndNotListed(t *testing.T) {
	o := newOffice()
	const id = "00000000-aaaa-bbbb-cccc-dddddddddddd"
	if err := o.Update(id, func(s *Server) { s.Status = "SOFT_DELETED" }); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"": "other-c node-b", "name=node-a": "", "status=SOFT_DELETED": "", "changes-since=2026-01-02T00:00:00Z": "other-c node-b node-a",
	} {
		t.Run("?"+query, func(t *testing.T) {
			for _, path := range []string{"/v2.1/servers", "/v2.1/servers/detail"} {
				if _, _, body := o.get(t, path+"?"+query); names(body, "servers") != want {
					t.Errorf("%s?%s: got %q, want %q", path, query, names(body, "servers"), want)
				}
			}
		})
	}
	if _, _, body := o.get(t, "/v2.1/servers?deleted=True", "X-Auth-Token", "admin"); names(body, "servers") != "node-a" {
		t.Errorf("the admin sees %v", body)
	}
	_, _, body := o.get(t, "/v2.1/servers/"+id)
	if server, _ := body["server"].(map[string]any); server["status"] != "SOFT_DELETED" || server["OS-EXT-STS:vm_state"] != "soft-delete" {
		t.Errorf("by its id: %v", body)
	}
}

func TestTheNewestMicroversionIsThatOfTheRelease(t *testing.T) {
	for r, want := range map[release.Release]int{release.Zed: 93, release.Epoxy: 100, release.Newest: 104} {
		t.Run(r.String(), func(t *testing.T) {
			s := New(Options{Release: r})
			for minor, status := range map[int]int{want: http.StatusOK, want + 1: http.StatusNotAcceptable} {
				request := apitest.Request("GET", "/v2.1/flavors", "", "OpenStack-API-Version", fmt.Sprintf("compute 2.%d", minor))
				if got := apitest.Do(t, s.Mux(), request).Status; got != status {
					t.Errorf("2.%d is answered %d, want %d", minor, got, status)
				}
			}
		})
	}
}
